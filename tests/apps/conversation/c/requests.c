/* Non-blocking and persistent communication, completed in every way. */
#include "conversation.h"

#include <stdlib.h>

void nonblocking(void)
{
    int out[2][200], in[2][200];
    MPI_Request requests[4];
    fill(out[0], 200, me.rank, 5);
    fill(out[1], 200, me.rank, 6);
    CALL(MPI_Irecv)(in[0], 200, MPI_INT, me.left, 5, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv)(in[1], 200, MPI_INT, me.right, 6, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend)(out[0], 200, MPI_INT, me.right, 5, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend)(out[1], 200, MPI_INT, me.left, 6, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall)(4, requests, MPI_STATUSES_IGNORE);
    counting_sent(me.right, 800);
    counting_sent(me.left, 800);
    counting_received(me.left, 800);
    counting_received(me.right, 800);
    digest(in[0], 200);
    digest(in[1], 200);

    /* Large enough for every rendezvous protocol. */
    enum { LARGE = 100000 };
    int *large_out = malloc(LARGE * sizeof(int)), *large_in = malloc(LARGE * sizeof(int));
    fill(large_out, LARGE, me.rank, 7);
    CALL(MPI_Irecv)(large_in, LARGE, MPI_INT, me.left, 7, me.dup, &requests[0]);
    CALL(MPI_Issend)(large_out, LARGE, MPI_INT, me.right, 7, me.dup, &requests[1]);
    CALL(MPI_Wait)(&requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Wait)(&requests[1], MPI_STATUS_IGNORE);
    counting_sent(me.right, 4L * LARGE);
    counting_received(me.left, 4L * LARGE);
    for (int i = 0; i < LARGE; i += 1000)
        digest(&large_in[i], 1);
    free(large_out);
    free(large_in);
    tell("nonblocking");
}

enum { WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, METHODS, MESSAGES = 3 };

/* Completes three receives by one of the methods. */
static void complete(int method, MPI_Request *requests)
{
    MPI_Status status, statuses[MESSAGES];
    int index, flag, count, indices[MESSAGES], done = 0;
    while (done < MESSAGES) {
        switch (method) {
        case WAITANY:
            CALL(MPI_Waitany)(MESSAGES, requests, &index, &status);
            done++;
            break;
        case WAITSOME:
            CALL(MPI_Waitsome)(MESSAGES, requests, &count, indices, MPI_STATUSES_IGNORE);
            done += count;
            break;
        case TEST:
            CALL(MPI_Test)(&requests[done], &flag, &status);
            done += flag ? 1 : 0;
            break;
        case TESTALL:
            CALL(MPI_Testall)(MESSAGES, requests, &flag, statuses);
            done += flag ? MESSAGES : 0;
            break;
        case TESTANY:
            CALL(MPI_Testany)(MESSAGES, requests, &index, &flag, MPI_STATUS_IGNORE);
            done += flag ? 1 : 0;
            break;
        default:
            CALL(MPI_Testsome)(MESSAGES, requests, &count, indices, statuses);
            done += count;
        }
        if (method >= TEST && done < MESSAGES)
            nap();
    }
}

void completion(void)
{
    for (int method = WAITANY; method < METHODS; method++) {
        int out[MESSAGES][12], in[MESSAGES][12];
        MPI_Request receives[MESSAGES], sends[MESSAGES];
        for (int k = 0; k < MESSAGES; k++)
            CALL(MPI_Irecv)(in[k], 12, MPI_INT, me.left, 20 + 3 * method + k, me.dup, &receives[k]);
        for (int k = 0; k < MESSAGES; k++) {
            fill(out[k], 10 + k, me.rank, 20 + 3 * method + k);
            CALL(MPI_Isend)(out[k], 10 + k, MPI_INT, me.right, 20 + 3 * method + k, me.dup,
                            &sends[k]);
            counting_sent(me.right, 4 * (10 + k));
        }
        complete(method, receives);
        CALL(MPI_Waitall)(MESSAGES, sends, MPI_STATUSES_IGNORE);
        for (int k = 0; k < MESSAGES; k++) {
            counting_received(me.left, 4 * (10 + k));
            digest(in[k], 10 + k);
        }
    }
    /* Nothing to wait for. */
    MPI_Request nothing = MPI_REQUEST_NULL;
    CALL(MPI_Wait)(&nothing, MPI_STATUS_IGNORE);
    CALL(MPI_Waitall)(1, &nothing, MPI_STATUSES_IGNORE);
    tell("completion");
}

void persistent(void)
{
    int out[30], in[30];
    MPI_Request requests[2], wildcard;
    CALL(MPI_Recv_init)(in, 30, MPI_INT, me.left, 40, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Send_init)(out, 30, MPI_INT, me.right, 40, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        fill(out, 30, me.rank, 40 + round);
        if (round < 2) {
            CALL(MPI_Startall)(2, requests);
            CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
        } else {
            CALL(MPI_Start)(&requests[0]);
            CALL(MPI_Start)(&requests[1]);
            CALL(MPI_Wait)(&requests[0], MPI_STATUS_IGNORE);
            CALL(MPI_Wait)(&requests[1], MPI_STATUS_IGNORE);
        }
        counting_sent(me.right, 120);
        counting_received(me.left, 120);
        digest(in, 30);
    }
    CALL(MPI_Request_free)(&requests[0]);
    CALL(MPI_Request_free)(&requests[1]);

    MPI_Status status;
    CALL(MPI_Recv_init)(in, 30, MPI_INT, MPI_ANY_SOURCE, 44, MPI_COMM_WORLD, &wildcard);
    CALL(MPI_Start)(&wildcard);
    fill(out, 10, me.rank, 44);
    CALL(MPI_Send)(out, 10, MPI_INT, me.right, 44, MPI_COMM_WORLD);
    CALL(MPI_Wait)(&wildcard, &status);
    CALL(MPI_Request_free)(&wildcard);
    counting_sent(me.right, 40);
    counting_received(status.MPI_SOURCE, 40);
    digest(in, 10);
    tell("persistent");
}

void cancelled(void)
{
    int in[4], flag;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Irecv)(in, 4, MPI_INT, me.left, 120, MPI_COMM_WORLD, &request);
    CALL(MPI_Cancel)(&request);
    CALL(MPI_Wait)(&request, &status);
    CALL(MPI_Test_cancelled)(&status, &flag);
    flag = flag ? 1 : 0;
    digest(&flag, 1);
    tell("cancelled");
}

void freed(void)
{
    int out[9], in[9];
    MPI_Request request;
    fill(out, 9, me.rank, 126);
    CALL(MPI_Isend)(out, 9, MPI_INT, me.right, 126, MPI_COMM_WORLD, &request);
    CALL(MPI_Request_free)(&request);
    CALL(MPI_Recv)(in, 9, MPI_INT, me.left, 126, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counting_sent(me.right, 36);
    counting_received(me.left, 36);
    digest(in, 9);
    /* Nobody leaves, and nobody's buffer goes away, before every message has arrived. */
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    tell("freed");
}
