/* Works in rounds, and marks its MPI calls in a mapped file, which outlives the process.
 *
 * Every value is checked. `marked_calls [ROUNDS [PROBES]]`; each round asks PROBES times in a row
 * whether there is a message with a tag that none has.
 *
 * LOG_DIR/PID.marks holds 64-bit numbers: the rank (-1 before it is known), then for each function
 * of the first enum, in its order, the calls that began and those that ended. Each rank leaves
 * LOG_DIR/RANK.begun behind MPI_Init, and RANK.leaving before MPI_Finalize. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { INIT, SEND, RECV, ISEND, IRECV, WAITALL, ALLREDUCE, BARRIER, FINALIZE, IPROBE, FUNCTIONS };
enum { WORDS = 16, NO_TAG = 32767 };

static struct marks {
    volatile int64_t rank;
    volatile struct {
        int64_t begun, ended;
    } calls[FUNCTIONS];
} *marks;

#define MARKED(which, call)           \
    do {                              \
        marks->calls[which].begun++; \
        call;                         \
        marks->calls[which].ended++; \
    } while (0)

static const char *path(const char *format, long number)
{
    static char path[4096];
    const char *directory = getenv("LOG_DIR");
    int length = snprintf(path, sizeof path, "%s/", directory ? directory : ".");
    snprintf(path + length, sizeof path - length, format, number);
    return path;
}

static void leave(const char *format, int rank)
{
    int file = open(path(format, rank), O_CREAT | O_WRONLY, 0600);
    if (file < 0 || close(file))
        exit(70);
}

static void make_marks(void)
{
    int file = open(path("%ld.marks", getpid()), O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof *marks))
        exit(70);
    marks = mmap(NULL, sizeof *marks, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (marks == MAP_FAILED || close(file))
        exit(70);
    marks->rank = -1;
}

/* Sleeping may be cut short by a signal; the time does not matter. */
static void rest(long us)
{
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, rounds = argc > 1 ? atoi(argv[1]) : 100;
    int probes = argc > 2 ? atoi(argv[2]) : 0;
    make_marks();
    MARKED(INIT, MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    marks->rank = rank;
    leave("%ld.begun", rank);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < rounds; round++) {
        int out[WORDS], in[WORDS], sum = 0, found;
        for (int probe = 0; probe < probes; probe++) {
            MARKED(IPROBE,
                   MPI_Iprobe(left, NO_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
            wrong += found;
        }
        MPI_Request requests[2];
        for (int k = 0; k < WORDS; k++)
            out[k] = rank * 7 + round + k;
        MARKED(IRECV, MPI_Irecv(in, WORDS, MPI_INT, left, round, MPI_COMM_WORLD, &requests[0]));
        MARKED(ISEND, MPI_Isend(out, WORDS, MPI_INT, right, round, MPI_COMM_WORLD, &requests[1]));
        MARKED(WAITALL, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int k = 0; k < WORDS; k++)
            wrong += in[k] != left * 7 + round + k;
        /* Rank 0 goes first, so that the others wait for it. */
        if (rank > 0)
            MARKED(RECV,
                   MPI_Recv(in, 1, MPI_INT, rank - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (round % 4 == 0)
            rest(2000);
        if (rank < size - 1)
            MARKED(SEND, MPI_Send(&round, 1, MPI_INT, rank + 1, round, MPI_COMM_WORLD));
        wrong += rank > 0 && in[0] != round;
        MARKED(ALLREDUCE, MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        wrong += sum != size * (size - 1) / 2;
        if (round % 16 == 0)
            MARKED(BARRIER, MPI_Barrier(MPI_COMM_WORLD));
    }
    printf("rank %d: %d wrong in %d rounds\n", rank, wrong, rounds);
    fflush(stdout);
    leave("%ld.leaving", rank);
    MARKED(FINALIZE, MPI_Finalize());
    return wrong ? 1 : 0;
}
