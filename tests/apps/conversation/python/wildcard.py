"""Receives that name no sender, on several communicators, with a status and without. What they yield is put in the
senders' order before it is digested."""

from stage import MPI, WORLD, call, digest, message, received, room, sent


def digest_in_order(heard):
    for _, numbers in sorted(heard.items()):
        digest(numbers)


def with_status(me):
    """By status: the sender and the tag are read from it."""
    call("MPI_Barrier", me.dup.Barrier)
    if me.rank > 0:
        call("MPI_Send", me.dup.Send, message(me.rank, me.rank, 50 + me.rank), 0, 50 + me.rank)
        sent(0, 4 * me.rank)
        return
    heard = {}
    for _ in range(1, me.size):
        inbox, status = room(64), MPI.Status()
        call("MPI_Recv", me.dup.Recv, inbox, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        count = call("MPI_Get_count", status.Get_count, MPI.INT)
        received(status.Get_source(), 4 * count)
        heard[status.Get_source()] = inbox[:count] + status.Get_tag()
    digest_in_order(heard)


def signed_message(me, tag):
    """Where there is no status, the sender is known by the message's first number."""
    numbers = message(5, me.rank, tag)
    numbers[0] = me.rank
    return numbers


def without_status(me):
    call("MPI_Barrier", me.dup.Barrier)
    if me.rank > 0:
        call("MPI_Send", me.dup.Send, signed_message(me, 60), 0, 60)
        sent(0, 20)
        return
    heard = {}
    for _ in range(1, me.size):
        inbox = room(5)
        call("MPI_Recv", me.dup.Recv, inbox, MPI.ANY_SOURCE, 60)
        received(int(inbox[0]), 20)
        heard[int(inbox[0])] = inbox
    digest_in_order(heard)


def non_blocking(me):
    call("MPI_Barrier", me.dup.Barrier)
    if me.rank > 0:
        request = call("MPI_Isend", me.dup.Isend, signed_message(me, 70), 0, 70)
        call("MPI_Wait", request.Wait)
        sent(0, 20)
        return
    inboxes = [room(5) for _ in range(1, me.size)]
    requests = [call("MPI_Irecv", me.dup.Irecv, inbox, MPI.ANY_SOURCE, MPI.ANY_TAG) for inbox in inboxes]
    call("MPI_Waitall", MPI.Request.Waitall, requests)
    for inbox in inboxes:
        received(int(inbox[0]), 20)
    digest_in_order({int(inbox[0]): inbox for inbox in inboxes})


def in_the_half(me):
    """On a communicator that numbers the ranks in another order than the world."""
    call("MPI_Barrier", me.half.Barrier)
    if me.half_rank > 0:
        call("MPI_Send", me.half.Send, message(6, me.rank, 80), 0, 80)
        sent(me.world_of_half(me.parity, 0), 24)
        return
    heard = {}
    for _ in range(1, me.half_size):
        inbox, status = room(6), MPI.Status()
        call("MPI_Recv", me.half.Recv, inbox, MPI.ANY_SOURCE, 80, status)
        received(me.world_of_half(me.parity, status.Get_source()), 24)
        heard[status.Get_source()] = inbox
    digest_in_order(heard)


def wildcard(me):
    with_status(me)
    without_status(me)
    non_blocking(me)
    in_the_half(me)
    call("MPI_Barrier", WORLD.Barrier)
    digest.tell("wildcard")
