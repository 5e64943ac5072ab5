"""The answer of a hunt in the terminal: what `findings`, `run` and `demo` print of it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from failscape.atlas import Atlas
from failscape.cli.screen import echo_json, shell_path
from failscape.errors import FailscapeError
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.read.answer import SHOWN, answer_of, seen_sentence

INDENT = (0, 0, 0, 2)


def print_answer(hunt: HuntEvidence, console: Console) -> None:
    """The headline and the themes of the first screen. Names in them are no markup."""
    answer = answer_of(hunt)
    console.print(Text(answer.headline, style="bold"))
    for theme in answer.shown:
        console.print(Padding(Text(f"{theme.number}. {theme.sentence}"), INDENT))
    hidden = len(answer.themes) - len(answer.shown)
    if hidden:
        more = "1 more theme" if hidden == 1 else f"{hidden:,} more themes"
        # Not wrapped, so that the command can be copied.
        command = f"  {more}: failscape findings {shell_path(hunt.atlas.folder)} --themes"
        console.print(Text(command), soft_wrap=True)
    if answer.seen and answer.findings:
        sentence = seen_sentence(answer.seen)
        console.print(Text(f"{sentence}."))


def print_first_findings(hunt: HuntEvidence, console: Console) -> None:
    """Where no theme says what fails, the surest findings do."""
    answer = answer_of(hunt)
    for number in () if answer.themes else answer.alone[:SHOWN]:
        console.print(Padding(Text(f"{number}. {hunt.findings[number - 1].title}"), INDENT))


def tell_answer(atlas: Path, as_json: bool) -> None:
    """Close a run with its answer. One that recorded nothing has none."""
    try:
        with Atlas.open(atlas, readonly=True) as opened:
            hunt = load_hunt(opened)
            if as_json:
                echo_json({"event": "answer", **answer_of(hunt).as_data()})
            else:
                print_answer(hunt, Console())
                print_first_findings(hunt, Console())
    except FailscapeError:
        return
