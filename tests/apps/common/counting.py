"""What counting.h is for C. See there for the file.

An mpi4py method may call more MPI functions than the one it is named after (new communicators get an error handler, for
example). Those in the `call` lines are counted completely; what mpi4py calls beside them is the PMPI counter's business.
With an MPI 4 it is MPI_X_c that mpi4py calls for MPI_X.
"""

import os
from collections import Counter

_calls = Counter()
_sent = Counter()
_received = Counter()


def call(function, method, *args, **kwargs):
    """Calls a method of mpi4py and counts a call of the MPI function that it stands for."""
    _calls[function] += 1
    return method(*args, **kwargs)


def also(*functions):
    """Counts calls that the latest method is known to make."""
    _calls.update(functions)


def sent(destination, size):
    """This rank sent one message of `size` bytes to a world rank."""
    _sent[destination, "messages"] += 1
    _sent[destination, "bytes"] += size


def received(source, size):
    """This rank received one message of `size` bytes from a world rank."""
    _received[source, "messages"] += 1
    _received[source, "bytes"] += size


def write(rank):
    """Writes the file that COUNTS_FILE names."""
    pattern = os.environ.get("COUNTS_FILE")
    if not pattern:
        return
    with open(pattern.replace("%r", str(rank)), "w", encoding="ascii") as file:
        for function, calls in _calls.items():
            print("call", rank, function, calls, sep="\t", file=file)
        for traffic, row in (
            (_sent, lambda peer: ("sent", rank, peer)),
            (_received, lambda peer: ("received", peer, rank)),
        ):
            for peer in sorted({peer for peer, _ in traffic}):
                print(*row(peer), traffic[peer, "messages"], traffic[peer, "bytes"], sep="\t", file=file)
