"""Shows how a run is going: a live line on a terminal, plain lines in a log, JSON lines for machines."""

import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from failscape.secrets import clean, printable

PLAIN_SECONDS = 10.0
JSON_SECONDS = 2.0
RATE_WINDOW = 30.0


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """One look at a run. `eta` is in seconds, `None` when nobody can know."""

    phase: str
    trials: int
    rate: float
    invalid_share: float
    findings: int
    finished: int
    total: int | None
    images: int
    money: float
    budget_left: float | None
    in_flight: int
    eta: float | None


class Reporter(Protocol):
    def update(self, snapshot: RunSnapshot) -> None: ...

    def note(self, kind: str, text: str) -> None: ...

    def close(self) -> None: ...


class ProgressMeter:
    """How many a second, over the last half minute. It is handed the clock's reading."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def rate(self, now: float, count: int) -> float:
        self._marks.append((now, count))
        while len(self._marks) > 2 and now - self._marks[0][0] > RATE_WINDOW:
            self._marks.popleft()
        then, before = self._marks[0]
        return (count - before) / (now - then) if now > then else 0.0


class RichReporter:
    """A live table, for people at a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._live.start()

    def update(self, snapshot: RunSnapshot) -> None:
        table = Table.grid(padding=(0, 2))
        for label, value in _cells(snapshot):
            table.add_row(Text(label, style="dim"), Text(value))
        self._live.update(table)

    def note(self, kind: str, text: str) -> None:
        colour = {"warning": "yellow", "error": "red"}.get(kind, "dim")
        self._live.console.print(Text(kind, style=colour), Text(text))  # never markup: servers write it

    def close(self) -> None:
        self._live.stop()


class PlainReporter:
    """One line every ten seconds, for logs."""

    every = PLAIN_SECONDS

    def __init__(self, stream: IO[str] | None = None, every: float | None = None) -> None:
        self._stream = stream or sys.stderr
        self.every = self.every if every is None else every
        self._last = time.monotonic()

    def update(self, snapshot: RunSnapshot) -> None:
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            self._write(self.line(snapshot))

    def line(self, snapshot: RunSnapshot) -> str:
        return " | ".join(f"{label} {value}" for label, value in _cells(snapshot))

    def note(self, kind: str, text: str) -> None:
        self._write(f"{kind}: {text}")

    def close(self) -> None:
        self._stream.flush()

    def _write(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class JsonReporter(PlainReporter):
    """One JSON object a line on standard output, for machines."""

    every = JSON_SECONDS

    def __init__(self, stream: IO[str] | None = None, every: float | None = None) -> None:
        super().__init__(stream or sys.stdout, every)
        self._last = 0.0

    def line(self, snapshot: RunSnapshot) -> str:
        return json.dumps({"event": "progress", **asdict(snapshot)})

    def note(self, kind: str, text: str) -> None:
        self._write(json.dumps({"event": kind, "text": text}))


class UnfailingReporter:
    """Passes everything on while that works. A closed terminal or pipe ends the lines, never the hunt."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter: Reporter | None = reporter

    def update(self, snapshot: RunSnapshot) -> None:
        with self._trying() as reporter:
            reporter.update(snapshot)

    def note(self, kind: str, text: str) -> None:
        with self._trying() as reporter:
            reporter.note(kind, printable(clean(text)))

    def close(self) -> None:
        with self._trying() as reporter:
            reporter.close()

    @contextmanager
    def _trying(self) -> Iterator[Reporter]:
        try:
            yield self._reporter or _Silent()
        except (OSError, ValueError):  # gone, or closed by somebody
            self._reporter = None


class _Silent:
    def update(self, snapshot: RunSnapshot) -> None: ...

    def note(self, kind: str, text: str) -> None: ...

    def close(self) -> None: ...


def choose_reporter(as_json: bool) -> Reporter:
    stream = sys.stdout if as_json else sys.stderr
    if stream is None:  # a process can be started without any
        return _Silent()
    if as_json:
        return UnfailingReporter(JsonReporter())
    return UnfailingReporter(RichReporter() if stream.isatty() else PlainReporter())


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


def _cells(snapshot: RunSnapshot) -> list[tuple[str, str]]:
    done = f"{snapshot.finished:,}" + (f" of {snapshot.total:,}" if snapshot.total is not None else "")
    cells = [
        (snapshot.phase, done),
        ("trials", f"{snapshot.trials:,} at {snapshot.rate:,.1f}/s, {snapshot.in_flight} in flight"),
        ("findings", f"{snapshot.findings:,}"),
        ("invalid", f"{snapshot.invalid_share:.1%}"),
    ]
    if snapshot.budget_left is not None:
        cells.append(("budget left", f"{snapshot.budget_left:.0%}"))
    if snapshot.money:
        cells.append(("spent", f"{snapshot.money:,.2f}"))
    if snapshot.eta is not None:
        cells.append(("about", f"{duration(snapshot.eta)} to go"))
    return cells
