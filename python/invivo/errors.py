"""The one exception of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import CommandReply


class Error(Exception):
    """Something that was asked for was not done.

    what: what failed, in a sentence.
    why: the reason, in the words of the gateway or the system; may be empty.
    next: what to do; may be empty.
    code: gRPC's name of the status, such as "UNAVAILABLE" or "PERMISSION_DENIED"; empty where the
        gateway was not asked or has answered.
    reply: the answer to a command that not every rank has acknowledged, else None.
    """

    def __init__(
        self,
        what: str,
        why: str = "",
        next: str = "",
        code: str = "",
        reply: CommandReply | None = None,
    ) -> None:
        self.what = what
        self.why = why
        self.next = next
        self.code = code
        self.reply = reply
        because = f": {why}" if why else ""
        then = f"; {next}" if next else ""
        super().__init__(f"{what}{because}{then}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.why, self.next, self.code, self.reply)
