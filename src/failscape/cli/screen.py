"""What commands share to speak to people: progress of a run and of telling trials again, tables, JSON."""

import asyncio
import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import RenderableType
from rich.table import Table

from failscape.jsonable import finite
from failscape.runtime.progress import Reporter, choose_reporter

T = TypeVar("T")

#: Who waits less is told nothing.
QUIET_SECONDS = 2.0

#: Between two lines: on a terminal one takes the place of the other, a log keeps all.
TERMINAL_SECONDS, LOG_SECONDS = 0.5, 10.0


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


def shell_path(path: Path) -> str:
    """A path as it must be typed: quoted where it has spaces."""
    return shlex.quote(str(path))


def command_name() -> str:
    """`failscape` as it can be typed: with its folder, where the shell would not find this very command."""
    here = Path(sys.argv[0])
    if here.stem != "failscape" or shutil.which("failscape") == str(here.absolute()):
        return "failscape"
    return shell_path(here)


def run_reported(work: Callable[[Reporter], Coroutine[Any, Any, T]], as_json: bool = False) -> T:
    """Do some work of models, with its progress on the screen."""
    with closing(choose_reporter(as_json)) as reporter:
        return asyncio.run(work(reporter))


def plain_table(
    words: Sequence[str],
    numbers: Sequence[str],
    last: Sequence[str] = (),
    rows: Iterable[Sequence[RenderableType]] = (),
) -> Table:
    """Columns of words, which are folded where they are long, then of numbers, which never are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in last:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    return table


def echo_json(data: Any, indent: int | None = None) -> None:
    click.echo(json.dumps(finite(data), ensure_ascii=False, indent=indent))
