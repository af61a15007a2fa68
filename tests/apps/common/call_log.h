/* A rank's own log of its MPI calls: begin, end and bytes sent of each.
 *
 * The clock, CLOCK_MONOTONIC, is read before and after the call, so that the call that Invivo
 * records lies in between. The log is kept in memory and written by call_log_write to
 * LOG_DIR/RANK.calls, one line "FUNCTION BEGIN_NS END_NS BYTES" per call. */
#ifndef CALL_LOG_H
#define CALL_LOG_H

#include "counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct logged_call {
    const char *function;
    long begin_ns, end_ns, bytes;
};

static struct logged_call *logged_calls;
static long logged_calls_count, logged_calls_room;

static long call_log_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static struct logged_call *call_log_begin(const char *function, long bytes)
{
    if (logged_calls_count == logged_calls_room) {
        logged_calls_room = logged_calls_room ? 2 * logged_calls_room : 1 << 16;
        logged_calls = realloc(logged_calls, logged_calls_room * sizeof *logged_calls);
        if (!logged_calls)
            exit(70);
    }
    struct logged_call *call = &logged_calls[logged_calls_count++];
    *call = (struct logged_call){function, call_log_now(), 0, bytes};
    return call;
}

/* LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD) calls it, counts it and logs it. */
#define LOGGED(function, bytes, ...)                                       \
    do {                                                                   \
        struct logged_call *logged_call = call_log_begin(#function, bytes); \
        CALL(function)(__VA_ARGS__);                                       \
        logged_call->end_ns = call_log_now();                              \
    } while (0)

/* The path of a file in LOG_DIR; it is overwritten by the next one. */
static const char *log_path(const char *format, int number)
{
    static char path[4096];
    const char *directory = getenv("LOG_DIR");
    int length = snprintf(path, sizeof path, "%s/", directory ? directory : ".");
    snprintf(path + length, sizeof path - length, format, number);
    return path;
}

static void call_log_write(int rank)
{
    const char *path = log_path("%d.calls", rank);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(70);
    }
    for (long i = 0; i < logged_calls_count; i++) {
        const struct logged_call *call = &logged_calls[i];
        fprintf(file, "%s %ld %ld %ld\n", call->function, call->begin_ns, call->end_ns,
                call->bytes);
    }
    if (fclose(file))
        exit(70);
}

#endif
