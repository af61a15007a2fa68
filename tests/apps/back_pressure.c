/* Makes calls faster than a stopped tool place takes their records: `back_pressure CALLS`.
 *
 * It leaves LOG_DIR/RANK.ready, begins when LOG_DIR/go is there, writes LOG_DIR/RANK.measured and
 * RANK.done, and ends when LOG_DIR/end is there. Every call has other arguments. It measures, in
 * microseconds: the time since MPI_Init, the longest call, and how long its calls slept, which is
 * their time less the time that they ran and the time that they waited for a processor. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *logs;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* What this thread ran and what it waited for a processor, in ns. */
static long long busy(void)
{
    long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%lld %lld", &ran, &waited) != 2)
        exit(70);
    fclose(file);
    return ran + waited;
}

static FILE *leave(const char *what, int rank)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.%s", logs, rank, what);
    FILE *file = fopen(name, "w");
    if (!file)
        exit(70);
    return file;
}

static void wait_for(const char *what)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", logs, what);
    while (access(name, F_OK))
        usleep(5000);
}

int main(int argc, char **argv)
{
    int rank;
    long calls = argc > 1 ? atol(argv[1]) : 1000;
    long long longest = 0;
    unsigned state = 1;
    logs = getenv("LOG_DIR") ? getenv("LOG_DIR") : ".";
    CALL(MPI_Init)(&argc, &argv);
    long long since = now();
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    fclose(leave("ready", rank));
    wait_for("go");
    long long begun = now(), busy_before = busy(), last = begun;
    for (long i = 0; i < calls; i++) {
        state = state * 1664525u + 1013904223u;
        /* As long as a record gets; nobody looks at the bytes. */
        int bytes = (int)(state >> 2), tag = (int)(state * 2654435761u >> 6);
        CALL(MPI_Send)(&state, bytes, MPI_BYTE, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
        long long at = now();
        if (at - last > longest)
            longest = at - last;
        last = at;
    }
    long long slept = last - begun - (busy() - busy_before);
    FILE *file = leave("measured", rank);
    fprintf(file, "%lld %lld %lld\n", (last - since) / 1000, longest / 1000,
            (slept > 0 ? slept : 0) / 1000);
    fclose(file);
    fclose(leave("done", rank));
    wait_for("end");
    printf("rank %d has called\n", rank);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
