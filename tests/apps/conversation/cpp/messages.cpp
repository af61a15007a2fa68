// Blocking point-to-point communication: every send mode, probes, datatypes, nobody as a peer.
#include "conversation.hpp"

#include <cstddef>
#include <functional>

// A ring in which the even ranks send first, so that even a synchronous send ends.
static void pass_on(const Cast &me, int many, int tag, MPI_Comm comm,
                    const std::function<void(const Numbers &)> &send)
{
    Numbers out = message(many, me.rank, tag), in(many);
    if (me.rank % 2 == 0)
        send(out);
    CALL(MPI_Recv)(in.data(), many, MPI_INT, me.left, tag, comm, MPI_STATUS_IGNORE);
    if (me.rank % 2 == 1)
        send(out);
    counting_sent(me.right, 4 * many);
    counting_received(me.left, 4 * many);
    digest(in);
}

void blocking(const Cast &me)
{
    pass_on(me, 100, 1, MPI_COMM_WORLD, [&](const Numbers &out) {
        CALL(MPI_Send)(out.data(), 100, MPI_INT, me.right, 1, MPI_COMM_WORLD);
    });
    pass_on(me, 50, 2, me.dup.get(), [&](const Numbers &out) {
        CALL(MPI_Ssend)(out.data(), 50, MPI_INT, me.right, 2, me.dup.get());
    });

    std::vector<char> room(400 + MPI_BSEND_OVERHEAD);
    CALL(MPI_Buffer_attach)(room.data(), static_cast<int>(room.size()));
    pass_on(me, 25, 3, MPI_COMM_WORLD, [&](const Numbers &out) {
        CALL(MPI_Bsend)(out.data(), 25, MPI_INT, me.right, 3, MPI_COMM_WORLD);
    });
    void *detached;
    int bytes;
    CALL(MPI_Buffer_detach)(&detached, &bytes);

    Numbers out = message(10, me.rank, 4), in(10);
    MPI_Request request;
    CALL(MPI_Irecv)(in.data(), 10, MPI_INT, me.left, 4, MPI_COMM_WORLD, &request);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    CALL(MPI_Rsend)(out.data(), 10, MPI_INT, me.right, 4, MPI_COMM_WORLD);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    counting_sent(me.right, 40);
    counting_received(me.left, 40);
    digest(in);
    tell("blocking");
}

void sendrecv(const Cast &me)
{
    int member = me.merged.rank(), next = (member + 1) % me.size,
        previous = (member + me.size - 1) % me.size;
    Numbers out = message(20, me.rank, 90), in(20);
    CALL(MPI_Sendrecv)(out.data(), 20, MPI_INT, next, 90, in.data(), 20, MPI_INT, previous, 90,
                       me.merged.get(), MPI_STATUS_IGNORE);
    counting_sent(me.world_of_merged(next), 80);
    counting_received(me.world_of_merged(previous), 80);
    digest(in);

    Numbers both = message(15, me.rank, 91);
    CALL(MPI_Sendrecv_replace)(both.data(), 15, MPI_INT, me.right, 91, me.left, 91, me.dup.get(),
                               MPI_STATUS_IGNORE);
    counting_sent(me.right, 60);
    counting_received(me.left, 60);
    digest(both);

    int up = me.rank + 1 < me.size ? me.rank + 1 : MPI_PROC_NULL;
    int down = me.rank > 0 ? me.rank - 1 : MPI_PROC_NULL;
    MPI_Status status;
    out = message(10, me.rank, 92);
    in = message(10, 0, 0);
    CALL(MPI_Sendrecv)(out.data(), 10, MPI_INT, up, 92, in.data(), 10, MPI_INT, down, 92,
                       MPI_COMM_WORLD, &status);
    if (up != MPI_PROC_NULL)
        counting_sent(up, 40);
    if (down != MPI_PROC_NULL)
        counting_received(status.MPI_SOURCE, 40);
    digest(in);
    tell("sendrecv");
}

void nobody(const Cast &me)
{
    Numbers values{1, 2, 3};
    int many;
    MPI_Status status;
    MPI_Request requests[2];
    CALL(MPI_Send)(values.data(), 3, MPI_INT, MPI_PROC_NULL, 95, MPI_COMM_WORLD);
    CALL(MPI_Recv)(values.data(), 3, MPI_INT, MPI_PROC_NULL, 95, MPI_COMM_WORLD, &status);
    CALL(MPI_Get_count)(&status, MPI_INT, &many);
    CALL(MPI_Isend)(values.data(), 3, MPI_INT, MPI_PROC_NULL, 96, me.dup.get(), &requests[0]);
    CALL(MPI_Irecv)(values.data(), 3, MPI_INT, MPI_PROC_NULL, 96, me.dup.get(), &requests[1]);
    CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Probe)(MPI_PROC_NULL, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    digest({status.MPI_SOURCE == MPI_PROC_NULL, many});
    digest(values);
    tell("nobody");
}

