/* An exchange in lock-step: each rank computes, then swaps some bytes with its neighbour by MPI_Irecv, MPI_Isend, MPI_Waitall.
 * A rank that is held up holds up its neighbour: this is where a tool on full cores shows. A rank that is alone exchanges with
 * itself. Usage:
 *   exchange run STEPS WORK [BYTES]    so many exchanges of BYTES (8), with WORK additions and multiplications that wait for each
 *                                      other before each (2 to 4 ns one). Work, not a time to wait for: who waits for a clock
 *                                      does not notice what is taken from it
 *   exchange plan RATE SECONDS [BYTES] prints `plan STEPS WORK`: what `run` needs to make RATE calls a second and rank for so
 *                                      long on this machine, bare (or as many as it can). Three calls are one exchange
 * Every exchange is checked. Rank 0 prints `answer`, the `seconds` of the main loop, the `cpu` seconds of all ranks in it, and
 * `made FUNCTION CALLS` of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { CALLS = 3, BYTES_MAX = 1 << 20, ROUNDS = 4, BURSTS = 20 };

static int rank, size, bytes = sizeof(double);
static volatile double sink;
static char in[BYTES_MAX], out[BYTES_MAX];

static void work(long amount) {
    double x = rank;
    for (long i = 0; i < amount; i++) x = x * 0.999999 + 1e-6;
    sink = x;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Neighbours by twos; the last of an odd number has itself. */
static int neighbour(void) { return (rank ^ 1) < size ? rank ^ 1 : rank; }

static double exchange(long steps, long amount) {
    MPI_Request posted[2];
    int other = neighbour();
    double sum = 0, number;
    for (long step = 0; step < steps; step++) {
        work(amount);
        number = step + rank;
        memcpy(out, &number, sizeof number);
        MPI_Irecv(in, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &posted[0]);
        MPI_Isend(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &posted[1]);
        MPI_Waitall(2, posted, MPI_STATUSES_IGNORE);
        memcpy(&number, in, sizeof number);
        if (number != step + other) {
            fprintf(stderr, "rank %d has %g instead of %ld\n", rank, number, step + other);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        sum += number;
    }
    return sum;
}

/* Seconds of one exchange: of many bursts the shortest, so that a busy machine does not make the work too small. */
static double each(long steps, long amount) {
    double least = 1e9;
    for (int burst = 0; burst < BURSTS; burst++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), took, longest;
        exchange(steps, amount);
        took = (MPI_Wtime() - begin) / steps;
        MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (longest < least) least = longest;
    }
    return least;
}

static void plan(double rate, double seconds) {
    double wanted = CALLS / rate, bare = each(2000, 0), one = 3e-9;
    long amount = 0;
    /* What a unit of work takes is not the same for little and for much of it. */
    for (int round = 0; wanted > bare && round < ROUNDS; round++) {
        amount = (wanted - bare) / one + 1;
        one = (each(0.01 / wanted + 1, amount) - bare) / amount;
    }
    if (rank == 0) printf("plan %ld %ld\n", (long)(seconds / (wanted > bare ? wanted : bare)), amount);
}

static void run(long steps, long amount) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), before = cpu_seconds();
    double sum = exchange(steps, amount), answer, cpu;
    double spent = cpu_seconds() - before;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;
    MPI_Reduce(&sum, &answer, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&spent, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("answer %.17g\nseconds %.6f\ncpu %.6f\n", answer, seconds, cpu);
        printf("made MPI_Irecv %ld\nmade MPI_Isend %ld\nmade MPI_Waitall %ld\n", size * steps, size * steps, size * steps);
        printf("made MPI_Barrier %d\n", 2 * size);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 4) bytes = atoi(argv[4]);
    if (argc < 4 || bytes < (int)sizeof(double) || bytes > BYTES_MAX) MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(argv[1], "plan") == 0)
        plan(atof(argv[2]), atof(argv[3]));
    else
        run(atol(argv[2]), atol(argv[3]));
    MPI_Finalize();
    return 0;
}
