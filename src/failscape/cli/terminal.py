"""Keeps text of strangers from giving commands to the terminal.

Titles, subjects and replies come from atlases and servers. On a terminal, `ESC ] 52` in one of them would
fill the clipboard, and others would set the title, report back, or write other results over lines above.
Only colours and what clears the line get through; on stderr, where our own progress is, moves as well.
"""

import re
from typing import Any, TextIO


def _all_but(kept: str) -> re.Pattern[str]:
    """Strings of commands (OSC, DCS, SOS, PM, APC) up to their end, single commands, and control characters.

    What follows `ESC [` and is `kept` stays.
    """
    return re.compile(
        r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
        rf"|\x1b(?!\[(?:{kept}))(?:\[[0-9;?]*[ -/]*[@-~])?"
        r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
    )


#: Colours, the rest of the line, and whether the cursor is seen.
_COLOURS = _all_but(r"[0-9;]*m|K|\?25[hl]")
_COLOURS_AND_MOVES = _all_but(r"[0-9;?]*[mKJHGABCDhl]")


def without_commands(text: str, moves: bool = False) -> str:
    return (_COLOURS_AND_MOVES if moves else _COLOURS).sub("", text)


class GuardedStream:
    """A stream to a terminal that drops commands from what is written; all else is that of the stream."""

    def __init__(self, stream: TextIO, moves: bool = False) -> None:
        self._stream = stream
        self._moves = moves

    def write(self, text: str) -> int:
        return self._stream.write(without_commands(text, self._moves))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: Any, moves: bool = False) -> Any:
    """The stream itself, unless it leads to a terminal."""
    return GuardedStream(stream, moves) if stream is not None and stream.isatty() else stream
