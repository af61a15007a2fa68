/* Threads with a few MPI calls each, one after the other, before the first goes on alone.
 *
 * `short_threads THREADS CALLS` */
#include "counting.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *look(void *argument)
{
    int flag = 0;
    for (int i = 0; i < 3; i++)
        CALL(MPI_Iprobe)(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return flag ? NULL : argument;
}

int main(int argc, char **argv)
{
    enum { APART_US = 10000 };
    int threads = argc > 1 ? atoi(argv[1]) : 40, calls = argc > 2 ? atoi(argv[2]) : 1000;
    int rank, provided, flag;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, look, &rank) != 0)
            return 1;
        pthread_join(thread, NULL);
        usleep(APART_US);
    }
    for (int i = 0; i < calls; i++)
        CALL(MPI_Iprobe)(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    printf("rank %d: %d\n", rank, provided == MPI_THREAD_MULTIPLE);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
