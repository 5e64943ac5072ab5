"""Answers statements and multiple-choice questions about an image with any judge.

What is not understood is not guessed: a statement gets `null`, a question makes the whole reply void.
"""

from __future__ import annotations

from collections.abc import Sequence

from failscape.models.contracts import NONE_OF_THESE
from failscape.models.hearing import Choice
from failscape.models.roles import Judge
from failscape.pictures import Picture
from failscape.spaces.understanding import Understanding
from failscape.trials import Check

Decided = list[bool | None]


async def answer_statements(
    statements: Sequence[str], picture: Picture, judge: Judge, understanding: Understanding
) -> dict[str, Decided] | None:
    """The reply to contract `boolean`; `None` when the judge has none."""
    decided = await _decide(judge, picture, [understanding.check(statement) for statement in statements])
    return None if decided is None else {"answers": decided}


async def answer_choices(
    questions: Sequence[Choice], picture: Picture, judge: Judge, understanding: Understanding
) -> dict[str, str] | None:
    """The reply to contract `choice`: one letter for each question; `None` when one cannot be decided."""
    letters: dict[str, str] = {}
    for question in questions:
        options = list(question.options.values())
        checks = _option_checks(question, options, understanding)
        decided = await _decide(judge, picture, checks) if any(checks) else None
        if decided is None or all(held is None for held in decided):
            return None
        chosen = options[decided.index(True)] if True in decided else _otherwise(options)
        letters[question.name] = next(key for key, option in question.options.items() if option == chosen)
    return letters


def _otherwise(options: Sequence[str]) -> str:
    return NONE_OF_THESE if NONE_OF_THESE in options else "false"


def _option_checks(
    question: Choice, options: Sequence[str], understanding: Understanding
) -> list[Check | None]:
    """One check per option; the question names their kind, or is itself a statement to call true or false."""
    if question.kind is None:
        return [understanding.check(question.text) if option == "true" else None for option in options]
    kind = "entity" if question.kind == "entity" else understanding.kind(question.kind)
    return [Check(kind, option, "") if kind and option != NONE_OF_THESE else None for option in options]


async def _decide(judge: Judge, picture: Picture, checks: Sequence[Check | None]) -> Decided | None:
    """One decision per check, `None` for what is no check; `None` in all when the judge has no reply."""
    known = [check for check in checks if check is not None]
    if not known:
        return [None] * len(checks)
    (reply,) = await judge.judge([picture], [known])
    if reply.value is None:
        return None
    answers = iter(reply.value)
    return [next(answers) if check is not None else None for check in checks]
