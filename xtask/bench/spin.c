/* Ranks that compute and call MPI once in a while: what a pause finds in a real program. Usage: spin SECONDS */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    int done = 0;
    MPI_Init(&argc, &argv);
    double begin = MPI_Wtime();
    while (!done) {
        for (volatile int work = 0; work < 200000; work++) {}
        /* The first rank's clock decides for all. */
        done = MPI_Wtime() - begin > seconds;
        MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
