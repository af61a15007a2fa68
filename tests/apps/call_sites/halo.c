/* A shared library of the program's own that calls MPI. */
#include "halo.h"

#include <mpi.h>

void halo(int with)
{
    static double own = 2;
    MPI_Sendrecv_replace(&own, 1, MPI_DOUBLE, with, 9, with, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own = own + 1;
}
