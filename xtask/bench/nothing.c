/* Begins and ends. With a number of seconds it sleeps in between, and looks a few times a second whether a message is there: a
 * rank that leaves the processor to others. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int flag;
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    for (double begun = MPI_Wtime(); MPI_Wtime() - begun < seconds; usleep(200000))
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
