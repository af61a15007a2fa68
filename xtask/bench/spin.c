/* What commands find in a real program. Usage: spin SECONDS compute|communicate
 * compute: ranks that compute and call MPI every 50 ms or so; communicate: ranks that do nothing but talk to each other. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    int communicate = argc > 2 && strcmp(argv[2], "communicate") == 0;
    int done = 0, rank, size;
    char out[64] = {0}, in[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double begin = MPI_Wtime();
    while (!done) {
        if (communicate)
            for (int i = 0; i < 100; i++)
                MPI_Sendrecv(out, sizeof out, MPI_CHAR, right, 0, in, sizeof in, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        else
            for (volatile int work = 0; work < 20000000; work++) {}
        /* The first rank's clock decides for all. */
        done = MPI_Wtime() - begin > seconds;
        MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
