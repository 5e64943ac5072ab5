"""The answer of a hunt in the terminal: what `findings`, `run` and `demo` print of it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from failscape.atlas import Atlas
from failscape.cli.screen import echo_json, shell_path
from failscape.errors import FailscapeError
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.read.answer import answer_of, say_findings, seen_sentence


def print_answer(hunt: HuntEvidence, console: Console) -> None:
    """The headline and the themes of the first screen. Names in them are no markup."""
    answer = answer_of(hunt)
    console.print(Text(answer.headline, style="bold"))
    for theme in answer.shown:
        print_hanging(f"  {theme.number}. ", theme.sentence, console)
    hidden = len(answer.themes) - len(answer.shown)
    if hidden:
        more = "1 more theme" if hidden == 1 else f"{hidden:,} more themes"
        # Not wrapped, so that the command can be copied.
        command = f"  {more}: failscape findings {shell_path(hunt.atlas.folder)} --themes"
        console.print(Text(command), soft_wrap=True)
    if answer.seen and answer.findings:
        sentence = seen_sentence(answer.seen)
        console.print(Text(f"{sentence}."))


def print_hanging(mark: str, text: str, console: Console) -> None:
    """Print a text whose further lines begin below the first word, not below its mark. It is no markup."""
    lines = Text(text).wrap(console, max(20, console.width - len(mark)))
    for number, line in enumerate(lines):
        line.rstrip()
        console.print(Text(mark if not number else " " * len(mark)) + line, soft_wrap=True)


def tell_answer(atlas: Path, as_json: bool) -> None:
    """Close a run with its answer. One that recorded nothing has none."""
    try:
        with Atlas.open(atlas, readonly=True) as opened:
            hunt = load_hunt(opened)
            if as_json:
                echo_json({"event": "answer", **answer_of(hunt).as_data()})
            else:
                console = Console()
                print_answer(hunt, console)
                for line in say_findings(hunt, answer_of(hunt)):
                    print_hanging("  - ", line, console)
    except FailscapeError:
        return
