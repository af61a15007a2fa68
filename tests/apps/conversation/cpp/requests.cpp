// Non-blocking and persistent communication, completed in every way.
#include "conversation.hpp"

#include <array>

using Requests = std::array<MPI_Request, 3>;

void nonblocking(const Cast &me)
{
    const Numbers to_right = message(200, me.rank, 5), to_left = message(200, me.rank, 6);
    Numbers from_left(200), from_right(200);
    MPI_Request requests[4];
    CALL(MPI_Irecv)(from_left.data(), 200, MPI_INT, me.left, 5, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Irecv)(from_right.data(), 200, MPI_INT, me.right, 6, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend)(to_right.data(), 200, MPI_INT, me.right, 5, MPI_COMM_WORLD, &requests[2]);
    CALL(MPI_Isend)(to_left.data(), 200, MPI_INT, me.left, 6, MPI_COMM_WORLD, &requests[3]);
    CALL(MPI_Waitall)(4, requests, MPI_STATUSES_IGNORE);
    for (int peer : {me.left, me.right}) {
        counting_sent(peer, 800);
        counting_received(peer, 800);
    }
    digest(from_left);
    digest(from_right);

    // Large enough for every rendezvous protocol.
    const int large = 100000;
    const Numbers out = message(large, me.rank, 7);
    Numbers in(large);
    CALL(MPI_Irecv)(in.data(), large, MPI_INT, me.left, 7, me.dup.get(), &requests[0]);
    CALL(MPI_Issend)(out.data(), large, MPI_INT, me.right, 7, me.dup.get(), &requests[1]);
    CALL(MPI_Wait)(&requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Wait)(&requests[1], MPI_STATUS_IGNORE);
    counting_sent(me.right, 4L * large);
    counting_received(me.left, 4L * large);
    for (int i = 0; i < large; i += 1000)
        digest({in[i]});
    tell("nonblocking");
}

// Each completes some of three receives and says how many.

static int waitany(Requests &requests, int)
{
    int index;
    MPI_Status status;
    CALL(MPI_Waitany)(3, requests.data(), &index, &status);
    return 1;
}

static int waitsome(Requests &requests, int)
{
    int count, indices[3];
    CALL(MPI_Waitsome)(3, requests.data(), &count, indices, MPI_STATUSES_IGNORE);
    return count;
}

static int test(Requests &requests, int done)
{
    int flag;
    MPI_Status status;
    CALL(MPI_Test)(&requests[done], &flag, &status);
    return flag ? 1 : 0;
}

static int testall(Requests &requests, int)
{
    int flag;
    MPI_Status statuses[3];
    CALL(MPI_Testall)(3, requests.data(), &flag, statuses);
    return flag ? 3 : 0;
}

static int testany(Requests &requests, int)
{
    int index, flag;
    CALL(MPI_Testany)(3, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
    return flag ? 1 : 0;
}

static int testsome(Requests &requests, int)
{
    int count, indices[3];
    MPI_Status statuses[3];
    CALL(MPI_Testsome)(3, requests.data(), &count, indices, statuses);
    return count;
}

void completion(const Cast &me)
{
    int tag = 20;
    for (auto method : {waitany, waitsome, test, testall, testany, testsome}) {
        Numbers out[3], in[3];
        Requests receives, sends;
        for (int k = 0; k < 3; k++) {
            in[k].resize(10 + k);
            CALL(MPI_Irecv)(in[k].data(), 10 + k, MPI_INT, me.left, tag + k, me.dup.get(),
                            &receives[k]);
        }
        for (int k = 0; k < 3; k++) {
            out[k] = message(10 + k, me.rank, tag + k);
            CALL(MPI_Isend)(out[k].data(), 10 + k, MPI_INT, me.right, tag + k, me.dup.get(),
                            &sends[k]);
            counting_sent(me.right, 4 * (10 + k));
        }
        for (int done = 0; done < 3;) {
            int more = method(receives, done);
            done += more;
            if (more == 0)
                nap();
        }
        CALL(MPI_Waitall)(3, sends.data(), MPI_STATUSES_IGNORE);
        for (int k = 0; k < 3; k++) {
            counting_received(me.left, 4 * (10 + k));
            digest(in[k]);
        }
        tag += 3;
    }
    // Nothing to wait for.
    MPI_Request nothing = MPI_REQUEST_NULL;
    CALL(MPI_Wait)(&nothing, MPI_STATUS_IGNORE);
    CALL(MPI_Waitall)(1, &nothing, MPI_STATUSES_IGNORE);
    tell("completion");
}

void persistent(const Cast &me)
{
    Numbers out(30), in(30);
    MPI_Request requests[2], anybody;
    CALL(MPI_Recv_init)(in.data(), 30, MPI_INT, me.left, 40, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Send_init)(out.data(), 30, MPI_INT, me.right, 40, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        const Numbers next = message(30, me.rank, 40 + round);
        std::copy(next.begin(), next.end(), out.begin());
        if (round < 2) {
            CALL(MPI_Startall)(2, requests);
            CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
        } else {
            for (MPI_Request &request : requests)
                CALL(MPI_Start)(&request);
            for (MPI_Request &request : requests)
                CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
        }
        counting_sent(me.right, 120);
        counting_received(me.left, 120);
        digest(in);
    }
    for (MPI_Request &request : requests)
        CALL(MPI_Request_free)(&request);

    MPI_Status status;
    const Numbers ten = message(10, me.rank, 44);
    CALL(MPI_Recv_init)(in.data(), 30, MPI_INT, MPI_ANY_SOURCE, 44, MPI_COMM_WORLD, &anybody);
    CALL(MPI_Start)(&anybody);
    CALL(MPI_Send)(ten.data(), 10, MPI_INT, me.right, 44, MPI_COMM_WORLD);
    CALL(MPI_Wait)(&anybody, &status);
    CALL(MPI_Request_free)(&anybody);
    counting_sent(me.right, 40);
    counting_received(status.MPI_SOURCE, 40);
    in.resize(10);
    digest(in);
    tell("persistent");
}

void cancelled(const Cast &me)
{
    Numbers in(4);
    int flag;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Irecv)(in.data(), 4, MPI_INT, me.left, 120, MPI_COMM_WORLD, &request);
    CALL(MPI_Cancel)(&request);
    CALL(MPI_Wait)(&request, &status);
    CALL(MPI_Test_cancelled)(&status, &flag);
    digest({flag ? 1 : 0});
    tell("cancelled");
}

void freed(const Cast &me)
{
    const Numbers out = message(9, me.rank, 126);
    Numbers in(9);
    MPI_Request request;
    CALL(MPI_Isend)(out.data(), 9, MPI_INT, me.right, 126, MPI_COMM_WORLD, &request);
    CALL(MPI_Request_free)(&request);
    CALL(MPI_Recv)(in.data(), 9, MPI_INT, me.left, 126, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counting_sent(me.right, 36);
    counting_received(me.left, 36);
    digest(in);
    // Nobody leaves, and nobody's buffer goes away, before every message has arrived.
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    tell("freed");
}
