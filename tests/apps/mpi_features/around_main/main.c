/* A program whose library begins or ends MPI for it: MPI_AROUND_MAIN=constructor,
 * MPI_AROUND_MAIN=exit, or neither. */
#include "library.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int initialized = 0, finalized = 0;
    library_registers_exit();
    MPI_Initialized(&initialized);
    printf("main: initialized %d\n", initialized);
    if (!initialized)
        MPI_Init(&argc, &argv);
    library_communicates();
    if (argc > 1)
        MPI_Finalize();
    MPI_Finalized(&finalized);
    printf("main: finalized %d\n", finalized);
    return 0;
}
