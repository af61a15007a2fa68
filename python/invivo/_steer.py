"""What can be done to a job. All of it needs the scope *control*."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ._calls import ANSWER_TIME_MAX, nanoseconds
from ._look import Looks
from .answers import AuditEntry, CommandReply, StatusReply
from .errors import Error


class Steers(Looks):
    """Commands. Each returns when every rank has acknowledged it, and raises Error, with the reply
    in it, where not every rank has; where it was refused, or is not answered, too.

    An answer that was lost is fetched by the command's id: nothing is done twice.
    """

    def pause(self, lease: float = 600.0) -> CommandReply:
        """Pauses the application. One that is paused already gets this lease.

        lease: the longest that it stands, in s, at most 24 h; then it goes on by itself.
        """
        return self._command("Pause", "pause", lease_ns=nanoseconds(lease))

    def resume(self) -> CommandReply:
        """Ends a pause or a hold, whoever began it."""
        return self._command("Resume", "resume")

    def hold(self, lease: float = 600.0) -> CommandReply:
        """Holds every rank right behind its MPI_Init, and returns when all are held.

        lease: the longest that they are held, and that this call waits, in s; at most 24 h.
        """
        more = lease + ANSWER_TIME_MAX
        return self._command("Hold", "hold", more, lease_ns=nanoseconds(lease))

    def reset(self) -> CommandReply:
        """Discards everything recorded so far; no answer has it any more."""
        return self._command("Reset", "reset")

    def record(self, on: bool) -> CommandReply:
        """Switches recording. While it is off the application runs unobserved."""
        return self._command("Record", "record", on=on)

    def record_window(self, seconds: float) -> CommandReply:
        """Discards everything, records so long, the same interval on all ranks, and leaves
        recording off. Returns when all records of the window have arrived.

        seconds: length in s, from 0.001 to 24 h. `from_` and `to` of the reply say where it lies.
        """
        more = seconds + ANSWER_TIME_MAX
        return self._command(
            "RecordWindow", "record a window", more, length_ns=nanoseconds(seconds)
        )

    def strategy(self, strategy: str) -> CommandReply:
        """Changes which detail full buffers give up first: "time", or rules such as
        "duration:1ms"."""
        return self._command("SetStrategy", "set the strategy", strategy=strategy)

    def switch_analyses(self, *names: str, on: bool = True) -> CommandReply:
        """Switches analyses: "functions", "matrix", "messages", "heatmap", "sites", "waitstates",
        "regions", or "all"."""
        return self._command("SetAnalyses", "switch analyses", names=names, on=on)

    def select(
        self,
        exclude: str | Iterable[str] = (),
        include: str | Iterable[str] = (),
        replace: bool = False,
    ) -> CommandReply:
        """Chooses which regions and MPI functions are recorded, by rules: the last one that fits
        decides, and what none fits is recorded.

        exclude, include: what is left out and what is recorded, a pattern or several: "tiny_*",
            "source:lookup.c", "module:libm*", "group:coll", "shorter:1us@10000". Those of
            `include` come behind those of `exclude`.
        replace: they take the place of the rules in force; otherwise they come behind them.
        """
        wanted = rules(exclude, include)
        if not wanted:
            raise Error("no rules", "", "give patterns; job.select_all() records everything")
        return self._command("SetSelection", "select", replace=replace, rules=wanted)

    def select_all(self) -> CommandReply:
        """Records all regions and MPI functions again."""
        return self._command("SetSelection", "select all", replace=True, rules=[])

    def set_metrics(
        self, names: str | Iterable[str], interval: float | None = None
    ) -> CommandReply:
        """Measures these metrics of each rank, in place of those before; none ends it. What was
        measured so far stays.

        names: as in `metrics`, "page-faults,cpu-time" or ["page-faults", "cpu-time"]; "usual" stands
            for some that every machine has, "program" for what the program keeps itself.
        interval: s from one reading to the next, from 0.01 to 60; 0.1 by default.

        Raises Error where one of them cannot be measured of some rank: that rank is measured as
        before.
        """
        return self._command(
            "SetMetrics",
            "set metrics",
            names=[names] if isinstance(names, str) else list(names),
            interval_ns=nanoseconds(interval or 0),
        )

    def cap_overhead(self, share: float | None) -> CommandReply:
        """Keeps what the measurement takes of the ranks' time below a share of it: detail is given
        up while it is above, and comes back while it is well below. `status` says what is given up.

        share: from 0.001 to 1, as 0.02; None: no cap, and what was given up comes back.
        """
        if share is None:
            return self._command("SetOverhead", "take off the cap")
        return self._command("SetOverhead", "cap the overhead", cap=share)

    def sampling(self, frequency: int | None = None, *, timer: bool = False) -> CommandReply:
        """Samples every rank so many times a second of its time on a processor, 10000 at most, or
        no longer: 0. What was seen so far stays; see `profile`.

        frequency: 251 where nothing is said, and 99 by a timer.
        timer: by a timer in each rank, whose signal (SIGURG) the rank handles: where perf events
        are forbidden.
        """
        if frequency is None:
            frequency = 99 if timer else 251
        return self._command(
            "SetSampling", "switch sampling", frequency=frequency, by_timer=timer
        )

    def shutdown(self) -> CommandReply:
        """Ends the measurement for good: the report is written now, and the job runs on
        unobserved. It cannot be reached any more then."""
        return self._command("Shutdown", "shut down")

    @contextmanager
    def paused(self, lease: float = 600.0) -> Iterator[StatusReply]:
        """Pauses the application for a block, and resumes it behind it, also after an exception.

        Where somebody else has paused it, before or meanwhile, it stays paused: the block runs, and
        nothing is resumed behind it. The value is the status at the begin of the block.

        lease: as of `pause`; a block that takes longer runs beside an application that goes on.

        Raises Error where a rank is held behind its MPI_Init, because a resume would end that, too.
        """
        before = max((entry.sequence for entry in self.audit()), default=0)
        status = self.status()
        ranks = status.status.ranks
        if ranks.held > 0:
            raise Error(
                f"{ranks.held} ranks of job {self._job} are held behind MPI_Init",
                "to resume would end that, too",
                "first job.resume()",
            )
        if status.status.pause is not None:
            yield status
            return
        number = fresh_id()
        try:
            self._command("Pause", "pause", number=number, lease_ns=nanoseconds(lease))
            yield self.status()
        finally:
            # Also where some ranks were not paused, or somebody did not wait for the answer: a
            # command goes on without its client.
            self._resume_own(number, before)

    def _resume_own(self, number: int, before: int) -> None:
        """Ends the pause of this command, unless another one took its place, or it took that of
        one that was given since the entry `before` of the audit log."""
        pause = self.status().status.pause
        if pause is None or pause.command_id != number:
            return
        if not _took_anothers_place(list(self.audit()), number, before):
            self.resume()

    def _command(
        self,
        name: str,
        what: str,
        timeout: float = 2 * ANSWER_TIME_MAX,
        number: int | None = None,
        **fields: Any,
    ) -> CommandReply:
        # Chosen here, so that a repeated call is the same command.
        fields["command_id"] = fresh_id() if number is None else number
        reply = self._ask(name, CommandReply, control=True, timeout=timeout, **fields)
        if not is_complete(reply):
            reasons = [f"rank {failure.rank} {failure.why}" for failure in reply.failures]
            reasons += [f"tool process {process} is silent" for process in reply.missing]
            raise Error(
                f"{what}: done on {reply.done} of {reply.targets} ranks of job {self._job}",
                ", ".join(reasons),
                "see what they do: job.status()",
                reply=reply,
            )
        return reply


def rules(exclude: str | Iterable[str], include: str | Iterable[str]) -> list[dict[str, Any]]:
    """Rules as the interface has them."""
    wanted: list[dict[str, Any]] = []
    for patterns, is_included in [(exclude, False), (include, True)]:
        every = [patterns] if isinstance(patterns, str) else patterns
        wanted += [{"include": is_included, "fits": fits} for fits in every]
    return wanted


def fresh_id() -> int:
    """A command's id that no other command has; 0 would leave the choice to the gateway."""
    return 1 + secrets.randbits(63)


def is_complete(reply: CommandReply) -> bool:
    """Whether every rank has acknowledged, and there was one."""
    all_done = reply.done == reply.targets > 0
    return all_done and not reply.failures and not reply.missing


def _took_anothers_place(entries: list[AuditEntry], number: int, before: int) -> bool:
    """Whether a pause or hold was in force when this one was given."""
    own = next((entry.sequence for entry in entries if entry.command_id == number), 0)
    others = [
        entry.command
        for entry in entries
        if before < entry.sequence < own and entry.command in ("pause", "hold", "resume")
    ]
    return bool(others) and others[-1] != "resume"
