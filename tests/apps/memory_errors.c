/* Overflows a signed integer and an array between MPI calls, for sanitizers to find. */
#include "counting.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    volatile int most = INT_MAX, at = 8;
    volatile char eight[8];
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    most = most + argc;
    eight[at] = (char)most;
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    CALL(MPI_Finalize)();
    return eight[0];
}
