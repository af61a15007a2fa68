"""Blocking point-to-point communication: every send mode, probes, datatypes, nobody as a peer, Python objects."""

from stage import MPI, SELF, WORLD, also, call, digest, message, nap, np, received, room, sent


def pass_on(me, function, send, comm, many, tag):
    """A ring in which the even ranks send first, so that even a synchronous send ends."""
    out, inbox = message(many, me.rank, tag), room(many)
    if me.rank % 2 == 0:
        call(function, send, out, me.right, tag)
    call("MPI_Recv", comm.Recv, inbox, me.left, tag)
    if me.rank % 2 == 1:
        call(function, send, out, me.right, tag)
    sent(me.right, 4 * many)
    received(me.left, 4 * many)
    digest(inbox)


def blocking(me):
    pass_on(me, "MPI_Send", WORLD.Send, WORLD, 100, 1)
    pass_on(me, "MPI_Ssend", me.dup.Ssend, me.dup, 50, 2)
    call("MPI_Buffer_attach", MPI.Attach_buffer, bytearray(400 + MPI.BSEND_OVERHEAD))
    pass_on(me, "MPI_Bsend", WORLD.Bsend, WORLD, 25, 3)
    call("MPI_Buffer_detach", MPI.Detach_buffer)

    out, inbox = message(10, me.rank, 4), room(10)
    request = call("MPI_Irecv", WORLD.Irecv, inbox, me.left, 4)
    call("MPI_Barrier", WORLD.Barrier)
    call("MPI_Rsend", WORLD.Rsend, out, me.right, 4)
    call("MPI_Wait", request.Wait)
    sent(me.right, 40)
    received(me.left, 40)
    digest(inbox)
    digest.tell("blocking")


def sendrecv(me):
    member = call("MPI_Comm_rank", me.merged.Get_rank)
    following, previous = (member + 1) % me.size, (member + me.size - 1) % me.size
    out, inbox = message(20, me.rank, 90), room(20)
    call("MPI_Sendrecv", me.merged.Sendrecv, out, following, 90, inbox, previous, 90)
    sent(me.world_of_merged(following), 80)
    received(me.world_of_merged(previous), 80)
    digest(inbox)

    both = message(15, me.rank, 91)
    call("MPI_Sendrecv_replace", me.dup.Sendrecv_replace, both, me.right, 91, me.left, 91)
    sent(me.right, 60)
    received(me.left, 60)
    digest(both)

    up = me.rank + 1 if me.rank + 1 < me.size else MPI.PROC_NULL
    down = me.rank - 1 if me.rank > 0 else MPI.PROC_NULL
    status, inbox = MPI.Status(), message(10, 0, 0)
    call("MPI_Sendrecv", WORLD.Sendrecv, message(10, me.rank, 92), up, 92, inbox, down, 92, status)
    if up != MPI.PROC_NULL:
        sent(up, 40)
    if down != MPI.PROC_NULL:
        received(status.Get_source(), 40)
    digest(inbox)
    digest.tell("sendrecv")


def nobody(me):
    values, status = np.array([1, 2, 3], dtype="i"), MPI.Status()
    call("MPI_Send", WORLD.Send, values, MPI.PROC_NULL, 95)
    call("MPI_Recv", WORLD.Recv, values, MPI.PROC_NULL, 95, status)
    many = call("MPI_Get_count", status.Get_count, MPI.INT)
    requests = [
        call("MPI_Isend", me.dup.Isend, values, MPI.PROC_NULL, 96),
        call("MPI_Irecv", me.dup.Irecv, values, MPI.PROC_NULL, 96),
    ]
    call("MPI_Waitall", MPI.Request.Waitall, requests)
    call("MPI_Probe", WORLD.Probe, MPI.PROC_NULL, 97)
    digest([status.Get_source() == MPI.PROC_NULL, many])
    digest(values)
    digest.tell("nobody")


