/* Communicates, computes and waits in rounds, and logs its calls: `logged_rounds [SECONDS]`.
 *
 * It ends when LOG_DIR/stop appears, or after SECONDS. Sizes of messages change from call to call,
 * so that a sum of bytes shows of which calls it is made. Until LOG_DIR/second appears it also
 * calls MPI_Scan and MPI_Ssend, never afterwards. The files LOG_DIR/RANK.begun and
 * LOG_DIR/RANK.second show how far a rank is. The output does not depend on how long it ran. */
#include "call_log.h"

#include <mpi.h>
#include <unistd.h>

enum { TRIPLES = 60, WORDS = 512 };

static void note(const char *what, int rank)
{
    FILE *file = fopen(log_path(what, rank), "w");
    if (!file)
        exit(70);
    fclose(file);
}

/* Some milliseconds of arithmetic. */
static double compute(int rank)
{
    double sum = 0;
    for (int i = 1; i < 1000000; i++)
        sum += 1.0 / ((double)i * i + rank);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    long seconds = argc > 1 ? atol(argv[1]) : 300;
    LOGGED(MPI_Init, 0, &argc, &argv);
    long begun = call_log_now();
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    note("%d.begun", rank);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double sum = 0;
    for (int round = 0, state = 0, noted = 0; state < 2; round++) {
        for (int i = 0; i < TRIPLES; i++) {
            int out[WORDS], in[WORDS], words = 1 + (round * TRIPLES + i) % WORDS;
            MPI_Request requests[2];
            for (int k = 0; k < words; k++)
                out[k] = rank * 7 + round + k;
            LOGGED(MPI_Irecv, 0, in, words, MPI_INT, left, i, MPI_COMM_WORLD, &requests[0]);
            LOGGED(MPI_Isend, 4 * words, out, words, MPI_INT, right, i, MPI_COMM_WORLD,
                   &requests[1]);
            LOGGED(MPI_Waitall, 0, 2, requests, MPI_STATUSES_IGNORE);
            counting_sent(right, 4 * words);
            counting_received(left, 4 * words);
            for (int k = 0; k < words; k++)
                wrong += in[k] != left * 7 + round + k;
        }
        sum += compute(rank);
        if (state == 0) {
            int up_to_me;
            LOGGED(MPI_Scan, 4, &rank, &up_to_me, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            wrong += up_to_me != rank * (rank + 1) / 2;
            if (rank % 2 == 0 && rank + 1 < size) {
                LOGGED(MPI_Ssend, 4, &rank, 1, MPI_INT, rank + 1, 1000, MPI_COMM_WORLD);
                counting_sent(rank + 1, 4);
            } else if (rank % 2 == 1) {
                int from;
                LOGGED(MPI_Recv, 0, &from, 1, MPI_INT, rank - 1, 1000, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
                counting_received(rank - 1, 4);
                wrong += from != rank - 1;
            }
        }
        /* Everybody waits for one. */
        if (round % size == rank)
            usleep(15000);
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        /* 0 first half, 1 second half, 2 the end. */
        if (rank == 0 && state == 0)
            state = access(log_path("second", 0), F_OK) == 0;
        if (rank == 0 && (access(log_path("stop", 0), F_OK) == 0 ||
                          call_log_now() - begun > seconds * 1000000000L))
            state = 2;
        LOGGED(MPI_Bcast, rank == 0 ? 4 : 0, &state, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (state == 1 && !noted) {
            note("%d.second", rank);
            noted = 1;
        }
    }
    printf("rank %d: %d wrong, %s\n", rank, wrong, sum > 0 ? "computed" : "idle");
    LOGGED(MPI_Finalize, 0);
    counting_write(rank);
    call_log_write(rank);
    return wrong ? 1 : 0;
}
