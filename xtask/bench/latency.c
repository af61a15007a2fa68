/* How long a message takes, how many bytes go over in a second, and how long a sum takes, between two ranks: of 8 bytes, 4 KiB
 * and 1 MiB. Usage:
 *   latency plan SECONDS    prints `plan A B ...`, how often each kind is done to take so many seconds in all on this machine
 *   latency run A B ...     does each so often, in turns of a hundredth, so that a busy moment of the machine meets all
 *   pingpong   a message there and another back: ns of one way
 *   window     64 messages at once (MPI_Isend, MPI_Irecv, MPI_Waitall) and a short one back: ns of one message
 *   allreduce  a sum of doubles: ns of one
 * Rank 0 prints `time KIND-BYTES NS`, `answer`, the `seconds` of the main loop, the `cpu` seconds of all ranks in it, and `made
 * FUNCTION CALLS` of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BYTES_MAX = 1 << 20, WINDOW = 64, TURNS = 100, KINDS = 9, BURSTS = 5 };
enum { Send, Recv, Isend, Irecv, Waitall, Allreduce, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"Send", "Recv", "Isend", "Irecv", "Waitall", "Allreduce"};
static long made[FUNCTIONS];
/* Calls the function and counts it. */
#define CALL(name) made[name]++, MPI_##name

static int rank;
static double in[BYTES_MAX / sizeof(double)], out[BYTES_MAX / sizeof(double)];

static void pingpong(int bytes) {
    for (int way = 0; way < 2; way++)
        if (way == rank)
            CALL(Send)(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
        else
            CALL(Recv)(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void window(int bytes) {
    MPI_Request posted[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        if (rank == 0)
            CALL(Isend)(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &posted[i]);
        else
            CALL(Irecv)(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &posted[i]);
    CALL(Waitall)(WINDOW, posted, MPI_STATUSES_IGNORE);
    if (rank == 1)
        CALL(Send)(out, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    else
        CALL(Recv)(in, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allreduce(int bytes) {
    CALL(Allreduce)(out, in, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* With what the time of one is to be divided by. */
static const struct {
    const char *name;
    void (*once)(int bytes);
    int parts, bytes;
} kinds[KINDS] = {{"pingpong", pingpong, 2, 8},    {"pingpong", pingpong, 2, 4096},  {"pingpong", pingpong, 2, BYTES_MAX},
                  {"window", window, WINDOW, 8},   {"window", window, WINDOW, 4096}, {"window", window, WINDOW, BYTES_MAX},
                  {"allreduce", allreduce, 1, 8},  {"allreduce", allreduce, 1, 4096}, {"allreduce", allreduce, 1, BYTES_MAX}};

/* Seconds of so many of a kind. */
static double burst(int kind, long count) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < count; i++) kinds[kind].once(kinds[kind].bytes);
    return MPI_Wtime() - begin;
}

static void plan(double seconds) {
    if (rank == 0) printf("plan");
    for (int kind = 0; kind < KINDS; kind++) {
        double least = 1e9;
        for (int i = 0; i < BURSTS; i++) {
            double took = burst(kind, 100) / 100;
            if (took < least) least = took;
        }
        if (rank == 0) printf(" %ld", (long)(seconds / KINDS / least / TURNS + 1) * TURNS);
    }
    if (rank == 0) printf("\n");
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void run(char **counts) {
    double took[KINDS] = {0}, cpu, begin = MPI_Wtime(), before = cpu_seconds();
    memset(made, 0, sizeof made);
    for (int turn = 0; turn < TURNS; turn++)
        for (int kind = 0; kind < KINDS; kind++) took[kind] += burst(kind, atol(counts[kind]) / TURNS);
    double seconds = MPI_Wtime() - begin, spent = cpu_seconds() - before;
    long all[FUNCTIONS];
    MPI_Reduce(&spent, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(made, all, FUNCTIONS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    for (int kind = 0; kind < KINDS; kind++)
        printf("time %s-%d %.2f\n", kinds[kind].name, kinds[kind].bytes,
               1e9 * took[kind] / (atol(counts[kind]) / TURNS * TURNS) / kinds[kind].parts);
    /* The last sum was that of two ranks with the same. */
    printf("answer %g\nseconds %.6f\ncpu %.6f\n", in[BYTES_MAX / sizeof(double) - 1], seconds, cpu);
    for (int i = 0; i < FUNCTIONS; i++) printf("made MPI_%s %ld\n", names[i], all[i]);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) out[i] = i;
    if (argc == 3 && size == 2 && strcmp(argv[1], "plan") == 0)
        plan(atof(argv[2]));
    else if (argc == 2 + KINDS && size == 2)
        run(argv + 2);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
