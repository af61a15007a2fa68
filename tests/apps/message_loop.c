/* Communicates as fast as it can until LOG_DIR/stop appears: `message_loop [SECONDS]`.
 *
 * Messages in a ring and a reduction, every value checked, for SECONDS at most; rank 0 decides
 * when it ends. The output does not depend on how far it came. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { BATCH = 100, WORDS = 16 };
    int rank, size, go_on = 1, wrong = 0, round = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 300;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double begun = CALL(MPI_Wtime)();
    while (go_on) {
        for (int i = 0; i < BATCH; i++, round++) {
            int out[WORDS], in[WORDS];
            MPI_Request requests[2];
            for (int k = 0; k < WORDS; k++)
                out[k] = rank * 7 + round + k;
            CALL(MPI_Irecv)(in, WORDS, MPI_INT, left, round % 100, MPI_COMM_WORLD, &requests[0]);
            CALL(MPI_Isend)(out, WORDS, MPI_INT, right, round % 100, MPI_COMM_WORLD, &requests[1]);
            CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
            counting_sent(right, sizeof out);
            counting_received(left, sizeof in);
            for (int k = 0; k < WORDS; k++)
                wrong += in[k] != left * 7 + round + k;
        }
        int sum;
        CALL(MPI_Allreduce)(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != round * size;
        go_on = CALL(MPI_Wtime)() - begun < seconds && !flag_is_set("stop");
        CALL(MPI_Bcast)(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return wrong ? 1 : 0;
}
