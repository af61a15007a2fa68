"""Leaves the file LOG_DIR/begun.PID right behind the import, which initialises MPI."""

import os

from mpi4py import MPI

with open(os.path.join(os.environ["LOG_DIR"], f"begun.{os.getpid()}"), "w", encoding="utf-8"):
    pass
MPI.COMM_WORLD.Barrier()
