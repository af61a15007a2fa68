/* Says how each rank waits: by spinning, or by yielding the processor.
 *
 * MPI calls our sched_yield, which counts. Each rank waits in MPI_Recv for its left neighbour, which
 * sleeps first. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Waits look thousands of times where the machine is free, and a dozen where it is not at all. */
enum { ROUNDS = 4, SLEEP_NS = 200000000, SOME = 5 };

static unsigned long yields;

int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
    unsigned long before = yields;
    for (int turn = 0; turn < ROUNDS * ranks; turn++) {
        int sleeper = turn % ranks;
        int right = (sleeper + 1) % ranks;
        if (rank == sleeper) {
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
            CALL(MPI_Send)(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        } else if (rank == right) {
            CALL(MPI_Recv)(&token, 1, MPI_INT, sleeper, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    printf("rank %d %s\n", rank, yields - before > SOME ? "yields" : "spins");
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
