/* Known work in stages, between which the selection is changed: `selection STAGES ROUNDS`.
 *
 *   stage                         a function
 *     around                      marked
 *       deep                      a function, three deep: waits for LOG_DIR/go-STAGE
 *         work                    a function, ROUNDS times
 *           tiny                  a function, ten times: computes
 *           again                 a function, four deep
 *           phase                 marked, and in it
 *             step                marked; both are ended without their names
 *           MPI_Irecv, three MPI_Iprobe, MPI_Isend, MPI_Test until it is received, MPI_Wait,
 *           MPI_Allreduce
 *
 * Behind each stage a rank leaves LOG_DIR/RANK.stage-STAGE, with how many calls of MPI_Test found
 * nothing. In the end it waits for LOG_DIR/stop. */
#include "counting.h"
#include "flag_file.h"
#include "invivo_regions.h"
#include "region_log.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define A_FRAME __attribute__((noinline, noclone))
#define UNSEEN __attribute__((no_instrument_function))

enum { TINIES = 10, TINY_NS = 20 * 1000, AGAIN = 3, DEEP = 2, PROBES = 3, TAG = 5 };

static int me, all;
static long polls;
static volatile long sink;

UNSEEN static void wait_for(int stage)
{
    char name[32];
    snprintf(name, sizeof name, "go-%d", stage);
    while (!flag_is_set(name))
        usleep(1000);
}

UNSEEN static void done(int stage)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.stage-%d.new", getenv("LOG_DIR"), me, stage);
    FILE *file = fopen(path, "w");
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/%d.stage-%d", getenv("LOG_DIR"), me, stage);
    if (!file || fprintf(file, "%ld\n", polls) < 0 || fclose(file) || rename(path, whole)) {
        perror(path);
        exit(70);
    }
}

UNSEEN static void exchange(void)
{
    int left = (me + all - 1) % all, right = (me + 1) % all;
    int out = me, in = -1, flag = 0, sum = 0;
    MPI_Request receive, send;
    CALL(MPI_Irecv)(&in, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &receive);
    for (int probe = 0; probe < PROBES; probe++)
        CALL(MPI_Iprobe)(left, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Isend)(&out, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &send);
    counting_sent(right, sizeof out);
    for (flag = 0; !flag; polls += !flag)
        CALL(MPI_Test)(&receive, &flag, MPI_STATUS_IGNORE);
    counting_received(left, sizeof in);
    CALL(MPI_Wait)(&send, MPI_STATUS_IGNORE);
    CALL(MPI_Allreduce)(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (in != left || sum != all * (all - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

A_FRAME static void tiny(void)
{
    region_log_compute(TINY_NS);
}

A_FRAME static void again(int below)
{
    if (below > 0)
        again(below - 1);
    sink++;
}

A_FRAME static void work(void)
{
    for (int i = 0; i < TINIES; i++)
        tiny();
    again(AGAIN);
    invivo_begin("phase");
    invivo_begin("step");
    sink++;
    invivo_end(NULL);
    invivo_end(NULL);
    exchange();
}

A_FRAME static void deep(int below, int stage, int rounds)
{
    if (below > 0) {
        deep(below - 1, stage, rounds);
    } else {
        wait_for(stage);
        for (int round = 0; round < rounds; round++)
            work();
    }
    sink++;
}

A_FRAME static void stage(int number, int rounds)
{
    invivo_begin("around");
    deep(DEEP, number, rounds);
    invivo_end("around");
    sink++;
}

UNSEEN int main(int argc, char **argv)
{
    int stages = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 10;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &me);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &all);
    for (int number = 0; number < stages; number++) {
        polls = 0;
        stage(number, rounds);
        done(number);
    }
    region_log_wait(me);
    CALL(MPI_Finalize)();
    counting_write(me);
    puts("done");
    return 0;
}
