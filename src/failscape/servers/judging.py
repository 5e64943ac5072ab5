"""Answers a judge's instruction with any judge: finds the statements or questions in its text.

Statements are numbered lines ("1. The cat is red."). Questions are lines such as "q1. Base — colour: …" with
lettered options below. What is not understood is answered as a weak model would: false, none of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from failscape.models.contracts import NONE_OF_THESE
from failscape.models.roles import Judge
from failscape.pictures import Picture
from failscape.spaces.understanding import Understanding
from failscape.trials import Check

_STATEMENT = re.compile(r"^\s*\d+\. (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^q(\d+)\. (.+)$((?:\n\s+[A-Z]\. .+$)+)", re.MULTILINE)
_OPTION = re.compile(r"^\s+([A-Z])\. (.+)$", re.MULTILINE)
_UNDECIDED = "I cannot tell."


async def answer_instruction(text: str, picture: Picture, judge: Judge, understanding: Understanding) -> str:
    """The judge's reply, in the form that the instruction asks for."""
    questions = _QUESTION.findall(text)
    if questions:
        return await _answer_questions(questions, picture, judge, understanding)
    statements = _STATEMENT.findall(text)
    if not statements:
        return "I can only decide statements about an image."
    checks = [understanding.check(statement) for statement in statements]
    decided = await _decide(judge, picture, [check for check in checks if check])
    if decided is None:
        return _UNDECIDED
    answers = iter(decided)
    return json.dumps({"answers": [bool(next(answers)) if check else False for check in checks]})


async def _answer_questions(
    questions: Sequence[tuple[str, str, str]], picture: Picture, judge: Judge, understanding: Understanding
) -> str:
    letters: dict[str, str] = {}
    for number, question, lines in questions:
        options = _OPTION.findall(lines)
        checks = _option_checks(question, [option for _, option in options], understanding)
        decided = await _decide(judge, picture, [check for check in checks if check])
        if decided is None:
            return _UNDECIDED
        answers = iter(decided)
        holds = [bool(next(answers)) if check else False for check in checks]
        none = next((i for i, (_, option) in enumerate(options) if option in (NONE_OF_THESE, "false")), 0)
        letters[f"q{number}"] = options[holds.index(True) if True in holds else none][0]
    return json.dumps(letters)


def _option_checks(question: str, options: list[str], understanding: Understanding) -> list[Check | None]:
    """One check per option; the question names their kind, or is itself a statement to call true or false."""
    if options == ["true", "false"]:
        return [understanding.check(question), None]
    kind = "entity" if question.startswith("What is the main thing") else _kind(question, understanding)
    return [Check(kind, option, "") if kind and option != NONE_OF_THESE else None for option in options]


def _kind(question: str, understanding: Understanding) -> str | None:
    family, _, topic = question.partition(":")[0].partition(" — ")
    return understanding.kind(f"{family}: {topic}" if topic else family)


async def _decide(judge: Judge, picture: Picture, checks: list[Check]) -> list[bool | None] | None:
    if not checks:
        return []
    (reply,) = await judge.judge([picture], [checks])
    return reply.value
