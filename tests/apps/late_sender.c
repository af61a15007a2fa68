/* Messages of which one side is late by construction: `late_sender [ROUNDS]`.
 *
 * The pairs are ranks R and R + SIZE / 2. In each round the sender is late, then the receiver is,
 * then two receives are completed in another order than they were posted in. Each rank logs its
 * calls and then leaves LOG_DIR/RANK.done. Then it waits, outside of MPI, until LOG_DIR/stop
 * appears. */
#include "call_log.h"

#include <mpi.h>
#include <unistd.h>

enum { LATE_US = 20000 };

static void note(const char *what, int rank)
{
    FILE *file = fopen(log_path(what, rank), "w");
    if (!file)
        exit(70);
    fclose(file);
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    int half = size / 2, peer = (rank + half) % size, sends = rank < half;
    /* Peers by other numbers than the world's. */
    MPI_Comm reversed;
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, 0, size - rank, &reversed);
    int reversed_peer = size - 1 - peer;
    for (int round = 0; round < rounds; round++) {
        int value = round, got[2] = {-1, -1};
        MPI_Request requests[2];
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        if (sends) {
            usleep(LATE_US);
            LOGGED(MPI_Send, 4, &value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
        } else {
            LOGGED(MPI_Recv, 0, &got[0], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += got[0] != round;
        }
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        if (sends) {
            LOGGED(MPI_Send, 4, &value, 1, MPI_INT, reversed_peer, 2, reversed);
        } else {
            usleep(LATE_US);
            LOGGED(MPI_Recv, 0, &got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, reversed,
                   MPI_STATUS_IGNORE);
            wrong += got[0] != round;
        }
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        if (sends) {
            LOGGED(MPI_Send, 4, &value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
            value = -round;
            usleep(LATE_US);
            LOGGED(MPI_Send, 4, &value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
        } else {
            LOGGED(MPI_Irecv, 0, &got[0], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[0]);
            LOGGED(MPI_Irecv, 0, &got[1], 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                   &requests[1]);
            LOGGED(MPI_Wait, 0, &requests[1], MPI_STATUS_IGNORE);
            LOGGED(MPI_Wait, 0, &requests[0], MPI_STATUS_IGNORE);
            wrong += got[0] != round || got[1] != -round;
        }
    }
    for (int message = 0; message < 4 * rounds; message++) {
        if (sends)
            counting_sent(peer, 4);
        else
            counting_received(peer, 4);
    }
    call_log_write(rank);
    note("%d.done", rank);
    while (access(log_path("stop", 0), F_OK) != 0)
        usleep(10000);
    CALL(MPI_Comm_free)(&reversed);
    printf("rank %d: %d wrong\n", rank, wrong);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return wrong ? 1 : 0;
}
