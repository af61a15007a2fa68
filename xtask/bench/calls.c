/* Cheap MPI calls in tight loops: what a call costs, so that what a tool adds can be seen. Two ranks; rank 0 works, and the
 * other sleeps, but for ping-pong: it is there because a world of one has cheaper progress than any other. Usage:
 *   calls loops BATCHES     each kind in turn, so that a busy moment of the machine meets all: lines `time KIND WALL CPU`,
 *                           ns per call and batch, and CPU that of the thread
 *   calls pingpong BATCHES  messages of 8 bytes between the two ranks: ns per message, one way
 *   calls each COUNT        single calls of MPI_Iprobe: lines `quantile PART NS`, and the slowest, longest first: `slow NS`
 * All end with lines `made FUNCTION CALLS`: what rank 0 has called so often. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CALLS = 20000, MANY = 1000, CROWDS = 10, MESSAGES = 5000, SLOW = 1000 };
/* Between two loops, and between so many single calls: whoever takes records keeps up, also on a busy machine. Without, calls in
 * tight loops come faster than any program makes them. */
enum { PAUSES = 10, PAUSE_US = 4000, PAUSE_EVERY = 100000 };

static double out = 1, in, box[MANY];
static MPI_Request requests[MANY];
static struct span { double wall_ns, cpu_ns; } begun, spent;
static long iprobes, sendrecvs, isends, irecvs, waitalls, allreduces, sends, recvs;

static double clock_ns(clockid_t which) {
    struct timespec time;
    clock_gettime(which, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void begin(void) {
    begun.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    begun.wall_ns = clock_ns(CLOCK_MONOTONIC);
}

static void end(void) {
    spent.wall_ns += clock_ns(CLOCK_MONOTONIC) - begun.wall_ns;
    spent.cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun.cpu_ns;
}

static void pause_for_others(void) {
    int flag;
    for (int i = 0; i < PAUSES; i++) {
        usleep(PAUSE_US);
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    iprobes += PAUSES;
}

/* Each gives what its time is to be divided by. */
static long iprobe(void) {
    int flag;
    begin();
    for (int i = 0; i < CALLS; i++) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    end();
    iprobes += CALLS;
    return CALLS;
}

static long sendrecv(void) {
    begin();
    for (int i = 0; i < CALLS; i++)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 2, &in, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    end();
    sendrecvs += CALLS;
    return CALLS;
}

static long waitall(void) {
    begin();
    for (int i = 0; i < CALLS / 3; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    end();
    irecvs += CALLS / 3, isends += CALLS / 3, waitalls += CALLS / 3;
    return CALLS / 3 * 3;
}

/* One MPI_Waitall on many requests: ns per request. Half of them are sends. */
static long crowd(void) {
    for (int round = 0; round < CROWDS; round++) {
        for (int i = 0; i < MANY / 2; i++)
            MPI_Irecv(&box[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < MANY / 2; i++)
            MPI_Isend(&out, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[MANY / 2 + i]);
        begin();
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        end();
    }
    irecvs += CROWDS * (MANY / 2), isends += CROWDS * (MANY / 2), waitalls += CROWDS;
    return CROWDS * MANY;
}

static long allreduce(void) {
    begin();
    for (int i = 0; i < CALLS; i++) MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    end();
    allreduces += CALLS;
    return CALLS;
}

/* Not recorded: it costs next to nothing, and must go on doing so. */
static long comm_rank(void) {
    int rank;
    begin();
    for (int i = 0; i < CALLS; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    end();
    return CALLS;
}

static const struct {
    const char *name;
    long (*run)(void);
} kinds[] = {{"iprobe", iprobe}, {"sendrecv", sendrecv},   {"waitall", waitall},
             {"crowd", crowd},   {"allreduce", allreduce}, {"rank", comm_rank}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void loops(int batches) {
    for (int batch = -1; batch < batches; batch++) {
        for (int kind = 0; kind < KINDS; kind++) {
            spent = (struct span){0, 0};
            double calls = kinds[kind].run();
            /* The first is for the caches. */
            if (batch >= 0) printf("time %s %.2f %.2f\n", kinds[kind].name, spent.wall_ns / calls, spent.cpu_ns / calls);
        }
        pause_for_others();
    }
}

static void pingpong(int batches, int rank) {
    for (int batch = -1; batch < batches; batch++) {
        spent = (struct span){0, 0};
        MPI_Barrier(MPI_COMM_WORLD);
        begin();
        for (int i = 0; i < MESSAGES; i++)
            if (rank == 0) {
                MPI_Send(&out, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
                MPI_Recv(&in, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&in, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&out, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
            }
        end();
        /* Both ranks call each as often. */
        sends += 2 * MESSAGES, recvs += 2 * MESSAGES;
        if (rank == 0 && batch >= 0)
            printf("time pingpong %.2f %.2f\n", spent.wall_ns / (2 * MESSAGES), spent.cpu_ns / (2 * MESSAGES));
    }
}

static int longer_first(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void each(int count) {
    uint32_t *ticks = malloc(count * sizeof *ticks);
    /* Touched before it is measured, so that no page is new then. */
    memset(ticks, 1, count * sizeof *ticks);
    iprobe();
    int flag;
    double wall_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t first = __rdtsc();
    for (int i = 0; i < count; i++) {
        if (i % PAUSE_EVERY == 0) pause_for_others();
        uint64_t before = __rdtsc();
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        uint64_t took = __rdtsc() - before;
        ticks[i] = took < UINT32_MAX ? took : UINT32_MAX;
    }
    double ns = (clock_ns(CLOCK_MONOTONIC) - wall_ns) / (__rdtsc() - first);
    iprobes += count;
    qsort(ticks, count, sizeof *ticks, longer_first);
    static const double parts[] = {0.5, 0.99, 0.999, 0.9999};
    for (int i = 0; i < 4; i++)
        printf("quantile %g %.2f\n", parts[i], ticks[(int)((count - 1) * (1 - parts[i]))] * ns);
    for (int i = 0; i < SLOW && i < count; i++) printf("slow %.2f\n", ticks[i] * ns);
    free(ticks);
}

/* Waits without a processor. */
static void rest(void) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        usleep(5000);
    }
}

int main(int argc, char **argv) {
    int rank, number = argc > 2 ? atoi(argv[2]) : 0;
    /* Nobody wakes up to read lines while calls are measured. */
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3 || number < 1) MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(argv[1], "pingpong") == 0)
        pingpong(number, rank);
    else if (rank == 0) {
        if (strcmp(argv[1], "each") == 0)
            each(number);
        else
            loops(number);
    }
    rest();
    if (rank == 0)
        printf("made MPI_Iprobe %ld\nmade MPI_Sendrecv %ld\nmade MPI_Isend %ld\nmade MPI_Irecv %ld\nmade MPI_Waitall %ld\n"
               "made MPI_Allreduce %ld\nmade MPI_Send %ld\nmade MPI_Recv %ld\n",
               iprobes, sendrecvs, isends, irecvs, waitalls, allreduces, sends, recvs);
    MPI_Finalize();
    return 0;
}
