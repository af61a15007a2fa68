// Receives that name no sender, on several communicators, with a status and without. What they
// yield is put in the senders' order before it is digested.
#include "conversation.hpp"

#include <map>

using BySender = std::map<int, Numbers>;

static void digest_in_order(const BySender &heard)
{
    for (const auto &[source, numbers] : heard)
        digest(numbers);
}

// By status: the sender and the tag are read from it.
static void with_status(const Cast &me)
{
    CALL(MPI_Barrier)(me.dup.get());
    if (me.rank > 0) {
        Numbers out = message(me.rank, me.rank, 50 + me.rank);
        CALL(MPI_Send)(out.data(), me.rank, MPI_INT, 0, 50 + me.rank, me.dup.get());
        counting_sent(0, 4 * me.rank);
        return;
    }
    BySender heard;
    for (int i = 1; i < me.size; i++) {
        MPI_Status status;
        int count;
        Numbers in(64);
        CALL(MPI_Recv)(in.data(), 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, me.dup.get(), &status);
        CALL(MPI_Get_count)(&status, MPI_INT, &count);
        in.resize(count);
        for (int &number : in)
            number += status.MPI_TAG;
        counting_received(status.MPI_SOURCE, 4 * count);
        heard[status.MPI_SOURCE] = in;
    }
    digest_in_order(heard);
}

// Without: the sender is known by the message's first number.
static Numbers signed_message(const Cast &me, int tag)
{
    Numbers out = message(5, me.rank, tag);
    out[0] = me.rank;
    return out;
}

static void without_status(const Cast &me)
{
    CALL(MPI_Barrier)(me.dup.get());
    if (me.rank > 0) {
        CALL(MPI_Send)(signed_message(me, 60).data(), 5, MPI_INT, 0, 60, me.dup.get());
        counting_sent(0, 20);
        return;
    }
    BySender heard;
    for (int i = 1; i < me.size; i++) {
        Numbers in(5);
        CALL(MPI_Recv)(in.data(), 5, MPI_INT, MPI_ANY_SOURCE, 60, me.dup.get(), MPI_STATUS_IGNORE);
        counting_received(in[0], 20);
        heard[in[0]] = in;
    }
    digest_in_order(heard);
}

static void non_blocking(const Cast &me)
{
    CALL(MPI_Barrier)(me.dup.get());
    if (me.rank > 0) {
        Numbers out = signed_message(me, 70);
        MPI_Request request;
        CALL(MPI_Isend)(out.data(), 5, MPI_INT, 0, 70, me.dup.get(), &request);
        CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
        counting_sent(0, 20);
        return;
    }
    std::vector<Numbers> raw(me.size - 1, Numbers(5));
    std::vector<MPI_Request> requests(me.size - 1);
    for (int i = 0; i < me.size - 1; i++)
        CALL(MPI_Irecv)(raw[i].data(), 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, me.dup.get(),
                        &requests[i]);
    CALL(MPI_Waitall)(me.size - 1, requests.data(), MPI_STATUSES_IGNORE);
    BySender heard;
    for (const Numbers &in : raw) {
        counting_received(in[0], 20);
        heard[in[0]] = in;
    }
    digest_in_order(heard);
}

// On a communicator that numbers the ranks in another order than the world.
static void in_the_half(const Cast &me)
{
    CALL(MPI_Barrier)(me.half.get());
    if (me.half_rank > 0) {
        Numbers out = message(6, me.rank, 80);
        CALL(MPI_Send)(out.data(), 6, MPI_INT, 0, 80, me.half.get());
        counting_sent(me.world_of_half(me.parity, 0), 24);
        return;
    }
    BySender heard;
    for (int i = 1; i < me.half_size; i++) {
        MPI_Status status;
        Numbers in(6);
        CALL(MPI_Recv)(in.data(), 6, MPI_INT, MPI_ANY_SOURCE, 80, me.half.get(), &status);
        counting_received(me.world_of_half(me.parity, status.MPI_SOURCE), 24);
        heard[status.MPI_SOURCE] = in;
    }
    digest_in_order(heard);
}

void wildcard(const Cast &me)
{
    with_status(me);
    without_status(me);
    non_blocking(me);
    in_the_half(me);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    tell("wildcard");
}
