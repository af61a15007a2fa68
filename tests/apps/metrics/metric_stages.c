/* Steps in stages, between which other metrics are measured: `metric_stages STAGES STEPS`. A stage
 * begins when LOG_DIR/go-STAGE is there; until then a rank sleeps, 20 ms at a time. In each step
 *
 *   50 fresh pages are touched    faults
 *   two sleeps of a millisecond   voluntary context switches
 *   a millisecond of computing    time on a processor
 *   MPI_Allreduce
 *
 * Counted are `steps`; the value `stage` is 100 * (1 + STAGE) + RANK. Behind each stage a rank leaves
 * LOG_DIR/RANK.stage-STAGE with what getrusage says of it: minor and major faults, voluntary and
 * involuntary switches, ns on a processor. In the end it waits for LOG_DIR/stop. */
#define _GNU_SOURCE
#include "flag_file.h"
#include "invivo_regions.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 50, SLEEPS = 2, SLEEP_US = 1000, WAIT_US = 20 * 1000, COMPUTE_NS = 1000 * 1000 };

static int me;

static void wait_for(const char *name)
{
    while (!flag_is_set(name))
        usleep(WAIT_US);
}

static struct rusage used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static long long cpu_ns(const struct rusage *usage)
{
    long long us = usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL + us * 1000;
}

static void done(int stage, const struct rusage *begin, const struct rusage *end)
{
    char path[4096], whole[4096];
    snprintf(path, sizeof path, "%s/%d.stage-%d.new", getenv("LOG_DIR"), me, stage);
    snprintf(whole, sizeof whole, "%s/%d.stage-%d", getenv("LOG_DIR"), me, stage);
    FILE *file = fopen(path, "w");
    if (!file ||
        fprintf(file, "%ld %ld %ld %ld %lld\n", end->ru_minflt - begin->ru_minflt,
                end->ru_majflt - begin->ru_majflt, end->ru_nvcsw - begin->ru_nvcsw,
                end->ru_nivcsw - begin->ru_nivcsw, cpu_ns(end) - cpu_ns(begin)) < 0 ||
        fclose(file) || rename(path, whole)) {
        perror(path);
        exit(70);
    }
}

/* Pages of their own size each: of huge ones one fault would be for all. */
static void touch_fresh_pages(void)
{
    size_t page = sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 70);
    }
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += page)
        *(volatile char *)(pages + at) = 1;
    munmap(pages, bytes);
}

static void compute(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec < COMPUTE_NS);
}

static void step(void)
{
    int one = 1, sum = 0;
    touch_fresh_pages();
    for (int i = 0; i < SLEEPS; i++)
        usleep(SLEEP_US);
    compute();
    invivo_count("steps", 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int stages = argc > 1 ? atoi(argv[1]) : 1, steps = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int stage = 0; stage < stages; stage++) {
        char name[32];
        snprintf(name, sizeof name, "go-%d", stage);
        wait_for(name);
        struct rusage begin = used();
        invivo_set("stage", 100 * (1 + stage) + me);
        for (int i = 0; i < steps; i++)
            step();
        struct rusage end = used();
        done(stage, &begin, &end);
    }
    wait_for("stop");
    MPI_Finalize();
    return 0;
}
