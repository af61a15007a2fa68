"""The first statement behind MPI's initialisation, which the import is, leaves a file: LOG_DIR/begun.PID."""

import os

from mpi4py import MPI

with open(os.path.join(os.environ["LOG_DIR"], f"begun.{os.getpid()}"), "w", encoding="utf-8"):
    pass
MPI.COMM_WORLD.Barrier()
