/* Rounds in known regions, marked ones and functions of the compiler's: `regions [ROUNDS]`.
 *
 *   setup                         marked: computes
 *   solve                         marked
 *     outer                       a function, twice
 *       inner                     a function, five times: computes, on odd ranks for longer
 *       MPI_Allreduce
 *     MPI_Barrier
 *   exchange                      marked
 *     MPI_Sendrecv                around a ring
 *
 * Each rank writes what it has measured to LOG_DIR/RANK.regions (region_log.h), and waits for
 * LOG_DIR/stop before MPI_Finalize. Compiled as C and as C++, where `exchange` is a region of a
 * scope. */
#include "counting.h"
#include "invivo_regions.h"
#include "region_log.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define A_FRAME __attribute__((noinline, noclone))
#define UNSEEN __attribute__((no_instrument_function))

enum { OUTERS = 2, INNERS = 5, SETUP_NS = 200 * 1000, INNER_NS = 100 * 1000, INTS = 25000 };

static int me, all;
static long sum;

/* An MPI call: counted, and with its time. */
#define TIMED(function, ...)                        \
    do {                                            \
        region_log_mpi_begin();                     \
        CALL(function)(__VA_ARGS__);                \
        region_log_mpi_end();                       \
    } while (0)

#ifdef __cplusplus
namespace work {
#endif

A_FRAME static void inner(void)
{
    region_log_begin("inner");
    region_log_compute(INNER_NS * (1 + me % 2));
    region_log_end();
}

A_FRAME static void outer(void)
{
    int one = 1, ranks = 0;
    region_log_begin("outer");
    for (int i = 0; i < INNERS; i++)
        inner();
    TIMED(MPI_Allreduce, &one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += ranks;
    region_log_end();
}

#ifdef __cplusplus
}
using namespace work;
#endif

UNSEEN static void set_up(void)
{
    invivo_begin("setup");
    region_log_begin("setup");
    region_log_compute(SETUP_NS);
    region_log_end();
    invivo_end("setup");
}

UNSEEN static void solve(void)
{
    invivo_begin("solve");
    region_log_begin("solve");
    for (int i = 0; i < OUTERS; i++)
        outer();
    TIMED(MPI_Barrier, MPI_COMM_WORLD);
    region_log_end();
    invivo_end("solve");
}

UNSEEN static void exchange(void)
{
    static int out[INTS], in[INTS];
    int left = (me + all - 1) % all, right = (me + 1) % all;
#ifdef __cplusplus
    invivo::Region region("exchange");
#else
    invivo_begin("exchange");
#endif
    region_log_begin("exchange");
    out[0] = me;
    TIMED(MPI_Sendrecv, out, INTS, MPI_INT, right, 5, in, INTS, MPI_INT, left, 5, MPI_COMM_WORLD,
          MPI_STATUS_IGNORE);
    sum += in[0];
    region_log_end();
#ifndef __cplusplus
    invivo_end("exchange");
#endif
    counting_sent(right, sizeof out);
    counting_received(left, sizeof in);
}

UNSEEN int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &me);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &all);
    for (int round = 0; round < rounds; round++) {
        set_up();
        solve();
        exchange();
    }
    region_log_write(me);
    region_log_wait(me);
    CALL(MPI_Finalize)();
    printf("rank %d: %d rounds, sum %ld\n", me, rounds, sum);
    counting_write(me);
    return 0;
}
