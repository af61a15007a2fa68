/* The program of `invivo doctor`: two ranks, each with 100 messages of 64 bytes to the other and 10 barriers. Built once
 * per MPI family into lib/invivo/FAMILY/self-test, so that an installation can be tested without a compiler. */
#include <mpi.h>

int main(int argc, char **argv)
{
    char out[64] = {0}, in[64];
    int rank, size, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < 100; i++)
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, (rank + 1) % size, i, in, sizeof in, MPI_CHAR, (rank + size - 1) % size, i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return size == 2 ? 0 : 1;
}
