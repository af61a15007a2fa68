/* The shortest MPI program. `init_finalize [STATUS]` */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Finalize)();
    printf("rank %d\n", rank);
    counting_write(rank);
    return argc > 1 ? atoi(argv[1]) : 0;
}
