"""The other end of the contracts: what an instruction asks for, recognised from its text.

Model servers use it to tell which role a chat request wants. It knows only what our contracts say: any other
text is none of ours, and left to the server.
"""

import re
from dataclasses import dataclass
from typing import Literal

from failscape.models.contracts.judge import ABOUT_ENTITY, ABOUT_KIND, BooleanContract, ChoiceContract
from failscape.models.contracts.vision import CaptionContract, ProposeContract, VerifyContract
from failscape.models.roles import Turn

_STATEMENT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^(q\d+)\. (.+)$((?:\n +[A-Z]\. .+$)+)", re.MULTILINE)
_OPTION = re.compile(r"^ +([A-Z])\. (.+)$", re.MULTILINE)
_TURN = re.compile(r"^Q: (.*?)\nA: (.*?)(?=\nQ: |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StatementsAsked:
    """Contract `boolean`: is each of these true of the image?"""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChoiceAsked:
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
class ChoicesAsked:
    """Contract `choice`: which option fits?"""

    questions: tuple[ChoiceAsked, ...]


@dataclass(frozen=True, slots=True)
class DescriptionAsked:
    """Contract `caption`: what does the image show?"""


@dataclass(frozen=True, slots=True)
class VerificationAsked:
    """Contract `verify`: is the question valid, or is the answer right? `truth` is empty when unknown."""

    wanted: Literal["valid", "right"]
    question: str
    answer: str = ""
    history: tuple[Turn, ...] = ()
    truth: str = ""


@dataclass(frozen=True, slots=True)
class QuestionsAsked:
    """Contract `propose`: write questions."""

    guidance: str
    count: int


Recognised = StatementsAsked | ChoicesAsked | DescriptionAsked | VerificationAsked | QuestionsAsked


def recognise(text: str) -> Recognised | None:
    """What the text asks for, when it is an instruction of one of our contracts."""
    if slots := BooleanContract.instruction.match(text):
        return StatementsAsked(tuple(_STATEMENT.findall(slots["statements"])))
    if slots := ChoiceContract.instruction.match(text):
        found = _QUESTION.findall(slots["questions"])
        return ChoicesAsked(
            tuple(ChoiceAsked(name, asked, dict(_OPTION.findall(rest))) for name, asked, rest in found)
        )
    if CaptionContract.instruction.match(text) is not None:
        return DescriptionAsked()
    return _recognise_verify(text) or _recognise_propose(text)


def _recognise_verify(text: str) -> VerificationAsked | None:
    if slots := VerifyContract.about_valid.match(text):
        return VerificationAsked("valid", slots["question"], history=_history(slots["told"]))
    # A known truth first: the open form would take its line for a part of the question.
    slots = VerifyContract.about_right_known.match(text) or VerifyContract.about_right.match(text)
    if not slots:
        return None
    history = _history(slots["told"])
    return VerificationAsked("right", slots["question"], slots["answer"], history, slots.get("truth", ""))


def _recognise_propose(text: str) -> QuestionsAsked | None:
    slots = ProposeContract.guided.match(text) or ProposeContract.instruction.match(text)
    number = re.match(r"\d+", slots["count"]) if slots else None
    return QuestionsAsked(slots.get("guidance", ""), int(number[0])) if slots and number else None


def _history(told: str) -> tuple[Turn, ...]:
    return tuple((question, answer) for question, answer in _TURN.findall(told.rstrip("\n")))
