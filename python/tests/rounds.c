/* Communicates in rounds whose calls and bytes are known: `rounds DIRECTORY`.
 *
 * A round is three MPI_Sendrecv of 1000 bytes to the next rank, one MPI_Allreduce of 8 bytes and one
 * MPI_Barrier. After 200 rounds each rank writes DIRECTORY/RANK.done and waits, outside of MPI, until
 * DIRECTORY/go is there. Then it goes on, with an MPI_Bcast of 4 bytes in each round, until
 * DIRECTORY/stop is there. DIRECTORY/RANK.rounds holds the number of rounds so far, as 8 bytes. The
 * last line of rank 0 is the number of rounds behind the wait. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 200, EXCHANGES = 3, BYTES = 1000 };

static const char *directory;

static const char *path(const char *format, int rank)
{
    static char text[4096];
    int length = snprintf(text, sizeof text, "%s/", directory);
    snprintf(text + length, sizeof text - length, format, rank);
    return text;
}

static int is_there(const char *name)
{
    return access(path(name, 0), F_OK) == 0;
}

static void exchange(int rank, int size, int counter, long round)
{
    char out[BYTES] = {0}, in[BYTES];
    double one = 1, sum;
    for (int i = 0; i < EXCHANGES; i++)
        MPI_Sendrecv(out, BYTES, MPI_CHAR, (rank + 1) % size, i, in, BYTES, MPI_CHAR,
                     (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (pwrite(counter, &round, sizeof round, 0) != sizeof round)
        exit(70);
}

int main(int argc, char **argv)
{
    int rank, size;
    long round = 0;
    directory = argc > 1 ? argv[1] : ".";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int counter = open(path("%d.rounds", rank), O_CREAT | O_WRONLY, 0600);
    while (round < ROUNDS)
        exchange(rank, size, counter, ++round);
    close(open(path("%d.done", rank), O_CREAT | O_WRONLY, 0600));
    while (!is_there("go"))
        usleep(2000);
    for (int stop = 0; !stop;) {
        exchange(rank, size, counter, ++round);
        usleep(2000);
        stop = rank == 0 && is_there("stop");
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%ld rounds behind the wait\n", round - ROUNDS);
    MPI_Finalize();
    return 0;
}
