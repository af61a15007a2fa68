// Collective communication, blocking on three communicators and non-blocking on a fourth.
#include "conversation.hpp"

static void on(MPI_Comm comm)
{
    int size, rank;
    CALL(MPI_Comm_size)(comm, &size);
    CALL(MPI_Comm_rank)(comm, &rank);
    // Rank i contributes i + 1 numbers where contributions differ.
    Numbers counts, offsets;
    int total = 0;
    for (int i = 0; i < size; i++) {
        counts.push_back(i + 1);
        offsets.push_back(total);
        total += i + 1;
    }

    CALL(MPI_Barrier)(comm);
    Numbers in = message(10, rank, 200);
    CALL(MPI_Bcast)(in.data(), 10, MPI_INT, 0, comm);
    digest(in);

    Numbers out = message(6, rank, 201);
    in = message(6, 0, 0);
    CALL(MPI_Reduce)(out.data(), in.data(), 6, MPI_INT, MPI_SUM, size - 1, comm);
    digest(in);
    CALL(MPI_Allreduce)(out.data(), in.data(), 6, MPI_INT, MPI_MAX, comm);
    digest(in);
    CALL(MPI_Allreduce)(MPI_IN_PLACE, out.data(), 6, MPI_INT, MPI_SUM, comm);
    digest(out);

    out = message(2 * size, rank, 202);
    in = message(2 * size, 0, 0);
    CALL(MPI_Gather)(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, 0, comm);
    digest(in);
    in = message(total, 0, 0);
    CALL(MPI_Gatherv)(out.data(), rank + 1, MPI_INT, in.data(), counts.data(), offsets.data(),
                      MPI_INT, 0, comm);
    digest(in);
    in.resize(2);
    CALL(MPI_Scatter)(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, 0, comm);
    digest(in);
    out = message(total, rank, 203);
    in.resize(rank + 1);
    CALL(MPI_Scatterv)(out.data(), counts.data(), offsets.data(), MPI_INT, in.data(), rank + 1,
                       MPI_INT, size - 1, comm);
    digest(in);

    out = message(size + 2, rank, 207);
    in.resize(2 * size);
    CALL(MPI_Allgather)(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, comm);
    digest(in);
    in.resize(total);
    CALL(MPI_Allgatherv)(out.data(), rank + 1, MPI_INT, in.data(), counts.data(), offsets.data(),
                         MPI_INT, comm);
    digest(in);

    out = message(2 * size, rank, 204);
    in.resize(2 * size);
    CALL(MPI_Alltoall)(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, comm);
    digest(in);
    // To rank i go i + 1 numbers, so from everybody come this rank + 1.
    Numbers coming(size, rank + 1), places;
    for (int i = 0; i < size; i++)
        places.push_back(i * (rank + 1));
    out = message(total, rank, 205);
    in.resize(size * (rank + 1));
    CALL(MPI_Alltoallv)(out.data(), counts.data(), offsets.data(), MPI_INT, in.data(),
                        coming.data(), places.data(), MPI_INT, comm);
    digest(in);

    out = message(2 * size, rank, 206);
    in.resize(2);
    CALL(MPI_Reduce_scatter_block)(out.data(), in.data(), 2, MPI_INT, MPI_SUM, comm);
    digest(in);
    out = message(4, rank, 208);
    in.resize(4);
    CALL(MPI_Scan)(out.data(), in.data(), 4, MPI_INT, MPI_SUM, comm);
    digest(in);
    in = message(4, 0, 0);
    CALL(MPI_Exscan)(out.data(), in.data(), 4, MPI_INT, MPI_SUM, comm);
    if (rank > 0)
        digest(in);
}

void collectives(const Cast &me)
{
    on(MPI_COMM_WORLD);
    on(me.half.get());
    on(MPI_COMM_SELF);
    tell("collectives");
}

// Collectives and messages under way together, completed by one call.
void nonblocking_collectives(const Cast &me)
{
    const Numbers values = message(5, me.rank, 210), out = message(5, me.rank, 212);
    Numbers spread = message(5, me.rank, 211), sum(5), all(2 * me.size), in(5);
    MPI_Comm comm = me.dup.get();
    MPI_Request requests[6];
    CALL(MPI_Ibarrier)(comm, &requests[0]);
    CALL(MPI_Iallreduce)(values.data(), sum.data(), 5, MPI_INT, MPI_SUM, comm, &requests[1]);
    CALL(MPI_Ibcast)(spread.data(), 5, MPI_INT, me.size - 1, comm, &requests[2]);
    CALL(MPI_Iallgather)(values.data(), 2, MPI_INT, all.data(), 2, MPI_INT, comm, &requests[3]);
    CALL(MPI_Irecv)(in.data(), 5, MPI_INT, me.left, 212, comm, &requests[4]);
    CALL(MPI_Isend)(out.data(), 5, MPI_INT, me.right, 212, comm, &requests[5]);
    CALL(MPI_Waitall)(6, requests, MPI_STATUSES_IGNORE);
    counting_sent(me.right, 20);
    counting_received(me.left, 20);
    digest(sum);
    digest(spread);
    digest(all);
    digest(in);
    tell("nonblocking_collectives");
}
