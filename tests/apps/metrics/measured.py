"""Counts its steps, of about 10 ms, with a barrier in each: `measured.py [SECONDS]`.

The value `cells` is 1000 + RANK; the counter `twice` is counted by twos. In the end each rank
prints `rank R steps N`. PYTHONPATH has the folder of invivo_regions.py.
"""

import sys
import time

sys.dont_write_bytecode = True  # The sources may lie where nothing is to be written.

import invivo_regions
from mpi4py import MPI


def main(seconds):
    comm, steps, goes_on = MPI.COMM_WORLD, 0, True
    begun = time.monotonic()
    while goes_on:
        invivo_regions.count("steps")
        invivo_regions.count("twice", 2)
        # Nothing happens with these.
        invivo_regions.count("steps", -1)
        invivo_regions.count("steps", "none")
        invivo_regions.set_value("cells", 1000 + comm.rank)
        steps += 1
        time.sleep(0.01)
        comm.Barrier()
        goes_on = comm.allreduce(time.monotonic() - begun < seconds, MPI.LAND)
    print(f"rank {comm.rank} steps {steps}")


main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
