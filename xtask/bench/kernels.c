/* Communication kernels with the patterns of the NAS parallel benchmarks; nothing of theirs but the pattern is here. (CG, FT and
 * EP are in kernels.f90.) Usage: kernels NAME STEPS WORK [REQUESTS]
 *   lu     a wavefront: tiny messages down a pipeline of ranks and back, plane by plane
 *   sp     multi-partition: per step REQUESTS receives and as many sends, completed by one MPI_Waitall
 *   mg     exchanges with both neighbours on grids of eight sizes, and a norm
 *   is     a bucket sort: MPI_Allreduce, MPI_Alltoall, MPI_Alltoallv
 *   comms  communicators that are made, used once and freed
 * WORK is what a rank computes between two exchanges, in additions and multiplications that wait for each other: the rate of
 * calls follows from it. Every kernel checks what it has received and leaves with 1 where that is wrong. Rank 0 prints `answer`,
 * the `seconds` of the main loop, the `cpu` seconds of all ranks, and `made FUNCTION CALLS` of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PLANES = 32, LEVELS = 8, GRID = 1 << 11, KEYS = 2048, BUCKETS = 256, REQUESTS_MAX = 2000 };

enum { Send, Recv, Isend, Irecv, Wait, Waitall, Allreduce, Alltoall, Alltoallv, Comm_split, Comm_free, Barrier, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"Send",      "Recv",     "Isend",     "Irecv",      "Wait",      "Waitall",
                                             "Allreduce", "Alltoall", "Alltoallv", "Comm_split", "Comm_free", "Barrier"};
static long made[FUNCTIONS];
/* Calls the function and counts it. */
#define CALL(name) made[name]++, MPI_##name

static int rank, size, requests = 24;
static volatile double sink;

static void work(long amount) {
    double x = rank;
    for (long i = 0; i < amount; i++) x = x * 0.999999 + 1e-6;
    sink = x;
}

