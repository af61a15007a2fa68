// Making communicators in every way the script knows, and talking on them.
#include "conversation.hpp"

#include <utility>

Communicator &Communicator::operator=(Communicator &&other) noexcept
{
    if (this != &other) {
        reset();
        handle_ = other.release();
    }
    return *this;
}

void Communicator::reset()
{
    if (handle_ != MPI_COMM_NULL)
        CALL(MPI_Comm_free)(&handle_);
}

MPI_Comm Communicator::release()
{
    return std::exchange(handle_, MPI_COMM_NULL);
}

int Communicator::rank() const
{
    int rank;
    CALL(MPI_Comm_rank)(handle_, &rank);
    return rank;
}

int Communicator::size() const
{
    int size;
    CALL(MPI_Comm_size)(handle_, &size);
    return size;
}

static void digest_shape(MPI_Comm comm)
{
    Numbers shape(2);
    CALL(MPI_Comm_rank)(comm, &shape[0]);
    CALL(MPI_Comm_size)(comm, &shape[1]);
    digest(shape);
}

static Communicator subgroup(MPI_Group everybody, const Numbers &members, bool everybody_calls)
{
    MPI_Group group;
    MPI_Comm made = MPI_COMM_NULL;
    CALL(MPI_Group_incl)(everybody, static_cast<int>(members.size()), members.data(), &group);
    if (everybody_calls)
        CALL(MPI_Comm_create)(MPI_COMM_WORLD, group, &made);
    else
        CALL(MPI_Comm_create_group)(MPI_COMM_WORLD, group, 5, &made);
    CALL(MPI_Group_free)(&group);
    return Communicator(made);
}

Cast::Cast()
{
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    parity = rank % 2;

    MPI_Comm made;
    CALL(MPI_Comm_dup)(MPI_COMM_WORLD, &made);
    CALL(MPI_Comm_set_name)(made, "rehearsal");
    dup = Communicator(made);
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, parity, size - rank, &made);
    half = Communicator(made);
    half_rank = half.rank();
    half_size = half.size();
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, parity ? MPI_UNDEFINED : 0, 0, &made);
    Communicator(made).reset();

    MPI_Group everybody;
    CALL(MPI_Comm_group)(MPI_COMM_WORLD, &everybody);
    Numbers falling;
    for (int i = size; i-- > 0;)
        falling.push_back(i);
    if (rank < 2)
        pair = subgroup(everybody, {1, 0}, false);
    reversed = subgroup(everybody, falling, true);
    CALL(MPI_Group_free)(&everybody);

    CALL(MPI_Intercomm_create)(half.get(), 0, MPI_COMM_WORLD, world_of_half(1 - parity, 0), 6,
                               &made);
    inter = Communicator(made);
    CALL(MPI_Comm_remote_size)(inter.get(), &remote_size);
    CALL(MPI_Intercomm_merge)(inter.get(), parity, &made);
    merged = Communicator(made);

    MPI_Request request;
    CALL(MPI_Comm_idup)(MPI_COMM_WORLD, &made, &request);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    idup = Communicator(made);

    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, dup.get(), half.get(), inter.get(),
                          merged.get(), reversed.get(), idup.get()})
        digest_shape(comm);
    if (pair)
        digest_shape(pair.get());
    tell("communicators");
}

int Cast::world_of_half(int which, int member) const
{
    int last = (size - 1) % 2 == which ? size - 1 : size - 2;
    return last - 2 * member;
}

int Cast::world_of_merged(int member) const
{
    int evens = (size + 1) / 2;
    return member < evens ? world_of_half(0, member) : world_of_half(1, member - evens);
}

void intercommunicator(const Cast &me)
{
    MPI_Comm inter = me.inter.get();
    int partner = me.half_rank < me.remote_size ? me.half_rank : MPI_PROC_NULL;
    Numbers out = message(12, me.rank, 110), in = message(12, 0, 0);
    CALL(MPI_Sendrecv)(out.data(), 12, MPI_INT, partner, 110, in.data(), 12, MPI_INT, partner, 110,
                       inter, MPI_STATUS_IGNORE);
    if (partner != MPI_PROC_NULL) {
        counting_sent(me.world_of_half(1 - me.parity, partner), 48);
        counting_received(me.world_of_half(1 - me.parity, partner), 48);
    }
    digest(in);

    bool speaker = me.parity == 0 && me.half_rank == 0;
    if (speaker)
        for (int i = 0; i < me.remote_size; i++) {
            out = message(4 + i, me.rank, 111);
            CALL(MPI_Send)(out.data(), 4 + i, MPI_INT, i, 111, inter);
            counting_sent(me.world_of_half(1, i), 4 * (4 + i));
        }
    if (me.parity == 1) {
        MPI_Status status;
        Numbers heard(12);
        CALL(MPI_Recv)(heard.data(), 12, MPI_INT, MPI_ANY_SOURCE, 111, inter, &status);
        heard.resize(4 + me.half_rank);
        counting_received(me.world_of_half(0, status.MPI_SOURCE), 4 * (4 + me.half_rank));
        digest(heard);
    }

    int root = me.parity ? 0 : speaker ? MPI_ROOT : MPI_PROC_NULL;
    in = message(12, speaker ? me.rank : 0, 112);
    CALL(MPI_Bcast)(in.data(), 12, MPI_INT, root, inter);
    digest(in);
    int mine = me.rank + 1, theirs = 0;
    CALL(MPI_Allreduce)(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
    digest({theirs});
    CALL(MPI_Barrier)(inter);
    tell("intercommunicator");
}

// A message to the next rank of a communicator where world ranks stand in another order.
static void ring(const Cast &me, MPI_Comm comm, int rank, int size, int world_next,
                 int world_previous, int tag)
{
    Numbers out = message(8, me.rank, tag), in(8);
    MPI_Request requests[2];
    CALL(MPI_Irecv)(in.data(), 8, MPI_INT, (rank + size - 1) % size, tag, comm, &requests[0]);
    CALL(MPI_Isend)(out.data(), 8, MPI_INT, (rank + 1) % size, tag, comm, &requests[1]);
    CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
    counting_sent(world_next, 32);
    counting_received(world_previous, 32);
    digest(in);
}

void groups(const Cast &me)
{
    ring(me, me.half.get(), me.half_rank, me.half_size,
         me.world_of_half(me.parity, (me.half_rank + 1) % me.half_size),
         me.world_of_half(me.parity, (me.half_rank + me.half_size - 1) % me.half_size), 113);
    ring(me, me.reversed.get(), me.size - 1 - me.rank, me.size, me.left, me.right, 114);
    ring(me, me.idup.get(), me.rank, me.size, me.right, me.left, 115);
    ring(me, MPI_COMM_SELF, 0, 1, me.rank, me.rank, 116);
    if (me.pair)
        ring(me, me.pair.get(), 1 - me.rank, 2, 1 - me.rank, 1 - me.rank, 117);
    tell("groups");
}
