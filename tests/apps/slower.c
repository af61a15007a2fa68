/* The same work in every run, a part of it slower where asked: `slower ROUNDS UNIT_US PERCENT`.
 *
 * In each round rank 0 works (sleeps, outside of MPI) for one unit and the others for two, longer
 * by PERCENT; so that rank 0 waits in a reduction for a unit, and for that part of two more. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void work(long us)
{
    const struct timespec length = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&length, NULL);
}

int main(int argc, char **argv)
{
    int rank;
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    long unit_us = argc > 2 ? atol(argv[2]) : 10000;
    long percent = argc > 3 ? atol(argv[3]) : 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (long round = 0; round < rounds; round++) {
        long sum = 0;
        work(rank == 0 ? unit_us : unit_us * 2 * (100 + percent) / 100);
        CALL(MPI_Allreduce)(&round, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
