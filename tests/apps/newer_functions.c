/* Calls functions that Open MPI 5 has and Open MPI 4 has not.
 *
 * They are called by name, and by an address that is in the program when it starts. */
#include <mpi.h>
#include <stdio.h>

typedef int begin(MPI_Comm, MPI_Info, MPI_Request *);
static begin *const volatile by_address = MPI_Barrier_init;

int main(int argc, char **argv)
{
    int rank = -1, size = -1, sum = 0;
    MPI_Request barriers[2], reduction;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barriers[0]);
    by_address(MPI_COMM_WORLD, MPI_INFO_NULL, &barriers[1]);
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduction);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            MPI_Start(&barriers[i]);
            MPI_Wait(&barriers[i], MPI_STATUS_IGNORE);
        }
        MPI_Start(&reduction);
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    }
    printf("%d of %d: %d\n", rank, size, sum);
    MPI_Request_free(&barriers[0]);
    MPI_Request_free(&barriers[1]);
    MPI_Request_free(&reduction);
    MPI_Finalize();
    return 0;
}
