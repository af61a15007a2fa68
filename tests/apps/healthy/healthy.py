"""Healthy programs of different kinds, one after the other, as `healthy.c` has them.

The kind whose file LOG_DIR/KIND was made last in the order of KINDS runs, until LOG_DIR/stop
appears.
"""

import os
import time

import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
LOGS = os.environ["LOG_DIR"]


def work(ms):
    """Sleeps outside of MPI, so that ranks do not compete for processors."""
    time.sleep(ms * 1e-3)


def settings(step):
    """Rank 0 knows something that all need, as an object."""
    known = {"step": step, "names": ["x", "y"]} if RANK == 0 else None
    assert WORLD.bcast(known)["step"] == step
    work(30)


def gradients(step):
    """Each rank has gradients, all need their sum."""
    mine = numpy.full(2000, RANK + step, dtype="d")
    work(30)
    total = numpy.empty_like(mine)
    WORLD.Allreduce(mine, total)
    assert total[-1] == SIZE * step + SIZE * (SIZE - 1) / 2


def shifts(step):
    """What a rank has goes to the next one while it works."""
    mine = numpy.full(1000, RANK + step, dtype="i")
    theirs = numpy.empty_like(mine)
    requests = [
        WORLD.Irecv(theirs, source=(RANK - 1) % SIZE),
        WORLD.Isend(mine, dest=(RANK + 1) % SIZE),
    ]
    work(30)
    MPI.Request.Waitall(requests)
    assert theirs[0] == (RANK - 1) % SIZE + step


def samples(_step):
    """Rank 0 collects what all have found, after some work."""
    for _ in range(3):
        work(30)
    found = WORLD.gather({"rank": RANK, "values": list(range(100))})
    assert RANK != 0 or [one["rank"] for one in found] == list(range(SIZE))


KINDS = [settings, gradients, shifts, samples]


def wanted():
    """The kind to run, by its number; behind the last one it is time to stop."""
    if os.path.exists(os.path.join(LOGS, "stop")):
        return len(KINDS)
    asked = [
        kind
        for kind, of in enumerate(KINDS)
        if os.path.exists(os.path.join(LOGS, of.__name__))
    ]
    return max(asked, default=0)


def main():
    """Runs them."""
    running = None
    while True:
        kind = WORLD.allreduce(wanted() if RANK == 0 else 0, op=MPI.MAX)
        if kind == len(KINDS):
            break
        if kind != running and RANK == 0:
            with open(
                os.path.join(LOGS, "running." + KINDS[kind].__name__), "w", encoding="utf-8"
            ):
                pass
        running = kind
        for step in range(4):
            KINDS[kind](step)
    print(f"rank {RANK}: done")


main()
