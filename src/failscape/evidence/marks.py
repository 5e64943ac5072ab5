"""Reads a trial for people: a chip for each thing that was decided, a line for each thing that was said.

Pure, and the same for all hunts: it knows steps, not strategies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from failscape.atlas.records import prompts_of
from failscape.trials import (
    Answer,
    Caption,
    Check,
    Classify,
    Decide,
    Edit,
    ExpectChange,
    Facts,
    Generate,
    NameSkills,
    Propose,
    Recall,
    Reword,
    Step,
    Verify,
)

State = Literal["yes", "no", "open"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One decision about an image: it holds (`yes`), it does not (`no`), or nobody could tell (`open`)."""

    text: str
    state: State


@dataclass(frozen=True, slots=True)
class Quote:
    """Something that was asked or said, with a word that tells what it is."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckTally:
    """How often one mark was decided over many trials, and how often it did not hold."""

    text: str
    missed: int
    decided: int


def marks_of(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Mark, ...]:
    """The decisions of a trial, in the order they were made.

    Each has a text of its own: namesakes, such as the fruit and the colour `orange`, get their kind in front.
    """
    found: list[tuple[str, Mark]] = []
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Decide):
            for check, holds in zip(step.checks, _as_list(fact), strict=False):
                found.append((check.kind, Mark(check.value, _state(holds))))
        elif isinstance(step, Classify):
            found += [("label", mark) for mark in _mark_of_labels(step, fact)]
        elif isinstance(step, Verify):
            found += [("answer", mark) for mark in _mark_of_answer(fact)]
    names = Counter(mark.text for _, mark in found)
    return tuple(
        Mark(f"{kind}: {mark.text}", mark.state) if names[mark.text] > 1 else mark for kind, mark in found
    )


def checks_of(steps: Sequence[Step], facts: Sequence[Facts]) -> Iterator[tuple[Check, Any]]:
    """Every check of a trial with what was decided: true, false or null."""
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Decide):
            yield from zip(step.checks, _as_list(fact), strict=False)


def lines_of(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Quote, ...]:
    """The words of a trial. Prompts come first, then questions with their answers."""
    found: list[Quote] = []
    drawn_from = prompts_of(tuple(steps), facts)
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Reword):
            found += [Quote("prompt before polish", step.text)] if fact and fact[0] != step.text else []
        elif isinstance(step, Generate):
            found.append(Quote("prompt", drawn_from.pop(0)))
        elif isinstance(step, Edit):
            found.append(Quote("edited", step.instruction))
        elif isinstance(step, Answer):
            found += [Quote("asked", step.question), Quote("answered", _as_text(fact))]
        elif isinstance(step, Recall):
            for question, answer in step.turns:
                found += [Quote("asked", question), Quote("answered", answer)]
        elif isinstance(step, ExpectChange):
            found += [Quote("changed", step.change), Quote("answered before", step.before)]
        elif isinstance(step, NameSkills):
            found += [Quote("skills", ", ".join(map(str, _as_list(fact))))] if fact else []
        elif isinstance(step, Verify):
            if step.truth:
                found.append(Quote("right answer", step.truth))
            found += [Quote("because", str(why)) for why in _as_list(fact)[2:3] if why]
        elif isinstance(step, Caption | Propose):
            label = "caption" if isinstance(step, Caption) else "proposed"
            found += [Quote(label, _as_text(one)) for one in _as_list(fact)]
    return tuple(found)


def tally(trials: Iterable[Sequence[Mark]]) -> list[CheckTally]:
    """Which marks were missed how often, the most often missed first."""
    missed: dict[str, int] = {}
    decided: dict[str, int] = {}
    for marks in trials:
        for mark in marks:
            if mark.state != "open":
                decided[mark.text] = decided.get(mark.text, 0) + 1
                missed[mark.text] = missed.get(mark.text, 0) + (mark.state == "no")
    found = [CheckTally(text, missed[text], number) for text, number in decided.items()]
    return sorted(found, key=lambda one: -one.missed)


def _mark_of_labels(step: Classify, fact: Facts) -> list[Mark]:
    labels = [str(row[0]) for row in _as_list(fact)[: max(1, step.top_k)]]
    if not labels:
        return [Mark("no label", "open")]
    named = {label.lower() for label in step.aim or step.accept}
    right = [label for label in labels if label.lower() in named]
    if step.aim or not right:
        wrong = labels[0].lower() in named if step.aim else True
        return [Mark(f"called {labels[0]}", "no" if wrong else "yes")]
    return [Mark(right[0], "yes")]


def _mark_of_answer(fact: Facts) -> list[Mark]:
    valid, right = [*_as_list(fact), None, None][:2]
    if valid is None or right is None:
        return [Mark("undecided", "open")]
    return (
        [Mark("right answer" if right else "wrong answer", _state(right))]
        if valid
        else [Mark("not valid", "open")]
    )


def _state(holds: Any) -> State:
    return "open" if holds is None else "yes" if holds else "no"


def _as_list(fact: Facts) -> list[Any]:
    return list(fact) if isinstance(fact, list | tuple) else []


def _as_text(fact: Facts) -> str:
    return fact if isinstance(fact, str) else "" if fact is None else str(fact)
