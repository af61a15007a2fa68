/* The conversation in C. `conversation_c [STATUS]`: the last rank leaves with STATUS. */
#include "conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct cast me;
static long running = 7;

void fill(int *buffer, int count, int source, int tag)
{
    for (int i = 0; i < count; i++)
        buffer[i] = (source * 1000 + tag * 10 + i * 7) % 9973;
}

void digest(const int *buffer, int count)
{
    for (int i = 0; i < count; i++)
        running = (running * 31 + buffer[i]) % 1000003;
}

void tell(const char *section)
{
    printf("%s %ld\n", section, running);
    running = 7;
}

void nap(void)
{
    const struct timespec pause = {0, 200 * 1000};
    nanosleep(&pause, NULL);
}

/* The last rank leaves late and with the status that was asked for: some launchers end all others
 * at once when one leaves with another status than 0, be it after MPI_Finalize. */
static int leaving(int status)
{
    if (status == 0 || me.rank != me.size - 1)
        return 0;
    const struct timespec late = {0, 500 * 1000 * 1000};
    nanosleep(&late, NULL);
    return status;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &me.rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &me.size);
    me.left = (me.rank + me.size - 1) % me.size;
    me.right = (me.rank + 1) % me.size;

    make_communicators();
    blocking();
    nonblocking();
    completion();
    persistent();
    wildcard();
    sendrecv();
    nobody();
    probe();
    collectives();
    nonblocking_collectives();
    intercommunicator();
    groups();
    cancelled();
    derived();
    zero();
    freed();
    many();
    free_communicators();

    CALL(MPI_Finalize)();
    counting_write(me.rank);
    return leaving(argc > 1 ? atoi(argv[1]) : 0);
}
