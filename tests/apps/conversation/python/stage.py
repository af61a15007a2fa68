"""What the parts of the Python conversation share; README.md tells the script."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "common"))

import numpy as np
from counting import also, call, received, sent
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
SELF = MPI.COMM_SELF


def message(many, source, tag):
    """The message of `many` numbers that world rank `source` sends with `tag`."""
    return np.array([(source * 1000 + tag * 10 + i * 7) % 9973 for i in range(many)], dtype="i")


def room(many):
    """Room for `many` numbers."""
    return np.zeros(many, dtype="i")


class Digest:
    """The running digest of a section."""

    def __init__(self):
        self.running = 7

    def __call__(self, numbers):
        for number in numbers:
            self.running = (self.running * 31 + int(number)) % 1000003

    def tell(self, section):
        print(section, self.running)
        self.running = 7


digest = Digest()


def nap():
    """A short sleep between two tests of something that has not happened yet."""
    time.sleep(0.0002)


class Cast:
    """The script's cast: ranks and communicators."""

    def __init__(self):
        self.rank = call("MPI_Comm_rank", WORLD.Get_rank)
        self.size = call("MPI_Comm_size", WORLD.Get_size)
        self.left = (self.rank + self.size - 1) % self.size
        self.right = (self.rank + 1) % self.size
        self.parity = self.rank % 2

    def world_of_half(self, which, member):
        """World rank of a rank of the half with this parity: its world ranks fall."""
        last = self.size - 1 if (self.size - 1) % 2 == which else self.size - 2
        return last - 2 * member

    def world_of_merged(self, member):
        """World rank of a rank of the merged communicator."""
        evens = (self.size + 1) // 2
        return self.world_of_half(0, member) if member < evens else self.world_of_half(1, member - evens)
