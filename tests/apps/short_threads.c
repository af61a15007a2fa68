/* Groups of threads with a few MPI calls each, before the first thread goes on alone.
 *
 * `short_threads GROUPS CALLS`; the threads of a group live at the same time. */
#include "counting.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GROUP = 12, APART_US = 10000 };

static pthread_barrier_t all_have_called;

static void *look(void *argument)
{
    int flag = 0;
    for (int i = 0; i < 3; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&all_have_called);
    return flag ? NULL : argument;
}

int main(int argc, char **argv)
{
    int groups = argc > 1 ? atoi(argv[1]) : 4, calls = argc > 2 ? atoi(argv[2]) : 1000;
    int rank, provided, flag;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&all_have_called, NULL, GROUP);
    for (int i = 0; i < groups; i++) {
        pthread_t threads[GROUP];
        for (int t = 0; t < GROUP; t++)
            if (pthread_create(&threads[t], NULL, look, &rank) != 0)
                return 1;
        for (int t = 0; t < GROUP; t++)
            pthread_join(threads[t], NULL);
        /* Threads do not count for themselves: the counters are everybody's. */
        *counting_slot("MPI_Iprobe") += 3 * GROUP;
        usleep(APART_US);
    }
    for (int i = 0; i < calls; i++)
        CALL(MPI_Iprobe)(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    printf("rank %d: %d\n", rank, provided == MPI_THREAD_MULTIPLE);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
