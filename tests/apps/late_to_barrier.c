/* Ranks come late to barriers by known times: `late_to_barrier [ROUNDS [EXTRA_MS]]`.
 *
 * In each round rank r sleeps r * EXTRA_MS before a barrier, so that it waits (size - 1 - r) *
 * EXTRA_MS in it. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 10;
    long extra_ms = argc > 2 ? atol(argv[2]) : 50;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Allreduce)(MPI_IN_PLACE, &rounds, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        long late_ms = rank * extra_ms;
        const struct timespec pause = {late_ms / 1000, late_ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
    }
    printf("rank %d: %d rounds\n", rank, rounds);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
