/* A program whose library begins or ends MPI for it: EARLY=constructor, EARLY=exit, or neither. */
#include "early.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int initialized = 0, finalized = 0;
    early_at_exit();
    MPI_Initialized(&initialized);
    printf("main: initialized %d\n", initialized);
    if (!initialized)
        MPI_Init(&argc, &argv);
    early_use();
    if (argc > 1)
        MPI_Finalize();
    MPI_Finalized(&finalized);
    printf("main: finalized %d\n", finalized);
    return 0;
}
