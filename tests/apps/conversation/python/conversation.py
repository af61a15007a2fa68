"""The conversation in Python with mpi4py. `conversation.py [STATUS]`: the last rank leaves with STATUS."""

import sys
import time

sys.dont_write_bytecode = True  # The sources may lie where nothing is to be written.

from stage import MPI, Cast, call

import collectives
import communicators
import completion
import counting
import messages
import wildcard

SECTIONS = (
    communicators.make_communicators,
    messages.blocking,
    completion.nonblocking,
    completion.completion,
    completion.persistent,
    wildcard.wildcard,
    messages.sendrecv,
    messages.nobody,
    messages.probe,
    collectives.collectives,
    collectives.nonblocking_collectives,
    communicators.intercommunicator,
    communicators.groups,
    completion.cancelled,
    messages.derived,
    messages.zero,
    completion.freed,
    messages.many,
    messages.objects,
    communicators.free_communicators,
)


def main():
    me = Cast()
    for section in SECTIONS:
        section(me)
    call("MPI_Finalize", MPI.Finalize)
    counting.write(me.rank)
    status = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    # The last rank leaves late and with the status that was asked for: some launchers end all others at once when one
    # leaves with another status than 0, be it after MPI_Finalize.
    if status == 0 or me.rank != me.size - 1:
        sys.exit(0)
    sys.stdout.flush()
    time.sleep(0.5)
    sys.exit(status)


main()
