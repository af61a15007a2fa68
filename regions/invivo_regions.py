"""Marks regions of a program for Invivo, in Python. Copy this file: it needs nothing else.

    with invivo_regions.region("solve"):    a region for this block
        ...

    @invivo_regions.region("solve")         a region for each call of this function
    def solve(): ...

    invivo_regions.begin("solve")           the same by hand: regions nest, and begin and end
    invivo_regions.end("solve")             in the same thread

Regions count between MPI_Init and MPI_Finalize, in threads that have called MPI: the first thread
has, once mpi4py.MPI is imported. In a process that Invivo does not observe they do nothing.
"""

import ctypes
import functools

__all__ = ["begin", "end", "region"]


def _find():
    # The library is there before the program or never. PyDLL, not CDLL, which would let go of the
    # interpreter's lock for each of these short calls, and so hand it to other threads.
    try:
        process = ctypes.PyDLL(None)
        functions = process.invivo_region_begin, process.invivo_region_end
    except (AttributeError, OSError):
        return None
    for function in functions:
        function.argtypes = [ctypes.c_char_p]
        function.restype = None
    return functions


_functions = _find()


def _bytes(name):
    # Whatever the name is: a program fails observed as it does alone, or not at all.
    return str(name).encode("utf-8", "replace")


if _functions:
    _begin, _end = _functions

    def begin(name):
        """Begins a region in the calling thread."""
        _begin(_bytes(name))

    def end(name=None):
        """Ends the innermost open region of this name, or the innermost of all."""
        _end(None if name is None else _bytes(name))

else:

    def begin(name):
        """Begins a region in the calling thread."""

    def end(name=None):
        """Ends the innermost open region of this name, or the innermost of all."""


class region:
    """A region, for a block (`with`) or for a function (a decorator).

    It may be used again and again, by several threads too. Not for generators and coroutines,
    which go away in the middle and come back.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        begin(self._name)
        return self

    def __exit__(self, *_):
        end(self._name)
        return False

    def __call__(self, function):
        if not _functions:
            return function

        @functools.wraps(function)
        def in_region(*args, **kwargs):
            begin(self._name)
            try:
                return function(*args, **kwargs)
            finally:
                end(self._name)

        return in_region
