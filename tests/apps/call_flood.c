/* Makes more MPI calls than a buffer can hold: `call_flood ROUNDS CALLS REST_US`.
 *
 * Each of ROUNDS rounds has CALLS sends to MPI_PROC_NULL, each with other arguments, now and then
 * a longer exchange with itself, and a barrier at its end. A rest behind each round lets the tool
 * place keep up. In the end it leaves LOG_DIR/RANK.done, and waits outside of MPI until
 * LOG_DIR/end appears. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void rest(long us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    enum { LONG = 1 << 18, EXCHANGE_EVERY = 997 };
    static char out[LONG], in[LONG];
    int rank, wrong = 0;
    long rounds = argc > 1 ? atol(argv[1]) : 10, calls = argc > 2 ? atol(argv[2]) : 1000;
    long rest_us = argc > 3 ? atol(argv[3]) : 0;
    unsigned state = 1;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < calls; i++) {
            state = state * 1664525u + 1013904223u;
            if (i % EXCHANGE_EVERY) {
                /* As long as a record gets; nobody looks at the bytes. */
                int bytes = (int)(state >> 2), tag = (int)(state * 2654435761u >> 6);
                CALL(MPI_Send)(out, bytes, MPI_BYTE, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
                continue;
            }
            /* From 1 KiB to 256 KiB: calls of many durations. */
            int bytes = 1024 << (state >> 16) % 9;
            memset(out, (int)round, (size_t)bytes);
            CALL(MPI_Sendrecv)(out, bytes, MPI_BYTE, rank, 1, in, bytes, MPI_BYTE, rank, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += in[bytes - 1] != (char)round;
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (rest_us)
            rest(rest_us);
    }
    printf("rank %d: %ld rounds of %ld calls, %d wrong\n", rank, rounds, calls, wrong);
    fflush(stdout);
    const char *logs = getenv("LOG_DIR");
    if (logs) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%d.done", logs, rank);
        FILE *file = fopen(name, "w");
        if (file)
            fclose(file);
        snprintf(name, sizeof name, "%s/end", logs);
        while (access(name, F_OK))
            rest(10000);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return wrong ? 1 : 0;
}
