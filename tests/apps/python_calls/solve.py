"""Ranks in known Python functions: `solve.py WAY`. Lines in which a rank is, or from which it calls, are marked `at WHAT`.

    waits   all ranks but the last wait in comm.recv for the last, which sleeps until LOG_DIR/stop appears, and then sends
    aborts  rank 1 ends itself by os.abort
    reads   rank 1 reads from address 8, through ctypes

    main - Solver.step - exchange.receive - MPI    ranks that wait
         - rest - sleep                            the last
         - fault - give_up, or read                rank 1
"""

import ctypes
import os
import sys
import time

sys.dont_write_bytecode = True  # The sources may lie where nothing is to be written.

import exchange
from mpi4py import MPI


class Solver:
    def __init__(self, comm):
        self.comm = comm

    def step(self):
        return exchange.receive(self.comm)  # at step


def rest():
    while not os.path.exists(os.path.join(os.environ["LOG_DIR"], "stop")):
        time.sleep(0.05)  # at rest


def give_up():
    os.abort()  # at aborts


def read():
    return ctypes.string_at(8)  # at reads


def fault(way):
    {"aborts": give_up, "reads": read}[way]()  # at fault


def main(way):
    comm = MPI.COMM_WORLD
    last = comm.size - 1
    print(f"rank {comm.rank} has begun", flush=True)
    comm.Barrier()
    if way != "waits" and comm.rank == 1:
        fault(way)  # at main fault
    elif comm.rank < last:
        print(f"rank {comm.rank} has {Solver(comm).step()}", flush=True)  # at main step
    else:
        rest()  # at main rest
        for rank in range(last):
            comm.send(rank * rank, dest=rank, tag=7)


main(sys.argv[1])  # at module