void probe(const Cast &me)
{
    MPI_Request send, receive;
    MPI_Status status;
    MPI_Message found;
    int mine = 3 + me.rank, many, flag = 0;
    for (int tag = 100; tag < 104; tag++) {
        Numbers out = message(mine, me.rank, tag), in;
        auto room = [&] {
            CALL(MPI_Get_count)(&status, MPI_INT, &many);
            in.resize(many);
        };
        CALL(MPI_Isend)(out.data(), mine, MPI_INT, me.right, tag, MPI_COMM_WORLD, &send);
        switch (tag) {
        case 100:
            CALL(MPI_Probe)(me.left, tag, MPI_COMM_WORLD, &status);
            room();
            CALL(MPI_Recv)(in.data(), many, MPI_INT, me.left, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
            break;
        case 101:
            while (CALL(MPI_Iprobe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status), !flag)
                nap();
            room();
            CALL(MPI_Recv)(in.data(), many, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
            break;
        case 102:
            CALL(MPI_Mprobe)(me.left, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
            room();
            CALL(MPI_Mrecv)(in.data(), many, MPI_INT, &found, MPI_STATUS_IGNORE);
            break;
        default:
            while (CALL(MPI_Improbe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &found, &status),
                   !flag)
                nap();
            room();
            CALL(MPI_Imrecv)(in.data(), many, MPI_INT, &found, &receive);
            CALL(MPI_Wait)(&receive, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Wait)(&send, MPI_STATUS_IGNORE);
        counting_sent(me.right, 4 * mine);
        counting_received(me.left, 4 * (3 + me.left));
        digest({many});
        digest(in);
    }
    tell("probe");
}

// A committed datatype that is freed with its owner.
class Datatype {
public:
    explicit Datatype(MPI_Datatype made) : handle_(made) { CALL(MPI_Type_commit)(&handle_); }
    Datatype(const Datatype &) = delete;
    ~Datatype() { CALL(MPI_Type_free)(&handle_); }
    operator MPI_Datatype() const { return handle_; }

private:
    MPI_Datatype handle_;
};

static Datatype column_of(int rows, int columns)
{
    MPI_Datatype made;
    CALL(MPI_Type_vector)(rows, 1, columns, MPI_INT, &made);
    return Datatype(made);
}

static Datatype tuple_of(int numbers)
{
    MPI_Datatype made;
    CALL(MPI_Type_contiguous)(numbers, MPI_INT, &made);
    return Datatype(made);
}

struct Particle {
    int id;
    double mass;
};

static Datatype particle()
{
    MPI_Datatype made, types[] = {MPI_INT, MPI_DOUBLE};
    int lengths[] = {1, 1};
    MPI_Aint displacements[] = {offsetof(Particle, id), offsetof(Particle, mass)};
    CALL(MPI_Type_create_struct)(2, lengths, displacements, types, &made);
    return Datatype(made);
}

void derived(const Cast &me)
{
    auto pass = [&](const void *out, void *in, int many, MPI_Datatype type, int tag, MPI_Comm comm,
                    int bytes) {
        MPI_Request request;
        CALL(MPI_Isend)(out, many, type, me.right, tag, comm, &request);
        CALL(MPI_Recv)(in, many, type, me.left, tag, comm, MPI_STATUS_IGNORE);
        CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
        counting_sent(me.right, bytes);
        counting_received(me.left, bytes);
    };
    {
        Datatype column = column_of(4, 6);
        Numbers grid = message(24, me.rank, 121), in(4);
        CALL(MPI_Sendrecv)(&grid[2], 1, column, me.right, 121, in.data(), 4, MPI_INT, me.left, 121,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        counting_sent(me.right, 16);
        counting_received(me.left, 16);
        digest(in);
    }
    Numbers out = message(15, me.rank, 122), in(15);
    pass(out.data(), in.data(), 5, tuple_of(3), 122, MPI_COMM_WORLD, 60);
    digest(in);

    const Particle given[] = {{me.rank, me.rank + 0.5}, {me.rank + 10, 2.5}};
    Particle got[2];
    pass(given, got, 2, particle(), 123, me.dup.get(), 24);
    for (const Particle &one : got)
        digest({one.id, static_cast<int>(one.mass * 2)});
    tell("derived");
}

void zero(const Cast &me)
{
    MPI_Request request;
    MPI_Status status;
    int many;
    CALL(MPI_Isend)(nullptr, 0, MPI_INT, me.right, 124, MPI_COMM_WORLD, &request);
    CALL(MPI_Recv)(nullptr, 0, MPI_INT, me.left, 124, MPI_COMM_WORLD, &status);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    CALL(MPI_Get_count)(&status, MPI_INT, &many);
    counting_sent(me.right, 0);
    counting_received(me.left, 0);
    digest({many, status.MPI_SOURCE});
    tell("zero");
}

void many(const Cast &me)
{
    for (int i = 0; i < 20000; i++) {
        int in = -1;
        CALL(MPI_Sendrecv)(&i, 1, MPI_INT, 0, 125, &in, 1, MPI_INT, 0, 125, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE);
        counting_sent(me.rank, 4);
        counting_received(me.rank, 4);
        if (i % 100 == 0)
            digest({in});
    }
    tell("many");
}
