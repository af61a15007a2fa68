/* What is probed, in tight loops, so that what a probe costs can be seen: `probes BATCHES ASKED`. Two ranks; rank 0 works,
 * the other sleeps. Compiled with -finstrument-functions. In turn, lines `time KIND WALL CPU`, ns per pair or call and batch:
 *   function  a function that does nothing, entered and left
 *   marked    invivo_begin and invivo_end around nothing
 *   iprobe    MPI_Iprobe that finds nothing
 *   count     invivo_count of a counter that is there
 * Then lines `made KIND COUNT`; and it waits for the file ASKED, where that is not "-". */
#include "../../regions/invivo_regions.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))
enum { TIMES = 20000, PAUSE_US = 40000 };

static double begun_wall, begun_cpu;

UNSEEN static double clock_ns(clockid_t which) {
    struct timespec time;
    clock_gettime(which, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

UNSEEN static void begin(void) {
    begun_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    begun_wall = clock_ns(CLOCK_MONOTONIC);
}

UNSEEN static void end(const char *kind) {
    double wall = clock_ns(CLOCK_MONOTONIC) - begun_wall, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu;
    printf("time %s %.2f %.2f\n", kind, wall / TIMES, cpu / TIMES);
    /* Whoever takes records keeps up. */
    usleep(PAUSE_US);
}

__attribute__((noinline, noclone)) static void probed(void) { __asm__ volatile(""); }

UNSEEN int main(int argc, char **argv) {
    int rank, flag, batches = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int batch = 0; rank == 0 && batch < batches; batch++) {
        begin();
        for (int i = 0; i < TIMES; i++) probed();
        end("function");
        begin();
        for (int i = 0; i < TIMES; i++) {
            invivo_begin("probed mark");
            __asm__ volatile("");
            invivo_end("probed mark");
        }
        end("marked");
        begin();
        for (int i = 0; i < TIMES; i++) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        end("iprobe");
        begin();
        for (int i = 0; i < TIMES; i++) invivo_count("probed", 1);
        end("count");
    }
    if (rank == 0) {
        for (int kind = 0; kind < 4; kind++)
            printf("made %s %d\n", (const char *[]){ "function", "marked", "iprobe", "count" }[kind], batches * TIMES);
        fflush(stdout);
        while (strcmp(argv[2], "-") && access(argv[2], F_OK)) usleep(1000);
    }
    /* The other one sleeps until then. */
    MPI_Request all;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (MPI_Test(&all, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&all, &done, MPI_STATUS_IGNORE)) usleep(10000);
    return MPI_Finalize();
}
