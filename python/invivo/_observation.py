"""Opens a saved observation, by the `invivo` command."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from typing import IO

from . import _connect, _find
from ._connect_file import Connect
from .errors import Error
from .job import Job

# Between two looks whether it is open; and how long one that was found may not listen yet, in s.
LOOK_INTERVAL = 0.02
LISTENS_WITHIN = 10.0


def open_observation(
    directory: str | os.PathLike[str], *, program: str | os.PathLike[str] = "invivo"
) -> Job:
    """A saved observation, which answers as the job did: what `invivo save` or `--save` has written
    to this directory. It is open until the returned object is closed.

    program: the `invivo` command, if it is not in the PATH.

    Raises Error where it cannot be opened. What needs processes that run raises it as well.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                [program, "open", directory],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        except OSError as error:
            raise Error(
                f"cannot start {program}", error.strerror or "", "give its path: program="
            ) from error
        try:
            return _job(process, said, directory)
        except BaseException:
            _end(process)
            raise


def _job(process: subprocess.Popen[bytes], said: IO[bytes], what: object) -> Job:
    """The job that the process stands for, once it is open."""
    until = None
    while True:
        for connect in _find.running():
            if connect.pid != process.pid:
                continue
            # It can be found a moment before it listens.
            until = until or time.monotonic() + LISTENS_WITHIN
            try:
                return _opened(connect, process)
            except Error:
                if time.monotonic() > until:
                    raise
        if process.poll() is not None:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            why = lines[-1].removeprefix("invivo: ") if lines else f"status {process.returncode}"
            raise Error(f"cannot open {what}", why, "see invivo open --help")
        time.sleep(LOOK_INTERVAL)


def _opened(connect: Connect, process: subprocess.Popen[bytes]) -> Job:
    job = _connect.opened(connect)
    job._way.close = lambda: _end(process)
    return job


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
