"""The other end of the contracts: what an instruction asks for, recognised from its text.

Model servers use it to tell which role a chat request wants. It knows only what our contracts say: any other
text is heard as nothing, and left to the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from failscape.models.contracts.contracts import (
    ABOUT_ENTITY,
    ABOUT_KIND,
    BooleanContract,
    CaptionContract,
    ChoiceContract,
    ProposeContract,
    VerifyContract,
)
from failscape.models.roles import Turn

_STATEMENT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^(q\d+)\. (.+)$((?:\n +[A-Z]\. .+$)+)", re.MULTILINE)
_OPTION = re.compile(r"^ +([A-Z])\. (.+)$", re.MULTILINE)
_TURN = re.compile(r"^Q: (.*?)\nA: (.*?)(?=\nQ: |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statements:
    """Contract `boolean`: is each of these true of the image?"""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One question of contract `choice`. `kind` is its sub-category; `None`: the text is a statement."""

    name: str
    text: str
    options: dict[str, str]

    @property
    def kind(self) -> str | None:
        if self.text == ABOUT_ENTITY:
            return "entity"
        slots = ABOUT_KIND.match(self.text)
        return slots["kind"].replace(" — ", ": ") if slots else None


@dataclass(frozen=True, slots=True)
class Choices:
    """Contract `choice`: which option fits?"""

    questions: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """Contract `caption`: what does the image show?"""


@dataclass(frozen=True, slots=True)
class Verify:
    """Contract `verify`: is the question valid, or is the answer right? `truth` is empty when unknown."""

    wanted: Literal["valid", "right"]
    question: str
    answer: str = ""
    history: tuple[Turn, ...] = ()
    truth: str = ""


@dataclass(frozen=True, slots=True)
class Propose:
    """Contract `propose`: write questions."""

    guidance: str
    count: int


Heard = Statements | Choices | Description | Verify | Propose


def hear(text: str) -> Heard | None:
    """What the text asks for, when it is an instruction of one of our contracts."""
    if slots := BooleanContract.instruction.match(text):
        return Statements(tuple(_STATEMENT.findall(slots["statements"])))
    if slots := ChoiceContract.instruction.match(text):
        found = _QUESTION.findall(slots["questions"])
        return Choices(tuple(Choice(name, asked, dict(_OPTION.findall(rest))) for name, asked, rest in found))
    if CaptionContract.instruction.match(text) is not None:
        return Description()
    return _hear_verify(text) or _hear_propose(text)


def _hear_verify(text: str) -> Verify | None:
    if slots := VerifyContract.about_valid.match(text):
        return Verify("valid", slots["question"], history=_history(slots["told"]))
    # A known truth first: the open form would take its line for a part of the question.
    slots = VerifyContract.about_right_known.match(text) or VerifyContract.about_right.match(text)
    if not slots:
        return None
    history = _history(slots["told"])
    return Verify("right", slots["question"], slots["answer"], history, slots.get("truth", ""))


def _hear_propose(text: str) -> Propose | None:
    slots = ProposeContract.guided.match(text) or ProposeContract.instruction.match(text)
    number = re.match(r"\d+", slots["count"]) if slots else None
    return Propose(slots.get("guidance", ""), int(number[0])) if slots and number else None


def _history(told: str) -> tuple[Turn, ...]:
    return tuple((question, answer) for question, answer in _TURN.findall(told.rstrip("\n")))
