/* Steps whose measurements are known: `measured [SECONDS [phases]]`. In each step of about 10 ms,
 * on all ranks together:
 *
 *   50 fresh pages are touched    minor faults
 *   two sleeps of 4 ms            voluntary context switches
 *   2 ms of computing             processor time
 *   MPI_Allreduce                 which also says whether to go on
 *
 * Counted are `steps`, and `faulted`, the pages touched so far; the value `cells` is 1000 + RANK.
 *
 * With `phases` pages are touched in the second third of the time alone. Behind MPI_Init and at the
 * begin of each further third a rank prints `rank R phase P at NS`, by CLOCK_MONOTONIC; in the end
 *
 *   rank R steps N faulted F minflt A majflt B nvcsw C nivcsw D cpu_ns E
 *
 * the last five by getrusage, from behind MPI_Init to before MPI_Finalize. */
#define _GNU_SOURCE
#include "invivo_regions.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 50, THIRDS = 3, SLEEPS = 2, SLEEP_US = 4000, COMPUTE_NS = 2 * 1000 * 1000 };

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long cpu_ns(const struct rusage *usage)
{
    long long us = usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL + us * 1000;
}

static struct rusage used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

/* Pages of their own size each: huge ones would be a fault for all. */
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
    long long until = now_ns() + COMPUTE_NS;
    while (now_ns() < until)
        ;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    int has_phases = argc > 2 && !strcmp(argv[2], "phases");
    int rank, third = 0, last = -1;
    long steps = 0, faulted = 0;

    /* A line is out as soon as it is written. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    struct rusage begin = used();
    long long begun = now_ns();
    while (third < THIRDS) {
        if (third != last)
            printf("rank %d phase %d at %lld\n", rank, third, now_ns());
        last = third;
        if (!has_phases || third == 1) {
            touch_fresh_pages();
            faulted += PAGES;
            invivo_count("faulted", PAGES);
        }
        invivo_count("steps", 1);
        steps++;
        invivo_set("cells", 1000 + rank);
        for (int i = 0; i < SLEEPS; i++)
            usleep(SLEEP_US);
        compute();
        /* The third of the rank that is furthest is that of all: they do as many steps. */
        int own = (int)((now_ns() - begun) / 1e9 / seconds * THIRDS);
        MPI_Allreduce(&own, &third, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    struct rusage end = used();
    printf("rank %d steps %ld faulted %ld minflt %ld majflt %ld nvcsw %ld nivcsw %ld cpu_ns %lld\n",
           rank, steps, faulted, end.ru_minflt - begin.ru_minflt, end.ru_majflt - begin.ru_majflt,
           end.ru_nvcsw - begin.ru_nvcsw, end.ru_nivcsw - begin.ru_nivcsw,
           cpu_ns(&end) - cpu_ns(&begin));
    MPI_Finalize();
    return 0;
}
