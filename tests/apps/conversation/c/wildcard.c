/* Receives that name no sender, on several communicators, with a status and without. What they
 * yield is put in the senders' order before it is digested. */
#include "conversation.h"

#include <stdlib.h>

enum { RANKS_MAX = 64, WORDS = 64 };

/* By status: the sender and the tag are read from it. */
static void with_status(void)
{
    int out[WORDS], in[RANKS_MAX][WORDS];
    CALL(MPI_Barrier)(me.dup);
    if (me.rank > 0) {
        fill(out, me.rank, me.rank, 50 + me.rank);
        CALL(MPI_Send)(out, me.rank, MPI_INT, 0, 50 + me.rank, me.dup);
        counting_sent(0, 4 * me.rank);
        return;
    }
    for (int i = 1; i < me.size; i++) {
        MPI_Status status;
        int count;
        CALL(MPI_Recv)(out, WORDS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, me.dup, &status);
        CALL(MPI_Get_count)(&status, MPI_INT, &count);
        int source = status.MPI_SOURCE;
        for (int k = 0; k < count; k++)
            in[source][k] = out[k] + status.MPI_TAG;
        counting_received(source, 4 * count);
    }
    for (int source = 1; source < me.size; source++)
        digest(in[source], source);
}

/* Without: the sender is known by the message's first number. */
static void sort_in(int in[RANKS_MAX][5], const int *message)
{
    int source = message[0];
    for (int k = 0; k < 5; k++)
        in[source][k] = message[k];
    counting_received(source, 20);
}

static void without_status(void)
{
    int out[5], in[RANKS_MAX][5];
    CALL(MPI_Barrier)(me.dup);
    if (me.rank > 0) {
        fill(out, 5, me.rank, 60);
        out[0] = me.rank;
        CALL(MPI_Send)(out, 5, MPI_INT, 0, 60, me.dup);
        counting_sent(0, 20);
        return;
    }
    for (int i = 1; i < me.size; i++) {
        CALL(MPI_Recv)(out, 5, MPI_INT, MPI_ANY_SOURCE, 60, me.dup, MPI_STATUS_IGNORE);
        sort_in(in, out);
    }
    for (int source = 1; source < me.size; source++)
        digest(in[source], 5);
}

static void non_blocking(void)
{
    int out[5], raw[RANKS_MAX][5], in[RANKS_MAX][5];
    MPI_Request requests[RANKS_MAX];
    CALL(MPI_Barrier)(me.dup);
    if (me.rank > 0) {
        fill(out, 5, me.rank, 70);
        out[0] = me.rank;
        CALL(MPI_Isend)(out, 5, MPI_INT, 0, 70, me.dup, &requests[0]);
        CALL(MPI_Wait)(&requests[0], MPI_STATUS_IGNORE);
        counting_sent(0, 20);
        return;
    }
    for (int i = 1; i < me.size; i++)
        CALL(MPI_Irecv)(raw[i], 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, me.dup, &requests[i]);
    CALL(MPI_Waitall)(me.size - 1, requests + 1, MPI_STATUSES_IGNORE);
    for (int i = 1; i < me.size; i++)
        sort_in(in, raw[i]);
    for (int source = 1; source < me.size; source++)
        digest(in[source], 5);
}

/* On a communicator that numbers the ranks in another order than the world. */
static void in_the_half(void)
{
    int out[6], in[RANKS_MAX][6];
    CALL(MPI_Barrier)(me.half);
    if (me.half_rank > 0) {
        fill(out, 6, me.rank, 80);
        CALL(MPI_Send)(out, 6, MPI_INT, 0, 80, me.half);
        counting_sent(world_of_half(me.parity, 0), 24);
        return;
    }
    for (int i = 1; i < me.half_size; i++) {
        MPI_Status status;
        CALL(MPI_Recv)(out, 6, MPI_INT, MPI_ANY_SOURCE, 80, me.half, &status);
        for (int k = 0; k < 6; k++)
            in[status.MPI_SOURCE][k] = out[k];
        counting_received(world_of_half(me.parity, status.MPI_SOURCE), 24);
    }
    for (int source = 1; source < me.half_size; source++)
        digest(in[source], 6);
}

void wildcard(void)
{
    with_status();
    without_status();
    non_blocking();
    in_the_half();
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    tell("wildcard");
}
