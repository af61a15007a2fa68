/* Rank 1 is killed by SIGNAL between two MPI calls: `killed_rank [ROUNDS [SIGNAL]]`.
 *
 * The default is 11. Before that it gets ROUNDS messages from rank 0. */
#include "counting.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 50;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        int value = round;
        if (rank == 0)
            CALL(MPI_Send)(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1)
            CALL(MPI_Recv)(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    if (rank == 1)
        raise(argc > 2 ? atoi(argv[2]) : SIGSEGV);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    CALL(MPI_Finalize)();
    return 0;
}
