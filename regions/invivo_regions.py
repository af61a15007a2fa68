"""Marks regions of a program for Invivo, and tells it numbers, in Python. Copy this file: it needs
nothing else.

    with invivo_regions.region("solve"):    a region for this block
        ...

    @invivo_regions.region("solve")         a region for each call of this function
    def solve(): ...

    invivo_regions.begin("solve")           the same by hand: regions nest, and begin and end
    invivo_regions.end("solve")             in the same thread

    invivo_regions.count("steps")           adds 1 to a counter, or as many as come behind the name
    invivo_regions.set_value("cells", n)    sets a value

Regions count between MPI_Init and MPI_Finalize, in threads that have called MPI: the first thread
has, once mpi4py.MPI is imported. In a process that Invivo does not observe they do nothing.

Counters and values are whole numbers from 0 on, of the rank: from MPI_Init on, in any thread. What
is negative, or no number, does nothing. Of a name 32 bytes are looked at, and there is room for 16
names; more are left out.
"""

import ctypes
import functools

__all__ = ["begin", "count", "end", "region", "set_value"]


def _find(names, arguments):
    # The library is there before the program or never. PyDLL, not CDLL, which would let go of the
    # interpreter's lock for each of these short calls, and so hand it to other threads.
    try:
        process = ctypes.PyDLL(None)
        functions = [getattr(process, name) for name in names]
    except (AttributeError, OSError):
        return None
    for function in functions:
        function.argtypes = arguments
        function.restype = None
    return functions


_functions = _find(["invivo_region_begin", "invivo_region_end"], [ctypes.c_char_p])
# Earlier versions of the library have regions alone.
_numbers = _find(["invivo_counter_add", "invivo_value_set"], [ctypes.c_char_p, ctypes.c_uint64])


def _bytes(name):
    # Whatever the name is: a program fails observed as it does alone, or not at all.
    return str(name).encode("utf-8", "replace")


def _tell(function, name, number):
    try:
        number = int(number)
    except Exception:  # As above: it may be of any type, and a value that is none.
        return
    if 0 <= number < 1 << 64:
        function(_bytes(name), number)


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


if _numbers:
    _counter_add, _value_set = _numbers

    def count(name, n=1):
        """Adds to a counter."""
        _tell(_counter_add, name, n)

    def set_value(name, value):
        """Sets a value."""
        _tell(_value_set, name, value)

else:

    def count(name, n=1):
        """Adds to a counter."""

    def set_value(name, value):
        """Sets a value."""


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
