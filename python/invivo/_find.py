"""The running jobs of this user, and the one that is meant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import _connect_file
from ._answer import Answer
from ._connect_file import Connect
from .errors import Error

START = "start one: invivo run -- mpiexec -n 4 ./app"


@dataclass(frozen=True)
class RunningJob(Answer):
    """A running job, in the words of `invivo list --json`."""

    job: str
    """Its name, for `connect`."""
    pid: int
    """Process of the root's supervisor."""
    host: str
    """Where that runs."""
    here: bool
    """Whether the socket can be reached from here."""
    started_unix: int
    """Start, in s since 1970."""
    started_ns: int
    """Start in job time, in ns."""
    command: list[str]
    """The application's command line."""
    socket: str
    """Path of the gateway's socket."""
    connect: str
    """Path of `connect.json`."""
    observation: str | None = None
    """Directory of the saved observation that answers instead of a job."""

    @classmethod
    def of(cls, connect: Connect, here: bool) -> RunningJob:
        """What may be shown of a job: all but its tokens."""
        return cls(
            job=connect.job,
            pid=connect.pid,
            host=connect.host,
            here=here,
            started_unix=connect.started_unix,
            started_ns=connect.started_ns,
            command=connect.command,
            socket=connect.socket,
            connect=connect.file,
            observation=connect.observation,
        )


def running() -> list[Connect]:
    """The jobs in this user's state directory that run, the oldest first. A file that cannot be
    used is a warning."""
    directory = _connect_file.jobs_dir()
    found = []
    try:
        paths = [entry / _connect_file.FILE_NAME for entry in directory.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Error(f"cannot read {directory}", error.strerror or "") from error
    for path in paths:
        # A job that is about to begin, or has just ended, has none.
        if not path.exists():
            continue
        try:
            connect = _connect_file.read(path)
        except Error as error:
            warnings.warn(str(error), stacklevel=3)
            continue
        if not connect.is_over:
            found.append(connect)
    return in_order(found)


def in_order(jobs: Iterable[Connect]) -> list[Connect]:
    """The oldest first."""
    return sorted(jobs, key=lambda job: (job.started_unix, job.job))


def only(jobs: list[Connect], name: str | None, is_here: Callable[[Connect], bool]) -> Connect:
    """The job of this name or number, or the only one. Raises Error with the choice there is."""
    if name is not None:
        meant = next((job for job in jobs if job.job == _full(name, jobs)), None)
        if meant is None:
            raise Error(f"no job {name} is running here", "", "see invivo.jobs()")
        if not is_here(meant):
            raise Error(
                f"job {meant.job} runs on {meant.host}",
                "its socket can only be reached there",
                f"go there, or start it with invivo run --listen {meant.host}:0",
            )
        return meant
    here = [job for job in jobs if is_here(job)]
    if len(here) == 1:
        return here[0]
    if here:
        names = ", ".join(job.job for job in here)
        raise Error(f"{len(here)} jobs are running", names, "say which: invivo.connect(job)")
    if jobs:
        raise Error(f"no job is running on this host, but {len(jobs)} on others", "", "go there")
    raise Error("no job is running", "", START)


def _full(part: str, jobs: list[Connect]) -> str:
    """The job's whole name, where a part of it names one: what stands behind its last dash, as
    4711 of node17-4711, or how it begins. Otherwise as it was given."""

    def named(is_meant: Callable[[str], bool]) -> str | None:
        meant = [job.job for job in jobs if is_meant(job.job)]
        return meant[0] if len(meant) == 1 else None

    return (
        named(lambda job: job == part)
        or named(lambda job: "-" in job and job.rpartition("-")[2] == part)
        or named(lambda job: part != "" and job.startswith(part))
        or part
    )
