/* Making communicators in every way the script knows, and talking on them. */
#include "conversation.h"

#include <stdlib.h>

int world_of_half(int parity, int rank)
{
    int last = (me.size - 1) % 2 == parity ? me.size - 1 : me.size - 2;
    return last - 2 * rank;
}

int world_of_merged(int rank)
{
    int evens = (me.size + 1) / 2;
    return rank < evens ? world_of_half(0, rank) : world_of_half(1, rank - evens);
}

static void digest_shape(MPI_Comm comm)
{
    int shape[2];
    CALL(MPI_Comm_rank)(comm, &shape[0]);
    CALL(MPI_Comm_size)(comm, &shape[1]);
    digest(shape, 2);
}

void make_communicators(void)
{
    me.parity = me.rank % 2;
    CALL(MPI_Comm_dup)(MPI_COMM_WORLD, &me.dup);
    CALL(MPI_Comm_set_name)(me.dup, "rehearsal");
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, me.parity, me.size - me.rank, &me.half);
    CALL(MPI_Comm_rank)(me.half, &me.half_rank);
    CALL(MPI_Comm_size)(me.half, &me.half_size);

    MPI_Comm evens;
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, me.parity ? MPI_UNDEFINED : 0, 0, &evens);
    if (evens != MPI_COMM_NULL)
        CALL(MPI_Comm_free)(&evens);

    MPI_Group everybody, two, backwards;
    int first_two[2] = {1, 0};
    int *falling = malloc(sizeof(int) * me.size);
    for (int i = 0; i < me.size; i++)
        falling[i] = me.size - 1 - i;
    CALL(MPI_Comm_group)(MPI_COMM_WORLD, &everybody);
    CALL(MPI_Group_incl)(everybody, 2, first_two, &two);
    CALL(MPI_Group_incl)(everybody, me.size, falling, &backwards);
    me.pair = MPI_COMM_NULL;
    if (me.rank < 2)
        CALL(MPI_Comm_create_group)(MPI_COMM_WORLD, two, 5, &me.pair);
    CALL(MPI_Comm_create)(MPI_COMM_WORLD, backwards, &me.reversed);
    CALL(MPI_Group_free)(&backwards);
    CALL(MPI_Group_free)(&two);
    CALL(MPI_Group_free)(&everybody);
    free(falling);

    CALL(MPI_Intercomm_create)(me.half, 0, MPI_COMM_WORLD, world_of_half(1 - me.parity, 0), 6,
                               &me.inter);
    CALL(MPI_Comm_remote_size)(me.inter, &me.remote_size);
    CALL(MPI_Intercomm_merge)(me.inter, me.parity, &me.merged);

    MPI_Request request;
    CALL(MPI_Comm_idup)(MPI_COMM_WORLD, &me.idup, &request);
    CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);

    MPI_Comm all[] = {MPI_COMM_WORLD, MPI_COMM_SELF, me.dup,      me.half,
                      me.inter,       me.merged,     me.reversed, me.idup};
    for (int i = 0; i < 8; i++)
        digest_shape(all[i]);
    if (me.pair != MPI_COMM_NULL)
        digest_shape(me.pair);
    tell("communicators");
}

void free_communicators(void)
{
    CALL(MPI_Comm_free)(&me.idup);
    CALL(MPI_Comm_free)(&me.merged);
    CALL(MPI_Comm_free)(&me.inter);
    CALL(MPI_Comm_free)(&me.reversed);
    if (me.pair != MPI_COMM_NULL)
        CALL(MPI_Comm_free)(&me.pair);
    CALL(MPI_Comm_free)(&me.half);
    CALL(MPI_Comm_free)(&me.dup);
}

void intercommunicator(void)
{
    int out[12], in[12];
    int partner = me.half_rank < me.remote_size ? me.half_rank : MPI_PROC_NULL;
    fill(out, 12, me.rank, 110);
    fill(in, 12, 0, 0);
    CALL(MPI_Sendrecv)(out, 12, MPI_INT, partner, 110, in, 12, MPI_INT, partner, 110, me.inter,
                       MPI_STATUS_IGNORE);
    if (partner != MPI_PROC_NULL) {
        counting_sent(world_of_half(1 - me.parity, partner), 48);
        counting_received(world_of_half(1 - me.parity, partner), 48);
    }
    digest(in, 12);

    if (me.parity == 0 && me.half_rank == 0)
        for (int i = 0; i < me.remote_size; i++) {
            fill(out, 4 + i, me.rank, 111);
            CALL(MPI_Send)(out, 4 + i, MPI_INT, i, 111, me.inter);
            counting_sent(world_of_half(1, i), 4 * (4 + i));
        }
    if (me.parity == 1) {
        MPI_Status status;
        CALL(MPI_Recv)(in, 12, MPI_INT, MPI_ANY_SOURCE, 111, me.inter, &status);
        counting_received(world_of_half(0, status.MPI_SOURCE), 4 * (4 + me.half_rank));
        digest(in, 4 + me.half_rank);
    }

    int root = me.parity ? 0 : me.half_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    fill(in, 12, me.half_rank == 0 && me.parity == 0 ? me.rank : 0, 112);
    CALL(MPI_Bcast)(in, 12, MPI_INT, root, me.inter);
    digest(in, 12);
    int mine = me.rank + 1, theirs = 0;
    CALL(MPI_Allreduce)(&mine, &theirs, 1, MPI_INT, MPI_SUM, me.inter);
    digest(&theirs, 1);
    CALL(MPI_Barrier)(me.inter);
    tell("intercommunicator");
}

/* A message to the next rank of a communicator where world ranks stand in another order. */
static void ring(MPI_Comm comm, int rank, int world_next, int world_previous, int tag)
{
    int out[8], in[8], size;
    CALL(MPI_Comm_size)(comm, &size);
    fill(out, 8, me.rank, tag);
    MPI_Request requests[2];
    CALL(MPI_Irecv)(in, 8, MPI_INT, (rank + size - 1) % size, tag, comm, &requests[0]);
    CALL(MPI_Isend)(out, 8, MPI_INT, (rank + 1) % size, tag, comm, &requests[1]);
    CALL(MPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
    counting_sent(world_next, 32);
    counting_received(world_previous, 32);
    digest(in, 8);
}

void groups(void)
{
    ring(me.half, me.half_rank, world_of_half(me.parity, (me.half_rank + 1) % me.half_size),
         world_of_half(me.parity, (me.half_rank + me.half_size - 1) % me.half_size), 113);
    ring(me.reversed, me.size - 1 - me.rank, me.left, me.right, 114);
    ring(me.idup, me.rank, me.right, me.left, 115);
    ring(MPI_COMM_SELF, 0, me.rank, me.rank, 116);
    if (me.pair != MPI_COMM_NULL)
        ring(me.pair, 1 - me.rank, 1 - me.rank, 1 - me.rank, 117);
    tell("groups");
}
