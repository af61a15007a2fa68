/* The shortest MPI program. `init_finalize [STATUS]`: all ranks leave with STATUS. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    /* Before the end: Open MPI ends all ranks at once when one leaves with another status than 0.
     */
    printf("rank %d\n", rank);
    fflush(stdout);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return argc > 1 ? atoi(argv[1]) : 0;
}
