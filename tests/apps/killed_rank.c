/* Rank 1 dies of SIGNAL (default 11) between two MPI calls, after ROUNDS messages from rank 0; what it has sent and
 * received until then is known. `killed_rank [ROUNDS [SIGNAL]]` */
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
