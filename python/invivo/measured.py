"""What `Job.metrics` returns: what is measured, with the values over a part of the run."""

from __future__ import annotations

from dataclasses import dataclass

from . import answers
from ._answer import Answer


@dataclass(frozen=True)
class Values(Answer):
    """The values of a metric over an interval, of all ranks together."""

    name: str
    """The metric, as in MetricStatus."""
    from_ns: int
    """Where the interval begins, since the beginning of the observed time."""
    to_ns: int
    """Where it ends."""
    ranks: int
    """Ranks of which there are values; the others are not counted below."""
    recorded_ns: int
    """How long they were measured, in ns summed over ranks. 0: nothing is known."""
    sum: int
    """The sum of the ranks' values: of what is added up, what was added in the interval; of what is
    absolute, the mean over it."""
    min: int
    """The least value of a rank."""
    min_rank: int
    """Whose it is: of equal ones the lowest rank's."""
    max: int
    """The greatest value of a rank."""
    max_rank: int
    """Whose it is."""


@dataclass(frozen=True)
class Measurement(answers.MetricsReply):
    """What is measured, what could be, and the values of what is or was."""

    values: list[Values]
    """Of each metric that has values, in the same order."""


def values(grid: answers.GridReply) -> Values:
    """Those of a grid with one row."""
    end_ns = max(grid.from_ns + grid.columns * grid.width_ns, 0)
    total = grid.rows[0].total if grid.rows else NOBODY
    return Values(
        name=grid.metric,
        # The first column may begin before there was anything, and the last one end behind now.
        from_ns=max(grid.from_ns, 0),
        to_ns=min(end_ns, grid.observed_ns),
        **total.to_dict(),
    )


NOBODY = answers.GridCell(0, 0, 0, 0, 0, 0, 0)
