/* Ranks that tell their phases, and of which the odd ones switch recording off and on for themselves
 * and count what they call while it is on.
 *
 * While they are off each rank leaves LOG_DIR/RANK.off and waits for LOG_DIR/go. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int me, all, is_on = 1;

/* Calls a function, counted while calls are recorded. */
#define SEEN(f) (*(is_on ? &CALL(f) : &f))

static void switch_to(int on)
{
    if (me % 2 == 0)
        return;
    MPI_Pcontrol(on, "whoever wants to know", 2.5);
    is_on = on;
}

static int meet(int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++) {
        int value = me + i, in = -1;
        SEEN(MPI_Sendrecv)(&value, 1, MPI_INT, (me + 1) % all, 3, &in, 1, MPI_INT,
                           (me + all - 1) % all, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SEEN(MPI_Allreduce)(&in, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += value;
    }
    return sum;
}

int main(int argc, char **argv)
{
    char note[4096];
    int sum, posted_on = -1, posted_off = -1;
    MPI_Request on, off;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &me);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &all);
    MPI_Pcontrol(3);
    sum = meet(2);
    MPI_Pcontrol(2147483647, "the last there is");
    MPI_Pcontrol(-4);
    MPI_Pcontrol(2);
    sum += meet(1);
    MPI_Pcontrol(3);
    MPI_Pcontrol(-3);
    MPI_Pcontrol(-2147483647 - 1);
    SEEN(MPI_Irecv)(&posted_on, 1, MPI_INT, (me + 1) % all, 4, MPI_COMM_WORLD, &on);
    switch_to(0);
    SEEN(MPI_Irecv)(&posted_off, 1, MPI_INT, (me + 1) % all, 5, MPI_COMM_WORLD, &off);
    SEEN(MPI_Send)(&me, 1, MPI_INT, (me + all - 1) % all, 4, MPI_COMM_WORLD);
    SEEN(MPI_Wait)(&on, MPI_STATUS_IGNORE);
    const char *logs = getenv("LOG_DIR");
    snprintf(note, sizeof note, "%s/%d.off", logs ? logs : ".", me);
    FILE *file = fopen(note, "w");
    if (!file)
        return 70;
    fclose(file);
    while (logs && !flag_is_set("go"))
        usleep(5000);
    sum += meet(5);
    switch_to(1);
    SEEN(MPI_Send)(&me, 1, MPI_INT, (me + all - 1) % all, 5, MPI_COMM_WORLD);
    SEEN(MPI_Wait)(&off, MPI_STATUS_IGNORE);
    sum += meet(2);
    printf("rank %d: sum %d, from the right %d %d\n", me, sum, posted_on, posted_off);
    CALL(MPI_Finalize)();
    counting_write(me);
    return 0;
}
