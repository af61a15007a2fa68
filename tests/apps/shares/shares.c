/* Known parts of the time of each rank below known callers, until LOG_DIR/stop appears.
 *
 *   main - step - heavy  - kernel   5 parts of 10 of the work
 *               - middle - kernel   3
 *               - light  - kernel   2
 *               - MPI_Allreduce     what the ranks wait for each other
 *
 * All of the work is in one function: only its callers tell the parts. Steps differ in length, from
 * a half to one and a half times the mean: else the kernel's tick, at which timers fire, would meet
 * the same parts again and again. Each rank writes to
 * LOG_DIR/RANK.shares how much time of a processor it had below each of them, by its own clock:
 * "NAME NS", and "all NS" from the first step on. With a rank as argument that rank does the heavy
 * part five times. Compiled as C and as C++. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define A_FRAME __attribute__((noinline, noclone))

enum { HEAVY, MIDDLE, LIGHT, WAITING, PARTS };
static const char *const names[PARTS] = {"heavy", "middle", "light", "MPI_Allreduce"};
static long long spent[PARTS];
static volatile double sum;
static volatile int left;
static int times = 1;
/* Of the work of a step, in additions for each of its 10 parts; 100,000 in the mean. */
static int length;
static unsigned chance;

/* Time that this thread has had on a processor, in ns. */
static long long cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#ifdef __cplusplus
namespace work {
#endif

A_FRAME static void kernel(int parts)
{
    for (int i = 0; i < parts * length; i++)
        sum = sum * 0.5 + i;
}

A_FRAME static void heavy(void)
{
    kernel(5); /* at heavy */
    left++;
}

A_FRAME static void middle(void)
{
    kernel(3); /* at middle */
    left++;
}

A_FRAME static void light(void)
{
    kernel(2); /* at light */
    left++;
}

#ifdef __cplusplus
}
using namespace work;
#endif

A_FRAME static void step(void)
{
    long long at[PARTS + 1];
    int here = 1, all = 0;
    /* The same lengths in every rank. */
    chance = chance * 1664525u + 1013904223u;
    length = 50000 + (int)((chance >> 16) * 100000ull / 65536);
    at[HEAVY] = cpu_ns();
    for (int i = 0; i < times; i++)
        heavy(); /* at step heavy */
    at[MIDDLE] = cpu_ns();
    middle(); /* at step middle */
    at[LIGHT] = cpu_ns();
    light(); /* at step light */
    at[WAITING] = cpu_ns();
    CALL(MPI_Allreduce)(&here, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at step all */
    at[PARTS] = cpu_ns();
    for (int part = 0; part < PARTS; part++)
        spent[part] += at[part + 1] - at[part];
    left++;
}

int main(int argc, char **argv)
{
    int rank, stop = 0;
    char path[4096];
    const char *directory = getenv("LOG_DIR");
    long long begun;
    FILE *file;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    if (argc > 1 && atoi(argv[1]) == rank)
        times = 5;
    begun = cpu_ns();
    while (!stop) {
        for (int i = 0; i < 20; i++)
            step(); /* at main */
        stop = rank == 0 && flag_is_set("stop");
        CALL(MPI_Bcast)(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    snprintf(path, sizeof path, "%s/%d.shares", directory ? directory : ".", rank);
    file = fopen(path, "w");
    if (!file)
        return 70;
    for (int part = 0; part < PARTS; part++)
        fprintf(file, "%s %lld\n", names[part], spent[part]);
    fprintf(file, "all %lld\n", cpu_ns() - begun);
    fclose(file);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
