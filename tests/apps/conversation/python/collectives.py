"""Collective communication, blocking on three communicators and non-blocking on a fourth."""

from stage import MPI, SELF, WORLD, call, digest, message, received, room, sent


def on(comm):
    size = call("MPI_Comm_size", comm.Get_size)
    rank = call("MPI_Comm_rank", comm.Get_rank)
    # Rank i contributes i + 1 numbers where contributions differ.
    counts = [i + 1 for i in range(size)]
    offsets = [sum(counts[:i]) for i in range(size)]
    total = sum(counts)

    call("MPI_Barrier", comm.Barrier)
    inbox = message(10, rank, 200)
    call("MPI_Bcast", comm.Bcast, inbox, 0)
    digest(inbox)

    out, inbox = message(6, rank, 201), message(6, 0, 0)
    call("MPI_Reduce", comm.Reduce, out, inbox, MPI.SUM, size - 1)
    digest(inbox)
    call("MPI_Allreduce", comm.Allreduce, out, inbox, MPI.MAX)
    digest(inbox)
    call("MPI_Allreduce", comm.Allreduce, MPI.IN_PLACE, out, MPI.SUM)
    digest(out)

    out, inbox = message(2 * size, rank, 202), message(2 * size, 0, 0)
    call("MPI_Gather", comm.Gather, out[:2], inbox, 0)
    digest(inbox)
    inbox = message(total, 0, 0)
    call("MPI_Gatherv", comm.Gatherv, out[: rank + 1], [inbox, counts, offsets, MPI.INT], 0)
    digest(inbox)
    inbox = room(2)
    call("MPI_Scatter", comm.Scatter, out, inbox, 0)
    digest(inbox)
    inbox = room(rank + 1)
    call("MPI_Scatterv", comm.Scatterv, [message(total, rank, 203), counts, offsets, MPI.INT], inbox, size - 1)
    digest(inbox)

    out, inbox = message(size + 2, rank, 207), room(2 * size)
    call("MPI_Allgather", comm.Allgather, out[:2], inbox)
    digest(inbox)
    inbox = room(total)
    call("MPI_Allgatherv", comm.Allgatherv, out[: rank + 1], [inbox, counts, offsets, MPI.INT])
    digest(inbox)

    inbox = room(2 * size)
    call("MPI_Alltoall", comm.Alltoall, message(2 * size, rank, 204), inbox)
    digest(inbox)
    # To rank i go i + 1 numbers, so from everybody come this rank + 1.
    coming = [rank + 1] * size
    places = [i * (rank + 1) for i in range(size)]
    inbox = room(size * (rank + 1))
    out = [message(total, rank, 205), counts, offsets, MPI.INT]
    call("MPI_Alltoallv", comm.Alltoallv, out, [inbox, coming, places, MPI.INT])
    digest(inbox)

    inbox = room(2)
    call("MPI_Reduce_scatter_block", comm.Reduce_scatter_block, message(2 * size, rank, 206), inbox, MPI.SUM)
    digest(inbox)
    out, inbox = message(4, rank, 208), room(4)
    call("MPI_Scan", comm.Scan, out, inbox, MPI.SUM)
    digest(inbox)
    inbox = room(4)
    call("MPI_Exscan", comm.Exscan, out, inbox, MPI.SUM)
    if rank > 0:
        digest(inbox)


def collectives(me):
    on(WORLD)
    on(me.half)
    on(SELF)
    digest.tell("collectives")


def nonblocking_collectives(me):
    """Collectives and messages under way together, completed by one call."""
    values, spread = message(5, me.rank, 210), message(5, me.rank, 211)
    total, everything, inbox = room(5), room(2 * me.size), room(5)
    requests = [
        call("MPI_Ibarrier", me.dup.Ibarrier),
        call("MPI_Iallreduce", me.dup.Iallreduce, values, total, MPI.SUM),
        call("MPI_Ibcast", me.dup.Ibcast, spread, me.size - 1),
        call("MPI_Iallgather", me.dup.Iallgather, values[:2], everything),
        call("MPI_Irecv", me.dup.Irecv, inbox, me.left, 212),
        call("MPI_Isend", me.dup.Isend, message(5, me.rank, 212), me.right, 212),
    ]
    call("MPI_Waitall", MPI.Request.Waitall, requests)
    sent(me.right, 20)
    received(me.left, 20)
    for numbers in (total, spread, everything, inbox):
        digest(numbers)
    digest.tell("nonblocking_collectives")
