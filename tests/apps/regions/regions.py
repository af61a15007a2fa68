"""Rounds in known marked regions: what regions.c does, with the same log: `regions.py [ROUNDS]`.

`outer` and `inner` are functions with the decorator. PYTHONPATH has the folder of
invivo_regions.py.
"""

import os
import sys
import time
from array import array

sys.dont_write_bytecode = True  # The sources may lie where nothing is to be written.

import invivo_regions
from mpi4py import MPI

OUTERS, INNERS, SETUP_NS, INNER_NS, INTS = 2, 5, 200_000, 100_000, 25_000


class Logged:
    """A region with its own measurement; its lines are those of region_log.h."""

    lines, open = {}, []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        # Begin, time in regions below, in MPI below, and in MPI of its own.
        self.open.append([time.monotonic_ns(), 0, 0, 0])

    def __exit__(self, *_):
        ended = time.monotonic_ns()
        begun, below, mpi, own_mpi = self.open.pop()
        line = self.lines.setdefault(self.name, [0] * 5)
        more = 1, ended - begun, ended - begun - below, mpi, own_mpi
        line[:] = (sum(pair) for pair in zip(line, more))
        if self.open:
            self.open[-1][1] += ended - begun
            self.open[-1][2] += mpi


def timed(method, *args, **kwargs):
    begun = time.monotonic_ns()
    method(*args, **kwargs)
    spent = time.monotonic_ns() - begun
    for place in 2, 3:
        Logged.open[-1][place] += spent


def compute(ns):
    until = time.monotonic_ns() + ns
    while time.monotonic_ns() < until:
        pass


@invivo_regions.region("inner")
def inner(comm):
    with Logged("inner"):
        compute(INNER_NS * (1 + comm.rank % 2))


@invivo_regions.region("outer")
def outer(comm):
    with Logged("outer"):
        for _ in range(INNERS):
            inner(comm)
        one, ranks = array("i", [1]), array("i", [0])
        timed(comm.Allreduce, one, ranks)
        return ranks[0]


def main(rounds):
    comm, total = MPI.COMM_WORLD, 0
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    out, into = array("i", bytes(4 * INTS)), array("i", bytes(4 * INTS))
    for _ in range(rounds):
        with invivo_regions.region("setup"), Logged("setup"):
            compute(SETUP_NS)
        with invivo_regions.region("solve"), Logged("solve"):
            for _ in range(OUTERS):
                total += outer(comm)
            timed(comm.Barrier)
        invivo_regions.begin("exchange")
        with Logged("exchange"):
            out[0] = comm.rank
            timed(comm.Sendrecv, out, right, 5, recvbuf=into, source=left, recvtag=5)
            total += into[0]
        invivo_regions.end("exchange")

    logs = os.environ.get("LOG_DIR", ".")
    with open(f"{logs}/{comm.rank}.regions", "w", encoding="ascii") as file:
        for name, line in Logged.lines.items():
            print(name, *line, file=file)
    if "LOG_DIR" in os.environ:
        open(f"{logs}/{comm.rank}.done", "w").close()
        while not os.path.exists(f"{logs}/stop"):
            time.sleep(0.001)
    print(f"rank {comm.rank}: {rounds} rounds, sum {total}")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
