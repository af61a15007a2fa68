"""What all answers have: the words of `--json`, and a table.

Answers are frozen dataclasses and not gRPC's own messages: what does not apply is None instead of
0 (rank 0 is a rank), a rank's state is a word instead of a number, they compare, print and pickle
as usual, and type checkers know them without further stubs.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

# The version of the objects of `--json`.
JSON_VERSION = 1


class Answer:
    """Something that a gateway has answered, or a part of it."""

    def to_dict(self) -> dict[str, Any]:
        """All fields by their names in `invivo ... --json`, as dictionaries and lists."""
        # A field whose name is a word of Python, `from`, has a `_` behind it here.
        names = (field.name for field in dataclasses.fields(self))  # type: ignore[arg-type]
        return {name.rstrip("_"): _plain(getattr(self, name)) for name in names}

    def to_json(self) -> str:
        """The same in one line, with the version, as one that `invivo ... --json` prints."""
        return json.dumps({"version": JSON_VERSION} | self.to_dict(), separators=(",", ":"))

    def frame(self) -> pandas.DataFrame:
        """The rows of this answer as a pandas DataFrame; an answer without rows is one row.

        Columns are named as the fields, those of objects inside of others as "sent.bytes". Raises
        Error where pandas is not installed.
        """
        from ._frame import frame, rows

        return frame(rows(self))


def _plain(value: Any) -> Any:
    if isinstance(value, Answer):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
