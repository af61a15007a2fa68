"""A running job."""

from __future__ import annotations

import time
from types import TracebackType

from . import answers
from ._calls import PATIENCE, RETRY_INTERVAL
from ._steer import Steers
from ._version import VERSION
from ._way import Way
from .errors import Error


class Job(Steers):
    """A running job, from `invivo.connect`. Use it in a `with` block, or call `close`.

    Methods may be called from several threads.
    """

    def __init__(self, way: Way, name: str) -> None:
        super().__init__(way, name)
        try:
            self._hello = self.hello()
            check_version(self._hello.gateway_version, name)
            self._wait_for_root()
        except BaseException:
            self.close()
            raise

    def _wait_for_root(self) -> None:
        """Waits a while where the gateway knows of no job: one of both may have just started."""
        deadline = time.monotonic() + PATIENCE
        while self._hello.job is None and time.monotonic() < deadline:
            time.sleep(RETRY_INTERVAL)
            self._hello = self.hello()
        if self._hello.job is not None:
            self._job = self._hello.job.id

    @property
    def id(self) -> str:
        """The job's id."""
        return self._job

    @property
    def ranks(self) -> int:
        """Ranks of the application. Raises Error where the root stays away from the gateway."""
        self._wait_for_root()
        if self._hello.job is None:
            raise Error(f"the root of job {self._job} is not connected", "", "try again")
        return self._hello.job.ranks

    @property
    def scope(self) -> str:
        """What may be done: "view" or "control"."""
        return self._hello.scope

    @property
    def token(self) -> str:
        """The token of that scope, for another `connect`. Keep it secret."""
        return self._way.control or self._way.view

    def hello(self) -> answers.HelloReply:
        """Version and capabilities of the gateway, and the job."""
        client = f"invivo for Python {VERSION}"
        # With the better token: the scope is what may be done.
        control = bool(self._way.control)
        return self._ask("Hello", answers.HelloReply, control=control, client=client)

    def invite(self, scope: str = "view", valid: float = 60) -> answers.InviteReply:
        """A secret that gives somebody else a token, once.

        scope: "view" or "control", at most one's own. valid: how long it waits to be used, in
        seconds, an hour at most. `url` of the reply is for `invivo.connect`
        where the job listens on TCP; a secret needs `ca` as well.
        """
        control = bool(self._way.control)
        valid_ns = round(valid * 1e9)
        reply = answers.InviteReply
        return self._ask("Invite", reply, control=control, scope=scope, valid_ns=valid_ns)

    def guests(self) -> answers.GuestsReply:
        """Who was invited. Needs the scope *control*."""
        return self._ask("Guests", answers.GuestsReply, control=True)

    def revoke(self, guest: int) -> answers.RevokeReply:
        """Takes back a guest's token, and those of whom it has invited; their connections are
        closed. Needs the scope *control*."""
        return self._ask("Revoke", answers.RevokeReply, control=True, guest=guest)

    def close(self) -> None:
        """Leaves the job; it runs on, and what was switched or paused stays so."""
        self._way.channel.close()
        self._way.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<job {self._job} at {self._way.address}>"


def check_version(theirs: str, job: str) -> None:
    """Raises Error where a gateway of this version speaks another language: the first number of
    the version differs."""
    if theirs.split(".")[0] != VERSION.split(".")[0]:
        raise Error(
            f"job {job} runs under Invivo {theirs}, and this is the package of {VERSION}",
            "they have different first numbers",
            "use the package of the Invivo that started the job",
        )
