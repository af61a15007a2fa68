/* Messages whose receiver comes late: `late_receiver [ROUNDS]`.
 *
 * The pairs are ranks R and R + SIZE / 2; the first sends. In each round it sends a long message to a
 * receive that is posted late, then a short one, synchronously, to one that is posted late and
 * completed later, then a short one that leaves without its receiver, then a long one that it waits for
 * in MPI_Wait, then two for which it waits in one MPI_Waitall. Each rank logs its calls and then leaves LOG_DIR/RANK.done. Then it waits, outside
 * of MPI, until LOG_DIR/stop appears. */
#include "call_log.h"
#include "flag_file.h"

#include <mpi.h>
#include <unistd.h>

enum { LATE_US = 20000, LONG = 1 << 20 };

static char buffer[LONG];

static void note(const char *what, int rank)
{
    FILE *file = fopen(log_path(what, rank), "w");
    if (!file)
        exit(70);
    fclose(file);
}

int main(int argc, char **argv)
{
    int rank, size, value = 1;
    MPI_Request request, requests[2];
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    int half = size / 2, peer = (rank + half) % size, sends = rank < half;
    for (int round = 0; round < rounds; round++) {
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (sends) {
            LOGGED(MPI_Send, LONG, buffer, LONG, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        } else {
            usleep(LATE_US);
            LOGGED(MPI_Recv, LONG, buffer, LONG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (sends) {
            LOGGED(MPI_Ssend, 4, &value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
        } else {
            usleep(LATE_US);
            LOGGED(MPI_Irecv, 4, &value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
            usleep(LATE_US);
            CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (sends) {
            CALL(MPI_Send)(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
        } else {
            usleep(LATE_US);
            CALL(MPI_Recv)(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (sends) {
            CALL(MPI_Isend)(buffer, LONG, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request);
            LOGGED(MPI_Wait, 0, &request, MPI_STATUS_IGNORE);
        } else {
            usleep(LATE_US);
            LOGGED(MPI_Recv, LONG, buffer, LONG, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (sends) {
            for (int at = 0; at < 2; at++)
                CALL(MPI_Isend)(buffer, LONG, MPI_BYTE, peer, 5 + at, MPI_COMM_WORLD, &requests[at]);
            LOGGED(MPI_Waitall, 0, 2, requests, MPI_STATUSES_IGNORE);
        } else {
            usleep(LATE_US);
            CALL(MPI_Recv)(buffer, LONG, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(LATE_US);
            LOGGED(MPI_Recv, LONG, buffer, LONG, MPI_BYTE, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int round = 0; round < rounds; round++) {
        for (int message = 0; message < 6; message++) {
            int bytes = message == 1 || message == 2 ? 4 : LONG;
            if (sends)
                counting_sent(peer, bytes);
            else
                counting_received(peer, bytes);
        }
    }
    call_log_write(rank);
    note("%d.done", rank);
    while (!flag_is_set("stop"))
        usleep(10000);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}
