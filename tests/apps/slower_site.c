/* Three call sites in rounds, one of which can be made slower while it runs:
 * `slower_site UNIT_US PERCENT`.
 *
 * In each round rank 0 waits in `halo`, in `norm` and in `gather` for rank 1, which works (outside
 * of MPI) for two units where rank 0 works for one; while LOG_DIR/slower is there rank 1 works
 * longer before `norm`: by PERCENT of what rank 0 waits there for. Both work for so much less at
 * the end of the round: there are as many rounds in a second, and nothing else is different. It
 * runs until LOG_DIR/stop appears, and leaves LOG_DIR/RANK.begun when its rounds begin. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <time.h>

static long unit_us;
/* What is longer while it is slower, of a unit. */
static long longer_us;
static int rank;

/* By the clock, and not by a sleep: a sleep is longer than it was asked for. */
static void work(long us)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += us * 1000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static long sum(long value)
{
    long all = 0;
    CALL(MPI_Allreduce)(&value, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

__attribute__((noinline)) static long halo(long value)
{
    long all = 0;
    work(rank == 1 ? 2 * unit_us : unit_us);
    CALL(MPI_Allreduce)(&value, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

__attribute__((noinline)) static long norm(long value, int slower)
{
    long all = 0;
    work(rank == 1 ? 2 * unit_us + (slower ? longer_us : 0) : unit_us);
    CALL(MPI_Allreduce)(&value, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

__attribute__((noinline)) static void gather(long value)
{
    long all[64];
    work(rank == 1 ? 2 * unit_us : unit_us);
    CALL(MPI_Allgather)(&value, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    unit_us = argc > 1 ? atol(argv[1]) : 1000;
    longer_us = unit_us * (argc > 2 ? atol(argv[2]) : 5) / 100;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.begun", getenv("LOG_DIR"), rank);
    FILE *begun = fopen(path, "w");
    if (!begun)
        exit(70);
    fclose(begun);
    /* All ranks go on, or none: rank 0 looks. Bits of one sum, so that it is one call. */
    for (long round = 0, flags = 0; !(flags & 1); round++) {
        halo(round);
        int slower = flags & 2 ? 1 : 0;
        norm(round, slower);
        gather(round);
        work(slower ? unit_us - longer_us : unit_us);
        flags = sum(rank == 0 ? flag_is_set("stop") + 2 * flag_is_set("slower") : 0);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
