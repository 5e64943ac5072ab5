"""Says on standard error how far telling trials again has come, where that takes long enough to wonder."""

from __future__ import annotations

import sys
import time

QUIET_SECONDS = 2.0
"""Who waits less is told nothing."""

TERMINAL_SECONDS, LOG_SECONDS = 0.5, 10.0
"""Between two lines: on a terminal one takes the place of the other, a log keeps all."""


class TellingLine:
    """Called with how many trials are told again and how many there are (`evidence.found.WatchTelling`)."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next = self._began + QUIET_SECONDS
        self._shown = False

    def __call__(self, told: int, total: int) -> None:
        now = time.monotonic()
        over = told >= total
        if now < self._next and not (over and self._shown):
            return
        terminal = sys.stderr.isatty()
        self._next = now + (TERMINAL_SECONDS if terminal else LOG_SECONDS)
        self._shown = True
        line = f"telling the hunt its trials again: {told:,} of {total:,} ({told / max(total, 1):.0%})"
        end = "\n" if over or not terminal else ""
        _write(f"\r\033[K{line}{end}" if terminal else f"{line}{end}")


def _write(text: str) -> None:
    """What nobody can read stops nothing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
