"""Calls of a gateway: tokens, patience while it starts again, and errors in words."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

import grpc

from . import _wire
from ._answer import Answer
from ._frame import frame, rows
from ._way import Way
from .errors import Error

if TYPE_CHECKING:
    import pandas

# How long a call waits for a gateway or a root that is unreachable, in s: they may be starting, or
# starting again.
PATIENCE = 5.0
RETRY_INTERVAL = 0.1
# The longest that an answer takes, in s; commands say how much longer they may.
ANSWER_TIME_MAX = 30.0

A = TypeVar("A", bound=Answer)


class Parts(Iterator[A], Generic[A]):
    """An answer that comes in parts: iterate over it, once, or make a table of all of them."""

    def __init__(self, parts: Iterator[A]) -> None:
        self._parts = parts

    def __next__(self) -> A:
        return next(self._parts)

    def frame(self) -> pandas.DataFrame:
        """The rows of all parts that are left as one pandas DataFrame. Raises Error where pandas
        is not installed, or where a part does not come."""
        return frame(row for part in self for row in rows(part))


class Calls:
    """A channel to the gateway of one job."""

    def __init__(self, way: Way, job: str) -> None:
        self._way = way
        self._job = job

    def _ask(
        self,
        name: str,
        kind: type[A],
        *,
        control: bool = False,
        timeout: float = ANSWER_TIME_MAX,
        **fields: Any,
    ) -> A:
        """The answer to a call. It is made again while the gateway or the root is away; commands
        have an id that makes all of them one."""
        call = self._way.channel.unary_unary(_path(name), None, _wire.reader(name))
        request = _request(name, fields)
        deadline = time.monotonic() + PATIENCE
        while True:
            begun = time.monotonic()
            try:
                answer = call(request, timeout=timeout, metadata=self._metadata(control))
                return cast(A, answer)
            except grpc.RpcError as error:
                now = time.monotonic()
                # A long call that fails has lost its gateway just now.
                if now - begun > PATIENCE:
                    deadline = now + PATIENCE
                # Every other code is an answer, and stays the same however often it is requested.
                if error.code() != grpc.StatusCode.UNAVAILABLE or now >= deadline:
                    self._fail(error)
            time.sleep(RETRY_INTERVAL)

    def _stream(self, name: str, kind: type[A], **fields: Any) -> Iterator[A]:
        """The parts of an answer as they come; the call ends with the iteration."""
        call = self._way.channel.unary_stream(_path(name), None, _wire.reader(name))
        parts = call(_request(name, fields), metadata=self._metadata(False))
        try:
            for part in parts:
                yield cast(A, part)
        except grpc.RpcError as error:
            self._fail(error)
        finally:
            parts.cancel()

    def _patient_stream(self, name: str, kind: type[A], **fields: Any) -> Iterator[A]:
        """As `_stream`, begun again while the gateway is away and nothing has come."""
        deadline = time.monotonic() + PATIENCE
        while True:
            is_begun = False
            try:
                for part in self._stream(name, kind, **fields):
                    is_begun = True
                    yield part
                return
            except Error as error:
                is_late = time.monotonic() >= deadline
                if error.code != "UNAVAILABLE" or is_begun or is_late:
                    raise
            time.sleep(RETRY_INTERVAL)

    def _follow(self, name: str, kind: type[A], **fields: Any) -> Iterator[A]:
        """As `_stream`, until the job ends: begun again where the gateway was away meanwhile."""
        deadline = time.monotonic() + PATIENCE
        has_ended_well = False
        while True:
            failure = None
            try:
                for part in self._stream(name, kind, **fields):
                    has_ended_well = False
                    yield part
                    deadline = time.monotonic() + PATIENCE
                has_ended_well = True
            except Error as error:
                failure = error
            # A gateway that leaves with its job may fail in any way.
            if self._way.has_ended():
                return
            if failure is not None and failure.code != "UNAVAILABLE":
                raise failure
            # From elsewhere the end of the job is a stream that ended well, and nobody afterwards.
            if time.monotonic() >= deadline:
                if failure is None or has_ended_well:
                    return
                raise failure
            time.sleep(RETRY_INTERVAL)

    def _metadata(self, control: bool) -> tuple[tuple[str, str], ...]:
        token = self._way.control if control else self._way.view
        return (("authorization", f"Bearer {token}"),) if token else ()

    def _fail(self, error: Any) -> NoReturn:
        code = error.code()
        why = error.details() or ""
        what, next = self._words(code)
        raise Error(what, why, next, code.name) from error

    def _words(self, code: grpc.StatusCode) -> tuple[str, str]:
        """What failed, and what to do."""
        job = f"job {self._job}"
        if code == grpc.StatusCode.UNAVAILABLE:
            return (
                f"the gateway of {job} does not answer on {self._way.address}; the application is "
                "not affected",
                "see whether the job still runs: invivo.jobs()",
            )
        if code == grpc.StatusCode.UNAUTHENTICATED:
            return f"the gateway of {job} refuses the token", "connect again"
        if code == grpc.StatusCode.PERMISSION_DENIED:
            return f"{job} does not permit this", "connect with a token of the scope control"
        if code == grpc.StatusCode.UNIMPLEMENTED:
            return (
                f"the gateway of {job} is of another version and does not know this call",
                "use the package of the Invivo that started the job",
            )
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"{job} did not answer in time", "see what its ranks do: job.status()"
        return job, ""


def _path(name: str) -> str:
    return f"/{_wire.SERVICE}/{name}"


def _request(name: str, fields: dict[str, Any]) -> bytes:
    try:
        return _wire.request(name, fields)
    except (TypeError, ValueError) as error:
        raise Error(f"{name} cannot be asked like this", str(error)) from error


def nanoseconds(seconds: float) -> int:
    """A length of time in ns. Raises Error where it is none."""
    if not (math.isfinite(seconds) and 0 <= seconds < 1e9):
        raise Error(f"{seconds} is no length of time", "", "give seconds, as 0.5")
    return round(seconds * 1e9)