static void expect(double got, double wanted) {
    if (got != wanted) {
        fprintf(stderr, "rank %d has %.17g instead of %.17g\n", rank, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Down the pipeline each rank adds its number; back up, too. */
static double lu(long steps, long amount) {
    double sum = 0, plane[5];
    for (long step = 0; step < steps; step++)
        for (int up = 0; up < 2; up++)
            for (int k = 0; k < PLANES; k++) {
                int from = up ? rank + 1 : rank - 1, to = up ? rank - 1 : rank + 1;
                for (int i = 0; i < 5; i++) plane[i] = step + k + i;
                if (from >= 0 && from < size) {
                    CALL(Recv)(plane, 5, MPI_DOUBLE, from, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    int before = up ? (size - 1) * size / 2 - rank * (rank + 1) / 2 : rank * (rank - 1) / 2;
                    expect(plane[4], step + k + 4 + before);
                }
                work(amount);
                for (int i = 0; i < 5; i++) plane[i] += rank;
                if (to >= 0 && to < size) CALL(Send)(plane, 5, MPI_DOUBLE, to, k, MPI_COMM_WORLD);
                sum += plane[0];
            }
    return sum;
}

static double sp(long steps, long amount) {
    static double in[REQUESTS_MAX][8], out[REQUESTS_MAX][8];
    static MPI_Request posted[2 * REQUESTS_MAX];
    double sum = 0;
    for (long step = 0; step < steps; step++) {
        for (int i = 0; i < requests; i++)
            CALL(Irecv)(in[i], 8, MPI_DOUBLE, (rank + size - 1) % size, i, MPI_COMM_WORLD, &posted[i]);
        work(amount);
        for (int i = 0; i < requests; i++) {
            for (int j = 0; j < 8; j++) out[i][j] = step + 10 * i + j + rank;
            CALL(Isend)(out[i], 8, MPI_DOUBLE, (rank + 1) % size, i, MPI_COMM_WORLD, &posted[requests + i]);
        }
        CALL(Waitall)(2 * requests, posted, MPI_STATUSES_IGNORE);
        for (int i = 0; i < requests; i++) {
            expect(in[i][7], step + 10 * i + 7 + (rank + size - 1) % size);
            sum += in[i][0];
        }
    }
    return sum;
}

static double mg(long steps, long amount) {
    static double in[GRID], out[GRID];
    double norm = 0, all = 0;
    for (long step = 0; step < steps; step++) {
        for (int level = 0; level < LEVELS; level++)
            for (int side = -1; side <= 1; side += 2) {
                int to = (rank + side + size) % size, from = (rank - side + size) % size, count = GRID >> level;
                MPI_Request request;
                CALL(Irecv)(in, count, MPI_DOUBLE, from, level, MPI_COMM_WORLD, &request);
                work(amount);
                out[0] = rank + level, out[count - 1] = step;
                CALL(Send)(out, count, MPI_DOUBLE, to, level, MPI_COMM_WORLD);
                CALL(Wait)(&request, MPI_STATUS_IGNORE);
                expect(in[0] + in[count - 1], from + level + (count > 1 ? step : 0));
                norm += in[0];
            }
        double own = rank;
        CALL(Allreduce)(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        expect(all, size * (size - 1) / 2);
    }
    return norm + all;
}

/* Every rank gets the keys of its share of the buckets. */
static double is(long steps, long amount) {
    static int keys[KEYS], sorted[KEYS], got[1 << 16];
    int buckets[BUCKETS], all[BUCKETS], to[size], at[size], fill[size], from[size], into[size];
    double sum = 0;
    unsigned seed = rank + 1;
    for (long step = 0; step < steps; step++) {
        double sent = 0, received = 0, both[2], total[2];
        memset(buckets, 0, sizeof buckets);
        memset(to, 0, sizeof to);
        for (int i = 0; i < KEYS; i++) {
            seed = seed * 1664525 + 1013904223;
            keys[i] = seed >> 24;
            buckets[keys[i]]++, to[keys[i] * size / BUCKETS]++, sent += keys[i];
        }
        work(amount);
        CALL(Allreduce)(buckets, all, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CALL(Alltoall)(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
        int count = 0;
        for (int i = 0, a = 0; i < size; i++) at[i] = a, a += to[i], into[i] = count, count += from[i];
        memcpy(fill, at, sizeof at);
        for (int i = 0; i < KEYS; i++) sorted[fill[keys[i] * size / BUCKETS]++] = keys[i];
        CALL(Alltoallv)(sorted, to, at, MPI_INT, got, from, into, MPI_INT, MPI_COMM_WORLD);
        int mine = 0;
        for (int i = 0; i < BUCKETS; i++) mine += i * size / BUCKETS == rank ? all[i] : 0;
        expect(count, mine);
        for (int i = 0; i < count; i++) received += got[i];
        both[0] = sent, both[1] = received;
        CALL(Allreduce)(both, total, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        expect(total[0], total[1]);
        sum += total[0];
    }
    return sum;
}

static double comms(long steps, long amount) {
    for (long step = 0; step < steps; step++) {
        MPI_Comm made_of;
        CALL(Comm_split)(MPI_COMM_WORLD, 0, size - rank, &made_of);
        work(amount);
        CALL(Barrier)(made_of);
        CALL(Comm_free)(&made_of);
    }
    return steps;
}

static const struct {
    const char *name;
    double (*run)(long steps, long amount);
} kernels[] = {{"lu", lu}, {"sp", sp}, {"mg", mg}, {"is", is}, {"comms", comms}};

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    int kernel = 0, kinds = sizeof kernels / sizeof *kernels;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc > 3 && kernel < kinds && strcmp(argv[1], kernels[kernel].name) != 0) kernel++;
    if (argc > 4) requests = atoi(argv[4]);
    if (argc < 4 || kernel == kinds || requests < 1 || requests > REQUESTS_MAX || size > 16) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), before = cpu_seconds();
    double sum = kernels[kernel].run(atol(argv[2]), atol(argv[3])), answer, cpu;
    double spent = cpu_seconds() - before;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;
    long all[FUNCTIONS];
    MPI_Reduce(&sum, &answer, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&spent, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    made[Barrier] += 2;
    MPI_Reduce(made, all, FUNCTIONS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("answer %.17g\nseconds %.6f\ncpu %.6f\n", answer, seconds, cpu);
        for (int i = 0; i < FUNCTIONS; i++)
            if (all[i]) printf("made MPI_%s %ld\n", names[i], all[i]);
    }
    MPI_Finalize();
    return 0;
}
