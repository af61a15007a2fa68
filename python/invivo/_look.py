"""What can be asked of a job. All of it needs the scope *view* only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from . import answers
from ._calls import Calls, Parts, nanoseconds
from .errors import Error
from .measured import Measurement, values


class Looks(Calls):
    """Questions. Each raises Error where it is not answered."""

    def status(self) -> answers.StatusReply:
        """What the ranks are doing now, and whether calls are recorded."""
        return self._ask("Status", answers.StatusReply)

    def functions(
        self,
        per_rank: bool = False,
        rank_rows: int = 4096,
        *,
        histograms: bool = False,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.FunctionsReply:
        """Calls, time and bytes by MPI function, since the start, a reset or a window's start, or
        of an interval.

        per_rank: also `rank_rows`, a row for each rank and function, at most so many (65536).
        histograms: the distributions of durations (in ns) and sizes (in bytes) have their bins.
        since, until, last: as of `grid`. The table is of all pieces of the run that the interval
            touches, and `interval` says where these begin and end; None where nothing is kept.
        """
        return self._ask(
            "Functions",
            answers.FunctionsReply,
            per_rank=per_rank,
            rank_rows_max=rank_rows,
            histograms=histograms,
            **_interval(since, until, last),
        )

    def call_sites(
        self,
        rows: int = 2048,
        *,
        histograms: bool = False,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.CallSitesReply:
        """Calls, time and bytes by where in the program calls are made; at most 2048 rows.

        histograms: as of `functions`.
        since, until, last: as of `functions`.
        """
        interval = _interval(since, until, last)
        return self._ask(
            "CallSites",
            answers.CallSitesReply,
            rows_max=rows,
            histograms=histograms,
            **interval,
        )

    def regions(
        self,
        rows: int = 2048,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.RegionsReply:
        """Time by region of the program: what it marks, and instrumented functions. Those with the
        most time of their own first; at most 2048 rows.

        since, until, last: as of `functions`.
        """
        interval = _interval(since, until, last)
        return self._ask("Regions", answers.RegionsReply, rows_max=rows, **interval)

    def iterations(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.IterationsReply:
        """The loops of the program, found without marks: how often ranks come to a call site again,
        and after which time.

        since, until, last: as of `functions`.
        """
        return self._ask("Iterations", answers.IterationsReply, **_interval(since, until, last))

    def matrix(
        self,
        side: int = 64,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.MatrixReply:
        """Point-to-point messages and bytes between each two ranks.

        side: at most so many rows and columns (256); of more ranks neighbours share a block.
        since, until, last: as of `functions`.
        """
        interval = _interval(since, until, last)
        return self._ask("Matrix", answers.MatrixReply, side_max=side, **interval)

    def messages(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.MessagesReply:
        """Sends matched with receives: transfer times and late senders. The analysis `messages` is
        off until it is switched on: `job.switch_analyses("messages")`.

        since, until, last: as of `functions`.
        """
        return self._ask("Messages", answers.MessagesReply, **_interval(since, until, last))

    def wait_states(
        self,
        ranks: int = 64,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.WaitStatesReply:
        """Who waits for whom: wait states of collectives, and late senders while the analysis
        `messages` is on.

        ranks: those that waited longest, and as many that made others wait longest (1024).
        since, until, last: as of `functions`.
        """
        interval = _interval(since, until, last)
        return self._ask("WaitStates", answers.WaitStatesReply, ranks_max=ranks, **interval)

    def grid(
        self,
        metric: str = "mpi",
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
        columns: int = 64,
        rows: int = 32,
    ) -> answers.GridReply:
        """What the ranks did over time: columns of time by rows of ranks.

        metric: "mpi" (time in MPI), "compute" (time outside of it, with the efficiencies),
            "waiting" (for another rank), "calls", "bytes" (sent), or one that is or was measured, by its name in `metrics`.
        since, until: begin and end in s since the beginning of the observed time; all by default.
        last: instead of both, the time up to now of this length in s.
        columns, rows: at most so many (256, 128); neighbouring ranks share a row.
        """
        interval = _interval(since, until, last)
        return self._ask(
            "Grid",
            answers.GridReply,
            metric=metric,
            columns_max=columns,
            rows_max=rows,
            **interval,
        )

    def analyses(self) -> answers.AnalysesReply:
        """Which analyses are on, and when they were off."""
        return self._ask("Analyses", answers.AnalysesReply)

    def selection(self) -> answers.SelectionReply:
        """Which regions and MPI functions are recorded: the rules in force, and what they do."""
        return self._ask("Selection", answers.SelectionReply)

    def metrics(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> Measurement:
        """What is measured of each rank and what could be, with the values of all ranks over a part
        of the run. `grid` has a metric's values over time, `set_metrics` chooses what is measured.

        since, until, last: as of `grid`.
        """
        reply = self._ask("Metrics", answers.MetricsReply)
        found = []
        for metric in reply.metrics:
            if metric.ranks_kept == 0:
                continue
            # As fine as it goes: values are of whole columns.
            part = {"since": since, "until": until, "last": last}
            grid = self.grid(metric.name, columns=256, rows=1, **part)
            found.append(values(grid))
            # The next one is about the same time, not one that ends a bit later.
            observed = grid.observed_ns / 1e9
            if last is not None:
                since, last = max(observed - last, 0), None
            until = until or observed
        fields = {name: getattr(reply, name) for name in reply.to_dict()}
        return Measurement(**fields, values=found)

    def buffers(self) -> answers.BuffersReply:
        """What the event buffers hold, and what they have given up."""
        return self._ask("Buffers", answers.BuffersReply)

    def hang(self, older: float = 1.0) -> answers.HangReply:
        """Which ranks wait for which, and whether they can continue.

        older: ranks without progress for longer than this are looked into, in s.
        """
        return self._ask("Hang", answers.HangReply, older_ns=nanoseconds(older))

    def stacks(
        self, ranks: Iterable[int] | None = None, threads: bool = False
    ) -> answers.StacksReply:
        """The current call paths of the ranks, merged into one tree.

        ranks: these, as `range(4)` or `[0, 3]`, all by default; at most 8 runs of neighbours.
        threads: all threads of each rank instead of its first one.
        """
        wanted = [] if ranks is None else _runs(ranks)
        if ranks is not None and not wanted:
            raise Error("no ranks", "", "leave `ranks` away for all of them")
        reply = self._ask("Stacks", answers.StacksReply, threads=threads, ranks=wanted)
        if wanted and reply.ranks == 0:
            raise Error("the job has none of these ranks", "", "see job.status()")
        return reply

    def profile(
        self,
        ranks: Iterable[int] | None = None,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
    ) -> answers.ProfileReply:
        """Where the ranks spend their time on a processor, by the samples since `sampling` was
        switched on, as one tree of call paths. `.frame()` has a row for each node.

        ranks: these, as `range(4)` or `[0, 3]`, all by default; at most 8 runs of neighbours.
        since, until, last: as of `grid`; then by the samples that buffers keep of this time, which
            know no source lines.
        """
        wanted = [] if ranks is None else _runs(ranks)
        if ranks is not None and not wanted:
            raise Error("no ranks", "", "leave `ranks` away for all of them")
        interval = _interval(since, until, last)
        reply = self._ask("Profile", answers.ProfileReply, ranks=wanted, **interval)
        if wanted and reply.ranks == 0:
            raise Error("the job has none of these ranks", "", "see job.status()")
        return reply

    def watch(self, interval: float = 1.0, functions: bool = False) -> Iterator[answers.Snapshot]:
        """Snapshots of the job, until it ends or the loop is left.

        interval: s between two of them, 0.1 at least. A reader that is slower gets newer ones.
        functions: with the function table in each.
        """
        fields = {"interval_ns": nanoseconds(interval), "functions": functions}
        return self._follow("Watch", answers.Snapshot, **fields)

    def timeline(
        self, seconds: float = 5.0, calls: int = 500_000
    ) -> Parts[answers.TimelinePage]:
        """What every rank did, call by call, in the last seconds: pages of neighbouring locations
        as they come. `.frame()` has a row for each call that has returned.

        seconds: length of the interval that ends now, in s; more than 0, at most 24 h.
        calls: the newest of all ranks together, at most (2000000).
        """
        return Parts(
            self._patient_stream(
                "Timeline",
                answers.TimelinePage,
                length_ns=max(1, nanoseconds(seconds)),
                calls_max=calls,
            )
        )

    def save(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        last: float | None = None,
        ranks: Iterable[int] | None = None,
    ) -> Parts[answers.SavePage]:
        """What the buffers hold, of one moment, in the buffers' own bytes: pages of some locations
        as they come, as `invivo save` writes them into a directory. Needs the scope control.

        since, until: begin and end in s since the beginning of the observed time; all by default.
        last: instead of both, the time up to now of this length in s.
        ranks: these, as `range(4)` or `[0, 3]`, all by default; at most 8 runs of neighbours.
        """
        interval = _interval(since, until, last)
        return Parts(
            self._patient_stream(
                "Save",
                answers.SavePage,
                ranks=[] if ranks is None else _runs(ranks),
                **interval,
            )
        )

    def records(
        self, rank: int, thread: int = 0, from_ns: int = 0, to_ns: int | None = None
    ) -> Parts[answers.RecordsReply]:
        """The calls in the buffer of one location, in pages, in the order of their ends.

        from_ns, to_ns: only calls that ended in this interval of job time, by default up to now.
        """
        # Without an end there would always be another page, where a rank records faster than the
        # pages are read.
        end_ns = self.status().status.recording.now_ns if to_ns is None else to_ns
        return Parts(self._records(rank=rank, thread=thread, from_ns=from_ns, to_ns=end_ns))

    def _records(self, **fields: Any) -> Iterator[answers.RecordsReply]:
        page = self._ask("Records", answers.RecordsReply, **fields)
        yield page
        while page.next is not None:
            after = page.next.to_dict()
            page = self._ask("Records", answers.RecordsReply, after=after, **fields)
            yield page

    def audit(self, follow: bool = False) -> Parts[answers.AuditEntry]:
        """The commands that were given so far: by whom, and how they ended; the newest 1024.

        follow: then each new one, until the job ends. An entry comes again, with the same
            `sequence`, when its outcome is known.
        """
        if follow:
            return Parts(self._follow_audit())
        return Parts(self._patient_stream("Audit", answers.AuditEntry, follow=False))

    def _follow_audit(self) -> Iterator[answers.AuditEntry]:
        # A stream that begins again begins with the whole log, and a gateway that was started again
        # counts anew: what is known is told by its time and outcome.
        known: set[tuple[int, int, str]] = set()
        for entry in self._follow("Audit", answers.AuditEntry, follow=True):
            mark = (entry.unix_ns, entry.command_id, entry.outcome)
            if mark not in known:
                known.add(mark)
                yield entry


def _interval(
    since: float | None, until: float | None, last: float | None
) -> dict[str, Any]:
    """A part of the run, as requests say it; all of it without anything."""
    if last is not None and (since is not None or until is not None):
        raise Error("two intervals", "", "give either last, or since and until")
    if (until is not None and until <= (since or 0)) or (last is not None and last <= 0):
        raise Error("an empty interval", "", "give an end behind the begin, or a length")
    interval = {
        "from_ns": nanoseconds(since or 0),
        "to_ns": nanoseconds(until or 0),
        "last_ns": nanoseconds(last or 0),
    }
    if since is not None and not any(interval.values()):
        # From the begin to now: that is an interval as well.
        interval["from_ns"] = 1
    return interval


def _runs(ranks: Iterable[int]) -> list[dict[str, int]]:
    """Ranks as ranges, both ends included."""
    runs: list[dict[str, int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1]["last"] + 1:
            runs[-1]["last"] = rank
        else:
            runs.append({"first": rank, "last": rank})
    return runs