def probe(me):
    mine = 3 + me.rank
    status = MPI.Status()

    def inbox():
        return room(call("MPI_Get_count", status.Get_count, MPI.INT))

    for tag in range(100, 104):
        sending = call("MPI_Isend", WORLD.Isend, message(mine, me.rank, tag), me.right, tag)
        if tag == 100:
            call("MPI_Probe", WORLD.Probe, me.left, tag, status)
            numbers = inbox()
            call("MPI_Recv", WORLD.Recv, numbers, me.left, tag)
        elif tag == 101:
            while not call("MPI_Iprobe", WORLD.Iprobe, MPI.ANY_SOURCE, tag, status):
                nap()
            numbers = inbox()
            call("MPI_Recv", WORLD.Recv, numbers, status.Get_source(), tag)
        elif tag == 102:
            found = call("MPI_Mprobe", WORLD.Mprobe, me.left, MPI.ANY_TAG, status)
            numbers = inbox()
            call("MPI_Mrecv", found.Recv, numbers)
        else:
            while (found := call("MPI_Improbe", WORLD.Improbe, MPI.ANY_SOURCE, tag, status)) is None:
                nap()
            numbers = inbox()
            receiving = call("MPI_Imrecv", found.Irecv, numbers)
            call("MPI_Wait", receiving.Wait)
        call("MPI_Wait", sending.Wait)
        sent(me.right, 4 * mine)
        received(me.left, 4 * (3 + me.left))
        digest([len(numbers)])
        digest(numbers)
    digest.tell("probe")


def derived(me):
    def committed(function, make, *args):
        made = call(function, make, *args)
        call("MPI_Type_commit", made.Commit)
        return made

    def pass_derived(out, inbox, tag, comm, size):
        request = call("MPI_Isend", comm.Isend, out, me.right, tag)
        call("MPI_Recv", comm.Recv, inbox, me.left, tag)
        call("MPI_Wait", request.Wait)
        sent(me.right, size)
        received(me.left, size)

    column = committed("MPI_Type_vector", MPI.INT.Create_vector, 4, 1, 6)
    grid, inbox = message(24, me.rank, 121), room(4)
    call("MPI_Sendrecv", WORLD.Sendrecv, [grid[2:], 1, column], me.right, 121, inbox, me.left, 121)
    sent(me.right, 16)
    received(me.left, 16)
    digest(inbox)
    call("MPI_Type_free", column.Free)

    triple = committed("MPI_Type_contiguous", MPI.INT.Create_contiguous, 3)
    out, inbox = message(15, me.rank, 122), room(15)
    pass_derived([out, 5, triple], [inbox, 5, triple], 122, WORLD, 60)
    digest(inbox)
    call("MPI_Type_free", triple.Free)

    layout = np.dtype([("id", "i4"), ("mass", "f8")], align=True)
    offsets = [layout.fields[name][1] for name in ("id", "mass")]
    types = [MPI.INT, MPI.DOUBLE]
    record = committed("MPI_Type_create_struct", MPI.Datatype.Create_struct, [1, 1], offsets, types)
    given = np.array([(me.rank, me.rank + 0.5), (me.rank + 10, 2.5)], dtype=layout)
    got = np.zeros(2, dtype=layout)
    pass_derived([given, 2, record], [got, 2, record], 123, me.dup, 24)
    for one in got:
        digest([one["id"], int(one["mass"] * 2)])
    call("MPI_Type_free", record.Free)
    digest.tell("derived")


def zero(me):
    status = MPI.Status()
    request = call("MPI_Isend", WORLD.Isend, room(0), me.right, 124)
    call("MPI_Recv", WORLD.Recv, room(0), me.left, 124, status)
    call("MPI_Wait", request.Wait)
    many = call("MPI_Get_count", status.Get_count, MPI.INT)
    sent(me.right, 0)
    received(me.left, 0)
    digest([many, status.Get_source()])
    digest.tell("zero")


def many(me):
    out, inbox = room(1), room(1)
    for i in range(20000):
        out[0], inbox[0] = i, -1
        call("MPI_Sendrecv", SELF.Sendrecv, out, 0, 125, inbox, 0, 125)
        sent(me.rank, 4)
        received(me.rank, 4)
        if i % 100 == 0:
            digest(inbox)
    digest.tell("many")


def objects(me):
    """mpi4py's own way with objects: pickled, the receiver probes first."""
    mine = {"from": me.rank, "words": ["in", "vivo"] * me.rank}
    theirs = {"from": me.left, "words": ["in", "vivo"] * me.left}
    request = me.dup.isend(mine, me.right, 127)
    heard = me.dup.recv(source=me.left, tag=127)
    request.wait()
    also("MPI_Isend", "MPI_Mprobe", "MPI_Mrecv", "MPI_Wait")
    sent(me.right, len(MPI.pickle.dumps(mine)))
    received(me.left, len(MPI.pickle.dumps(theirs)))
    everybody = me.dup.allgather(me.rank)
    also("MPI_Allgather", "MPI_Allgatherv")  # First the sizes, then the bytes.
    first = me.dup.bcast(me.rank, root=0)
    also("MPI_Bcast", "MPI_Bcast")
    digest([heard == theirs, heard["from"], sum(everybody), first])
    digest.tell("objects")
