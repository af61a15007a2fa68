/* Collective communication, blocking on two communicators and non-blocking on a third. */
#include "conversation.h"

enum { RANKS_MAX = 64 };

static void on(MPI_Comm comm)
{
    int size, rank, counts[RANKS_MAX], offsets[RANKS_MAX], total = 0;
    int out[RANKS_MAX * 2], in[RANKS_MAX * RANKS_MAX];
    CALL(MPI_Comm_size)(comm, &size);
    CALL(MPI_Comm_rank)(comm, &rank);
    /* Rank i contributes i + 1 numbers where contributions differ. */
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        offsets[i] = total;
        total += counts[i];
    }

    CALL(MPI_Barrier)(comm);
    fill(in, 10, rank, 200);
    CALL(MPI_Bcast)(in, 10, MPI_INT, 0, comm);
    digest(in, 10);

    fill(out, 6, rank, 201);
    fill(in, 6, 0, 0);
    CALL(MPI_Reduce)(out, in, 6, MPI_INT, MPI_SUM, size - 1, comm);
    digest(in, 6);
    CALL(MPI_Allreduce)(out, in, 6, MPI_INT, MPI_MAX, comm);
    digest(in, 6);
    CALL(MPI_Allreduce)(MPI_IN_PLACE, out, 6, MPI_INT, MPI_SUM, comm);
    digest(out, 6);

    fill(out, 2 * size, rank, 202);
    fill(in, 2 * size, 0, 0);
    CALL(MPI_Gather)(out, 2, MPI_INT, in, 2, MPI_INT, 0, comm);
    digest(in, 2 * size);
    fill(in, total, 0, 0);
    CALL(MPI_Gatherv)(out, rank + 1, MPI_INT, in, counts, offsets, MPI_INT, 0, comm);
    digest(in, total);
    CALL(MPI_Scatter)(out, 2, MPI_INT, in, 2, MPI_INT, 0, comm);
    digest(in, 2);
    fill(out, total, rank, 203);
    CALL(MPI_Scatterv)(out, counts, offsets, MPI_INT, in, rank + 1, MPI_INT, size - 1, comm);
    digest(in, rank + 1);

    fill(out, size + 2, rank, 207);
    CALL(MPI_Allgather)(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    digest(in, 2 * size);
    CALL(MPI_Allgatherv)(out, rank + 1, MPI_INT, in, counts, offsets, MPI_INT, comm);
    digest(in, total);

    fill(out, 2 * size, rank, 204);
    CALL(MPI_Alltoall)(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    digest(in, 2 * size);
    /* To rank i go i + 1 numbers, so from everybody come rank + 1. */
    int coming[RANKS_MAX], places[RANKS_MAX];
    for (int i = 0; i < size; i++) {
        coming[i] = rank + 1;
        places[i] = i * (rank + 1);
    }
    fill(out, total, rank, 205);
    CALL(MPI_Alltoallv)(out, counts, offsets, MPI_INT, in, coming, places, MPI_INT, comm);
    digest(in, size * (rank + 1));

    fill(out, 2 * size, rank, 206);
    CALL(MPI_Reduce_scatter_block)(out, in, 2, MPI_INT, MPI_SUM, comm);
    digest(in, 2);
    fill(out, 4, rank, 208);
    CALL(MPI_Scan)(out, in, 4, MPI_INT, MPI_SUM, comm);
    digest(in, 4);
    fill(in, 4, 0, 0);
    CALL(MPI_Exscan)(out, in, 4, MPI_INT, MPI_SUM, comm);
    if (rank > 0)
        digest(in, 4);
}

void collectives(void)
{
    on(MPI_COMM_WORLD);
    on(me.half);
    on(MPI_COMM_SELF);
    tell("collectives");
}

/* Collectives and messages under way together, completed by one call. */
void nonblocking_collectives(void)
{
    int values[5], sum[5], spread[5], all[RANKS_MAX * 2], out[5], in[5];
    MPI_Request requests[6];
    fill(values, 5, me.rank, 210);
    fill(spread, 5, me.rank, 211);
    fill(out, 5, me.rank, 212);
    CALL(MPI_Ibarrier)(me.dup, &requests[0]);
    CALL(MPI_Iallreduce)(values, sum, 5, MPI_INT, MPI_SUM, me.dup, &requests[1]);
    CALL(MPI_Ibcast)(spread, 5, MPI_INT, me.size - 1, me.dup, &requests[2]);
    CALL(MPI_Iallgather)(values, 2, MPI_INT, all, 2, MPI_INT, me.dup, &requests[3]);
    CALL(MPI_Irecv)(in, 5, MPI_INT, me.left, 212, me.dup, &requests[4]);
    CALL(MPI_Isend)(out, 5, MPI_INT, me.right, 212, me.dup, &requests[5]);
    CALL(MPI_Waitall)(6, requests, MPI_STATUSES_IGNORE);
    counting_sent(me.right, 20);
    counting_received(me.left, 20);
    digest(sum, 5);
    digest(spread, 5);
    digest(all, 2 * me.size);
    digest(in, 5);
    tell("nonblocking_collectives");
}
