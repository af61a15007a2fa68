/* Prints the host of each rank, and the number of ranks there by MPI and by the launcher. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, here;
    char host[256], number[16];
    MPI_Comm node;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    CALL(MPI_Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    CALL(MPI_Comm_size)(node, &here);
    CALL(MPI_Comm_free)(&node);
    gethostname(host, sizeof host);
    snprintf(number, sizeof number, "%d", rank);
    const char *told = getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *as = getenv("OMPI_COMM_WORLD_RANK");
    if (!told)
        told = getenv("MPI_LOCALNRANKS");
    printf("rank %s of %d is one of %d on %s, and is told %s\n", as ? as : number, size, here, host,
           told ? told : "nothing");
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
