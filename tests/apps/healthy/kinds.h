/* Runs kinds of rounds, one after the other: the kind whose file LOG_DIR/KIND was made last in the
 * order of the table, or the first, until LOG_DIR/stop appears. LOG_DIR/running.KIND says that it
 * runs.
 *
 * Work is sleep outside of MPI, so that ranks do not compete for processors. */
#ifndef KINDS_H
#define KINDS_H

#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct kind {
    const char *name;
    void (*round)(int);
    int rounds;
};

static int rank, size;

static inline void work(double ms)
{
    const struct timespec length = {0, (long)(ms * 1e6)};
    nanosleep(&length, NULL);
}

static void begin_kinds(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* The kind to run; behind the last one it is time to stop. */
static int wanted(const struct kind *kinds, int count)
{
    if (flag_is_set("stop"))
        return count;
    for (int kind = count - 1; kind > 0; kind--)
        if (flag_is_set(kinds[kind].name))
            return kind;
    return 0;
}

static void say_that_it_runs(const char *kind)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/running.%s", getenv("LOG_DIR"), kind);
    FILE *file = fopen(path, "w");
    if (!file || fclose(file))
        exit(70);
}

/* Between two kinds all do what is to be undone of the first one. */
static void run_kinds(const struct kind *kinds, int count, void (*undo)(void))
{
    int kind = -1, mine, next;
    for (;;) {
        mine = rank == 0 ? wanted(kinds, count) : 0;
        /* All come together here, so that no kind hands its waits on to the next. */
        MPI_Allreduce(&mine, &next, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (next != kind && undo)
            undo();
        if (next == count)
            return;
        if (next != kind && rank == 0)
            say_that_it_runs(kinds[next].name);
        kind = next;
        for (int round = 0; round < kinds[kind].rounds; round++)
            kinds[kind].round(round);
    }
}

static void end_kinds(void)
{
    printf("rank %d: done\n", rank);
    MPI_Finalize();
}

#endif
