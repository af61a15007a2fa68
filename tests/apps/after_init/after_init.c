/* Leaves the file LOG_DIR/begun.PID in the first statement behind MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char path[4096];
    snprintf(path, sizeof path, "%s/begun.%d", getenv("LOG_DIR"), (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return 70;
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
