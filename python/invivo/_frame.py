"""Answers as tables: which of their lists are rows, and how objects become columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import answers
from ._answer import Answer
from .errors import Error
from .measured import Measurement

if TYPE_CHECKING:
    import pandas

# The field with the rows, by the name of the answer.
ROWS = {
    "StatusReply": "status.named",
    "JobStatus": "named",
    "Snapshot": "status.named",
    "CallSitesReply": "rows",
    "RegionsReply": "rows",
    "MatrixReply": "cells",
    "AnalysesReply": "analyses",
    "SelectionReply": "rules",
    "MetricsReply": "metrics",
    "BuffersReply": "levels",
    "HangReply": "classes",
    "StacksReply": "nodes",
    "ProfileReply": "nodes",
    "RecordsReply": "records",
    "GuestsReply": "guests",
}


def rows(answer: Answer) -> Iterator[dict[str, Any]]:
    """The rows of an answer, each flat."""
    if isinstance(answer, answers.FunctionsReply):
        # By rank where that was asked for.
        return map(flat, answer.rank_rows or answer.rows)
    if isinstance(answer, answers.GridReply):
        return _cells(answer)
    if isinstance(answer, Measurement):
        return map(flat, answer.values)
    if isinstance(answer, answers.TimelinePage):
        return _calls(answer)
    path = ROWS.get(type(answer).__name__)
    if path is None:
        return iter([flat(answer)])
    found: Any = answer
    for name in path.split("."):
        found = getattr(found, name)
    return map(flat, found)


def flat(answer: Answer) -> dict[str, Any]:
    """The fields of an object, those of objects inside of it as "inside.field"; lists stay."""
    row: dict[str, Any] = {}

    def add(fields: dict[str, Any], prefix: str) -> None:
        for name, value in fields.items():
            if isinstance(value, dict):
                add(value, f"{prefix}{name}.")
            else:
                row[prefix + name] = value

    add(answer.to_dict(), "")
    return row


def frame(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    """Rows as a DataFrame. Raises Error where pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise Error(
            "no DataFrame can be made", str(error), "pip install pandas, or use the fields"
        ) from error
    return pandas.DataFrame(list(rows))


def _cells(grid: answers.GridReply) -> Iterator[dict[str, Any]]:
    """A row for each cell: the first of its ranks, where its column begins, and its fields."""
    for row in grid.rows:
        first = {"row": row.row, "first_rank": row.row * grid.block_ranks}
        for column, cell in enumerate(row.cells):
            begin_ns = grid.from_ns + column * grid.width_ns
            yield first | {"column": column, "begin_ns": begin_ns} | flat(cell)


def _calls(page: answers.TimelinePage) -> Iterator[dict[str, Any]]:
    """A row for each call that has returned, with its location."""
    for piece in page.pieces:
        location = flat(piece.location)
        for call in piece.calls:
            yield location | flat(call)
