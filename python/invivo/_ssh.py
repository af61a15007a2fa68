"""A way to jobs by `ssh`: one connection, over which the gateway's Unix socket is forwarded.

The server's end of a forwarded socket is a process of the same user there, which is what the
gateway asks of a peer, and the tokens are read over the same connection. On the other side nothing
is needed but OpenSSH and a shell. A job on another node than the login's is reached through it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from . import _connect_file, _find, _way
from ._connect_file import Connect
from .errors import Error

# The longest that logging in takes, in s: somebody may have to type a password.
LOGIN_TIME_MAX = 120.0
# The longest that a command over the connection takes, in s.
COMMAND_TIME_MAX = 30.0
# Prints the host's name, then of every job the path of its file, the state of its process, and the
# file. The separators stand in no JSON text.
LIST = r"""
printf '\035%s' "$(uname -n)"
for file in "${XDG_STATE_HOME:-$HOME/.local/state}"/invivo/jobs/*/connect.json; do
    [ -f "$file" ] && [ -O "$file" ] || continue
    case $(ls -ld "$file") in -r?-------*) ;; *) continue ;; esac
    pid=$(sed -n 's/^ *"pid": *\([0-9]*\).*/\1/p' "$file")
    printf '\036%s\037%s\037' "$file" "$(cat "/proc/$pid/stat" 2>/dev/null)"
    cat "$file"
done
"""


class Login:
    """A connection to a host by `ssh`, until it is closed."""

    def __init__(self, to: str, through: Login | None = None) -> None:
        if not to or to.startswith("-") or re.search(r"\s", to):
            raise Error(f"{to!r} is no host", "", 'give one as "me@login" or "ssh://me@login:2222"')
        self._to = to
        self._through = through
        self._host = ""
        self._beyond: list[Login] = []
        # Of mode 0700: whoever reaches what lies in it uses the connection.
        self._directory = Path(tempfile.mkdtemp(prefix="invivo-ssh-"))
        try:
            self._master = self._start()
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        self._end = weakref.finalize(self, _end, self._master, self._directory)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def jobs(self) -> list[Connect]:
        """The jobs that run, as far as that host knows, the oldest first."""
        _, mark, answer = self._run(LIST).rpartition("\035")
        self._host, *files = answer.split("\036")
        if not mark or not self._host:
            raise Error(f"{self._to} does not list its jobs", "", "is its shell one of POSIX?")
        found = []
        for file in files:
            path, state, text = file.split("\037", 2)
            connect = _connect_file.parse(text.encode(), path, self._to)
            ticks = _connect_file.start_ticks(state)
            runs = ticks is not None and connect.pid_start_ticks in (0, ticks)
            if runs or not self.is_there(connect):
                found.append(connect)
        return _find.in_order(found)

    def is_there(self, connect: Connect) -> bool:
        """Whether a job's gateway runs on that host itself."""
        return connect.host in ("", self._host)

    def can_reach(self, connect: Connect) -> bool:
        """Whether there is a way from that host to a job's."""
        return self.is_there(connect) or _is_host(connect.host)

    def channel(self, connect: Connect) -> Any:
        """A channel to the gateway of one of the jobs."""
        if not self.is_there(connect):
            return self._hop(connect.host).channel(connect)
        # The token goes to whoever listens there.
        if "ours" not in self._run(f"test -O {shlex.quote(connect.socket)} && echo ours"):
            raise Error(
                f"{connect.socket} on {self._to} is not there, or not this user's",
                "",
                "see whether the job still runs: invivo.jobs(on=...)",
            )
        local = str(self._directory / "gateway")
        self._control("forward", "-L", f"{local}:{connect.socket}")
        return _way.unix(local)

    def close(self) -> None:
        """Ends the connection, and those that go through it."""
        for beyond in self._beyond:
            beyond.close()
        self._end()

    def _hop(self, host: str) -> Login:
        """A connection through this one, as the same user."""
        user = urlsplit(self._to if "//" in self._to else f"//{self._to}").username
        beyond = Login(f"{user}@{host}" if user else host, self)
        # On its own host a job is there, whatever that calls itself.
        beyond._host = host
        self._beyond.append(beyond)
        return beyond

    def __enter__(self) -> Login:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        options = ["-M", "-N", "-T"]
        for option in ("ControlPersist=no", "ClearAllForwardings=yes", "ServerAliveInterval=15"):
            options += ["-o", option]
        if self._through is not None:
            before = shlex.join(self._through._ssh("-W", "%h:%p"))
            options += ["-o", f"ProxyCommand={before}"]
        # Ctrl-C is for the program that waits, and must not end its connection.
        shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
        with open(self._directory / "stderr", "wb") as stderr:
            try:
                return subprocess.Popen(
                    shell + self._ssh(*options),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                )
            except OSError as error:
                raise Error("ssh cannot be started", str(error)) from error

    def _wait(self) -> None:
        """Waits until the connection is there."""
        deadline = time.monotonic() + LOGIN_TIME_MAX
        while time.monotonic() < deadline:
            if self._master.poll() is not None:
                said = (self._directory / "stderr").read_text(errors="replace").strip()
                raise Error(f"ssh cannot connect to {self._to}", said, f"try: ssh {self._to}")
            if (self._directory / "control").exists():
                self._control("check")
                return
            time.sleep(0.05)
        raise Error(f"ssh did not connect to {self._to}", f"within {LOGIN_TIME_MAX:.0f} s")

    def _ssh(self, *options: str) -> list[str]:
        return ["ssh", "-S", str(self._directory / "control"), *options, self._to]

    def _control(self, *command: str) -> None:
        self._finish(self._ssh("-O", *command), None)

    def _run(self, script: str) -> str:
        """What a shell script prints on that host."""
        # Given on standard input: the user's shell there may be any.
        return self._finish([*self._ssh("-T"), "sh", "-s"], script)

    def _finish(self, command: list[str], script: str | None) -> str:
        try:
            done = subprocess.run(
                command,
                input=script or "",
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMMAND_TIME_MAX,
            )
        except subprocess.TimeoutExpired as error:
            raise Error(f"{self._to} does not answer over ssh", str(error)) from error
        # What the script has not found is no failure of the connection, whose status is 255.
        if done.returncode and (script is None or done.returncode == 255):
            raise Error(f"ssh to {self._to} failed", done.stderr.strip())
        return done.stdout


def _is_host(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def _end(master: subprocess.Popen[bytes], directory: Path) -> None:
    master.terminate()
    try:
        master.wait(5)
    except subprocess.TimeoutExpired:
        master.kill()
        master.wait()
    shutil.rmtree(directory, ignore_errors=True)
