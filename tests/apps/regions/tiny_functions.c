/* Millions of tiny functions: `tiny_functions [SECONDS]`.
 *
 * Rounds of CALLS calls of `tiny`, of a tenth of a microsecond each, behind each an MPI_Allreduce, by
 * which all ranks end in the same round: for SECONDS, or until LOG_DIR/calm is there. Rank 0 prints
 * how many rounds it did a second, from WARM seconds on, where it did some: by then the measurement
 * takes what it takes. Without SECONDS the same work follows without a call, until LOG_DIR/stop is there. */
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define UNSEEN __attribute__((no_instrument_function))

enum { CALLS = 20 * 1000, STEPS = 90 };

static const double WARM = 2.5;
static unsigned value = 1;

UNSEEN static inline unsigned next(unsigned of)
{
    for (int step = 0; step < STEPS; step++)
        of = of * 1664525u + 1013904223u;
    return of;
}

__attribute__((noinline, noclone)) static void tiny(void)
{
    value = next(value);
}

UNSEEN static void calling(void)
{
    for (int call = 0; call < CALLS; call++)
        tiny();
}

UNSEEN static void calm(void)
{
    for (int call = 0; call < CALLS; call++)
        value = next(value);
}

/* Whether all ranks are to go on, which rank 0 decides. */
UNSEEN static int go_on(int me, int is_over)
{
    int mine = me == 0 && !is_over, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

UNSEEN int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    double seconds = argc > 1 ? atof(argv[1]) : 0;

    double begin = MPI_Wtime(), warm = 0;
    long rounds = 0, before = 0;
    do {
        if (warm == 0 && MPI_Wtime() - begin >= WARM) {
            warm = MPI_Wtime();
            before = rounds;
        }
        calling();
        rounds++;
    } while (go_on(me, seconds > 0 ? MPI_Wtime() - begin >= seconds : flag_is_set("calm")));
    double took = MPI_Wtime() - (warm > 0 ? warm : begin);
    if (me == 0)
        printf("%.1f rounds a second\n", (rounds - before) / took);

    while (seconds == 0 && go_on(me, flag_is_set("stop")))
        calm();
    MPI_Finalize();
    return value == 0;
}
