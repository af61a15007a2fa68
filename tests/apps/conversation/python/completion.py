"""Non-blocking and persistent communication, completed in every way."""

from stage import MPI, WORLD, call, digest, message, nap, received, room, sent


def nonblocking(me):
    from_left, from_right = room(200), room(200)
    requests = [
        call("MPI_Irecv", WORLD.Irecv, from_left, me.left, 5),
        call("MPI_Irecv", WORLD.Irecv, from_right, me.right, 6),
        call("MPI_Isend", WORLD.Isend, message(200, me.rank, 5), me.right, 5),
        call("MPI_Isend", WORLD.Isend, message(200, me.rank, 6), me.left, 6),
    ]
    call("MPI_Waitall", MPI.Request.Waitall, requests)
    for peer in (me.left, me.right):
        sent(peer, 800)
        received(peer, 800)
    digest(from_left)
    digest(from_right)

    large = 100000  # Enough for every rendezvous protocol.
    inbox = room(large)
    receiving = call("MPI_Irecv", me.dup.Irecv, inbox, me.left, 7)
    sending = call("MPI_Issend", me.dup.Issend, message(large, me.rank, 7), me.right, 7)
    call("MPI_Wait", receiving.Wait)
    call("MPI_Wait", sending.Wait)
    sent(me.right, 4 * large)
    received(me.left, 4 * large)
    digest(inbox[::1000])
    digest.tell("nonblocking")


# Each completes some of three receives and says how many.


def waitany(requests, _):
    call("MPI_Waitany", MPI.Request.Waitany, requests, MPI.Status())
    return 1


def waitsome(requests, _):
    return len(call("MPI_Waitsome", MPI.Request.Waitsome, requests))


def test(requests, done):
    return int(call("MPI_Test", requests[done].Test, MPI.Status()))


def testall(requests, _):
    return 3 * int(call("MPI_Testall", MPI.Request.Testall, requests, [MPI.Status() for _ in range(3)]))


def testany(requests, _):
    return int(call("MPI_Testany", MPI.Request.Testany, requests)[1])


def testsome(requests, _):
    return len(call("MPI_Testsome", MPI.Request.Testsome, requests, [MPI.Status() for _ in range(3)]) or [])


def completion(me):
    tag = 20
    for method in (waitany, waitsome, test, testall, testany, testsome):
        inboxes = [room(10 + k) for k in range(3)]
        receives = [call("MPI_Irecv", me.dup.Irecv, inboxes[k], me.left, tag + k) for k in range(3)]
        sends = [call("MPI_Isend", me.dup.Isend, message(10 + k, me.rank, tag + k), me.right, tag + k) for k in range(3)]
        done = 0
        while done < 3:
            more = method(receives, done)
            done += more
            if more == 0:
                nap()
        call("MPI_Waitall", MPI.Request.Waitall, sends)
        for k in range(3):
            sent(me.right, 4 * (10 + k))
            received(me.left, 4 * (10 + k))
            digest(inboxes[k])
        tag += 3
    # Nothing to wait for.
    call("MPI_Wait", MPI.Request().Wait)
    call("MPI_Waitall", MPI.Request.Waitall, [MPI.Request()])
    digest.tell("completion")


def persistent(me):
    out, inbox = room(30), room(30)
    requests = [
        call("MPI_Recv_init", WORLD.Recv_init, inbox, me.left, 40),
        call("MPI_Send_init", WORLD.Send_init, out, me.right, 40),
    ]
    for turn in range(3):
        out[:] = message(30, me.rank, 40 + turn)
        if turn < 2:
            call("MPI_Startall", MPI.Prequest.Startall, requests)
            call("MPI_Waitall", MPI.Request.Waitall, requests)
        else:
            for request in requests:
                call("MPI_Start", request.Start)
            for request in requests:
                call("MPI_Wait", request.Wait)
        sent(me.right, 120)
        received(me.left, 120)
        digest(inbox)
    for request in requests:
        call("MPI_Request_free", request.Free)

    status = MPI.Status()
    anybody = call("MPI_Recv_init", WORLD.Recv_init, inbox, MPI.ANY_SOURCE, 44)
    call("MPI_Start", anybody.Start)
    call("MPI_Send", WORLD.Send, message(10, me.rank, 44), me.right, 44)
    call("MPI_Wait", anybody.Wait, status)
    call("MPI_Request_free", anybody.Free)
    sent(me.right, 40)
    received(status.Get_source(), 40)
    digest(inbox[:10])
    digest.tell("persistent")


def cancelled(me):
    status = MPI.Status()
    request = call("MPI_Irecv", WORLD.Irecv, room(4), me.left, 120)
    call("MPI_Cancel", request.Cancel)
    call("MPI_Wait", request.Wait, status)
    digest([call("MPI_Test_cancelled", status.Is_cancelled)])
    digest.tell("cancelled")


def freed(me):
    out, inbox = message(9, me.rank, 126), room(9)
    request = call("MPI_Isend", WORLD.Isend, out, me.right, 126)
    call("MPI_Request_free", request.Free)
    call("MPI_Recv", WORLD.Recv, inbox, me.left, 126)
    sent(me.right, 36)
    received(me.left, 36)
    digest(inbox)
    # Nobody leaves, and nobody's buffer goes away, before every message has arrived.
    call("MPI_Barrier", WORLD.Barrier)
    digest.tell("freed")
