"""Making communicators in every way the script knows, and talking on them."""

from stage import MPI, SELF, WORLD, call, digest, message, received, room, sent


def digest_shape(comm):
    digest([call("MPI_Comm_rank", comm.Get_rank), call("MPI_Comm_size", comm.Get_size)])


def make_communicators(me):
    me.dup = call("MPI_Comm_dup", WORLD.Dup)
    call("MPI_Comm_set_name", me.dup.Set_name, "rehearsal")
    me.half = call("MPI_Comm_split", WORLD.Split, me.parity, me.size - me.rank)
    me.half_rank = call("MPI_Comm_rank", me.half.Get_rank)
    me.half_size = call("MPI_Comm_size", me.half.Get_size)
    evens = call("MPI_Comm_split", WORLD.Split, MPI.UNDEFINED if me.parity else 0, 0)
    if evens != MPI.COMM_NULL:
        call("MPI_Comm_free", evens.Free)

    everybody = call("MPI_Comm_group", WORLD.Get_group)
    two = call("MPI_Group_incl", everybody.Incl, [1, 0])
    backwards = call("MPI_Group_incl", everybody.Incl, list(reversed(range(me.size))))
    me.pair = MPI.COMM_NULL
    if me.rank < 2:
        me.pair = call("MPI_Comm_create_group", WORLD.Create_group, two, 5)
    me.reversed = call("MPI_Comm_create", WORLD.Create, backwards)
    for group in (backwards, two, everybody):
        call("MPI_Group_free", group.Free)

    leader = me.world_of_half(1 - me.parity, 0)
    me.inter = call("MPI_Intercomm_create", me.half.Create_intercomm, 0, WORLD, leader, 6)
    me.remote_size = call("MPI_Comm_remote_size", me.inter.Get_remote_size)
    me.merged = call("MPI_Intercomm_merge", me.inter.Merge, bool(me.parity))
    me.idup, request = call("MPI_Comm_idup", WORLD.Idup)
    call("MPI_Wait", request.Wait)

    for comm in (WORLD, SELF, me.dup, me.half, me.inter, me.merged, me.reversed, me.idup):
        digest_shape(comm)
    if me.pair != MPI.COMM_NULL:
        digest_shape(me.pair)
    digest.tell("communicators")


def free_communicators(me):
    for comm in (me.idup, me.merged, me.inter, me.reversed, me.pair, me.half, me.dup):
        if comm != MPI.COMM_NULL:
            call("MPI_Comm_free", comm.Free)


def intercommunicator(me):
    partner = me.half_rank if me.half_rank < me.remote_size else MPI.PROC_NULL
    out, inbox = message(12, me.rank, 110), message(12, 0, 0)
    call("MPI_Sendrecv", me.inter.Sendrecv, out, partner, 110, inbox, partner, 110)
    if partner != MPI.PROC_NULL:
        sent(me.world_of_half(1 - me.parity, partner), 48)
        received(me.world_of_half(1 - me.parity, partner), 48)
    digest(inbox)

    speaker = me.parity == 0 and me.half_rank == 0
    if speaker:
        for i in range(me.remote_size):
            call("MPI_Send", me.inter.Send, message(4 + i, me.rank, 111), i, 111)
            sent(me.world_of_half(1, i), 4 * (4 + i))
    if me.parity == 1:
        status, heard = MPI.Status(), room(12)
        call("MPI_Recv", me.inter.Recv, heard, MPI.ANY_SOURCE, 111, status)
        received(me.world_of_half(0, status.Get_source()), 4 * (4 + me.half_rank))
        digest(heard[: 4 + me.half_rank])

    root = 0 if me.parity else MPI.ROOT if speaker else MPI.PROC_NULL
    inbox = message(12, me.rank if speaker else 0, 112)
    call("MPI_Bcast", me.inter.Bcast, inbox, root)
    digest(inbox)
    theirs = room(1)
    call("MPI_Allreduce", me.inter.Allreduce, message(1, 0, 0) + me.rank + 1, theirs, MPI.SUM)
    digest(theirs)
    call("MPI_Barrier", me.inter.Barrier)
    digest.tell("intercommunicator")


def ring(me, comm, rank, size, world_next, world_previous, tag):
    """A message to the next rank of a communicator where world ranks stand in another order."""
    out, inbox = message(8, me.rank, tag), room(8)
    requests = [
        call("MPI_Irecv", comm.Irecv, inbox, (rank + size - 1) % size, tag),
        call("MPI_Isend", comm.Isend, out, (rank + 1) % size, tag),
    ]
    call("MPI_Waitall", MPI.Request.Waitall, requests)
    sent(world_next, 32)
    received(world_previous, 32)
    digest(inbox)


def groups(me):
    following = me.world_of_half(me.parity, (me.half_rank + 1) % me.half_size)
    previous = me.world_of_half(me.parity, (me.half_rank + me.half_size - 1) % me.half_size)
    ring(me, me.half, me.half_rank, me.half_size, following, previous, 113)
    ring(me, me.reversed, me.size - 1 - me.rank, me.size, me.left, me.right, 114)
    ring(me, me.idup, me.rank, me.size, me.right, me.left, 115)
    ring(me, SELF, 0, 1, me.rank, me.rank, 116)
    if me.pair != MPI.COMM_NULL:
        ring(me, me.pair, 1 - me.rank, 2, 1 - me.rank, 1 - me.rank, 117)
    digest.tell("groups")
