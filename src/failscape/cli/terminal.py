"""Keeps text of strangers from giving commands to the terminal.

Titles, subjects and replies come from atlases and servers. On a terminal, `ESC ] 52` in one of them would
fill the clipboard, and others would set the title or report back. Only what colours text and moves the
cursor, as our own progress does, gets through.
"""

import re
from typing import Any, TextIO

#: Strings of commands (OSC, DCS, SOS, PM, APC) up to their end, single commands, and control characters.
#: What begins with `ESC [` and ends with one of the last letters colours, erases or moves, and stays.
_COMMANDS = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b(?!\[[0-9;?]*[mKJHGABCDhl])(?:\[[0-9;?]*[ -/]*[@-~])?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
)


def without_commands(text: str) -> str:
    return _COMMANDS.sub("", text)


class GuardedStream:
    """A stream to a terminal that drops commands from what is written; all else is that of the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(without_commands(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: Any) -> Any:
    """The stream itself, unless it leads to a terminal."""
    return GuardedStream(stream) if stream is not None and stream.isatty() else stream
