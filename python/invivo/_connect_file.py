"""`connect.json`: where a job's gateway listens and which tokens it takes.

Whoever can read it may steer the job, so a file that others could read or write is refused.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import Error

FILE_NAME = "connect.json"
# The layouts of the file that are known.
VERSIONS = range(1, 3)
# The longest file that is read.
BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True)
class Connect:
    """The contents of the file; tokens are not printed."""

    file: str
    """Its path."""
    is_local: bool
    """Whether that is a path of this host."""
    job: str
    socket: str
    view: str = field(repr=False)
    control: str = field(repr=False)
    pid: int
    pid_start_ticks: int
    host: str
    started_unix: int
    started_ns: int
    command: list[str]
    url: str | None
    authority: str | None = field(repr=False)
    tls_trouble: str | None
    observation: str | None

    @property
    def is_here(self) -> bool:
        """Whether the job's gateway runs on this host, as far as is known."""
        # The first version of the file had no host.
        return self.host in ("", os.uname().nodename)

    @property
    def is_over(self) -> bool:
        """Whether the job is over; of one on another host that is not known."""
        return self.is_here and not _runs(self.pid, self.pid_start_ticks)

    def has_ended(self) -> bool:
        """Whether the job is over or its measurement was shut down: its file is gone, or another
        job's, or its supervisor is gone."""
        if self.is_over:
            return True
        if not self.is_local:
            return False
        try:
            now = read(Path(self.file))
        except Error:
            return True
        return (now.job, now.view) != (self.job, self.view)


def read(path: Path) -> Connect:
    """The contents of a file. Raises Error where it cannot be used, with the reason."""
    try:
        # Without waiting: a pipe that nobody writes to would keep us.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Error(f"cannot read {path}", error.strerror or "") from error
    with open(number, "rb") as file:
        # Of the open file, not of the path: that could be exchanged between check and read.
        meta = os.fstat(number)
        if not stat.S_ISREG(meta.st_mode):
            raise Error(f"cannot read {path}", "it is no regular file")
        if meta.st_uid != os.geteuid() or meta.st_mode & 0o077:
            raise Error(
                f"{path} may be read or written by others, so its tokens cannot be trusted",
                f"owner {meta.st_uid}, mode {meta.st_mode & 0o7777:o}",
                f"if you made it so, run: chmod 600 {path}",
            )
        text = file.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise Error(f"{path} is too long", f"at most {BYTES_MAX} bytes are read")
    return parse(text, str(path))


def parse(text: bytes, file: str, host: str | None = None) -> Connect:
    """The contents of a file with this path and this text, of this host or of another one."""
    name = file if host is None else f"{file} on {host}"
    try:
        values: dict[str, Any] = json.loads(text)
        if values["version"] not in VERSIONS:
            raise Error(
                f"{name} has version {values['version']}",
                f"this package knows {VERSIONS.start} to {VERSIONS.stop - 1}",
                "use the package of the Invivo that started the job",
            )
        return Connect(
            file=file,
            is_local=host is None,
            job=values["job"],
            socket=values["socket"],
            view=values["view"],
            control=values["control"],
            pid=values["pid"],
            pid_start_ticks=values.get("pid_start_ticks", 0),
            host=values.get("host", ""),
            started_unix=values["started_unix"],
            started_ns=values.get("started_ns", 0),
            command=values["command"],
            url=values.get("url"),
            authority=values.get("authority"),
            tls_trouble=values.get("tls_trouble"),
            observation=values.get("observation"),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Error(f"{name} is no connect.json", f"{type(error).__name__}: {error}") from error


def jobs_dir() -> Path:
    """The directory of all jobs: `invivo/jobs` in `$XDG_STATE_HOME` or `~/.local/state`."""
    # A relative path would be another directory for each process of a job.
    for name, below in (("XDG_STATE_HOME", "invivo/jobs"), ("HOME", ".local/state/invivo/jobs")):
        path = Path(os.environ.get(name, ""))
        if path.is_absolute():
            return path / below
    raise Error("no state directory", "neither XDG_STATE_HOME nor HOME is set", "set one of them")


def start_ticks(line: str) -> int | None:
    """When a process started, by its `/proc/PID/stat`; None of one that does nothing any more."""
    # The name in parentheses may hold anything; the fields behind it are the third and so on.
    fields = line.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in "ZX":
        return None
    return int(fields[19])


def _runs(pid: int, ticks: int) -> bool:
    try:
        started = start_ticks(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    except OSError:
        return False
    # With its start time: the number may have been given to another process since.
    return started is not None and ticks in (0, started)
