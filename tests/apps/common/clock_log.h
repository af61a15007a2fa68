/* A thread's own clock log: a line every 10 ms of computing, so that a stop shows as a gap.
 *
 * The lines "THREAD NANOSECONDS" (CLOCK_MONOTONIC) go to LOG_DIR/RANK.log, each at once, so that
 * none is lost whatever becomes of the program. */
#ifndef CLOCK_LOG_H
#define CLOCK_LOG_H

#include "flag_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 10 * 1000 * 1000 };

static long clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int clock_log_open(int rank)
{
    char path[4096];
    const char *directory = getenv("LOG_DIR");
    snprintf(path, sizeof path, "%s/%d.log", directory ? directory : ".", rank);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0) {
        perror(path);
        exit(70);
    }
    return log;
}

static void clock_log_write(int log, const char *thread)
{
    char line[64];
    int bytes = snprintf(line, sizeof line, "%s %ld\n", thread, clock_ns());
    if (write(log, line, bytes) != bytes)
        exit(70);
}

/* Computes until `ticks` lines are written, or LOG_DIR/stop appears. Each tick is a fixed piece of
 * arithmetic and a rest, so that more ranks than cores do not disturb each other's clocks. Time
 * that the process was stopped does not count, because the amount of work is fixed. */
static double compute(int log, const char *thread, int ticks)
{
    double sum = 0;
    for (int tick = 0; tick < ticks && !flag_is_set("stop"); tick++) {
        long begun = clock_ns();
        for (int i = 1; i < 100000; i++)
            sum += 1.0 / ((double)i * i + tick);
        long rest = TICK_NS - (clock_ns() - begun);
        if (rest > 0 && rest <= TICK_NS) {
            struct timespec pause = {0, rest < 999999999 ? rest : 999999999};
            nanosleep(&pause, NULL);
        }
        clock_log_write(log, thread);
    }
    return sum;
}

#endif
