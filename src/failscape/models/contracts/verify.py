"""What a verifier is asked: is the question valid, and is the answer right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from failscape.models.contracts.asking import Ask, Instruction, Read, strict_object
from failscape.models.contracts.parsing import read_answer
from failscape.models.roles import AnswerToVerify, Turn, Verification

_IS_RIGHT = (
    "Answer to be checked: [[answer]]\n\n"
    "Is the answer right? First work out the right answer from the image. Other words for the same "
    "thing are right; an answer that avoids the question is not.\n\n"
)
_SAY_WHY = 'Reply with JSON only: {"reason": "one sentence", "right": true or false}.'
_SAY_ANSWER = (
    'Reply with JSON only: {"reason": "one sentence", "answer": "the right answer, as short as it can be", '
    '"right": true or false}.'
)
_TEXT = {"type": "string"}
LONGEST_ANSWER = 200
"""A right answer is a word or a few; what is longer is a speech, and no truth to train on."""


class Decided(NamedTuple):
    """What a verifier said of one thing. `answer` is the right one, where it was asked for that."""

    holds: bool
    reason: str
    answer: str = ""


class VerifyContract:
    """Two steps: is the question valid (the answer is not shown), then is the answer right. Both say why."""

    label: ClassVar[str] = "verify/3"
    about_valid: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n\n"
        "Is this a valid question? It is valid when it is one single question, is objective, can be "
        "answered from the image alone, has one right answer, and does not assume things that the image "
        "does not show.\n\n"
        'Reply with JSON only: {"reason": "one sentence", "valid": true or false}.'
    )
    about_right: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n" + _IS_RIGHT + _SAY_ANSWER
    )
    about_right_known: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\nThe right answer is known: [[truth]]\n"
        + _IS_RIGHT
        + _SAY_WHY
    )

    def ask_valid(self, given: AnswerToVerify) -> Ask:
        text = self.about_valid.fill(told=_told(given.history), question=given.question)
        return Ask(text, strict_object(reason=_TEXT, valid={"type": "boolean"}))

    def ask_right(self, given: AnswerToVerify) -> Ask:
        instruction = self.about_right_known if given.truth else self.about_right
        text = instruction.fill(
            told=_told(given.history), question=given.question, truth=given.truth, answer=given.answer
        )
        more = {} if given.truth else {"answer": _TEXT}
        return Ask(text, strict_object(reason=_TEXT, **more, right={"type": "boolean"}))

    def read(self, text: str, key: str) -> Read[Decided]:
        """The boolean under `key` (`valid` or `right`), the reason, and the right answer where it says it."""
        return Read(*read_answer(text, lambda value: _decision(value, key), f"word on whether it is {key}"))


def verification_of(right: Decided) -> Verification:
    """Of a valid question: what was said of its answer."""
    return Verification(True, right.holds, right.reason, answer=right.answer)


def _decision(value: Any, key: str) -> Decided | None:
    if not isinstance(value, dict) or not isinstance(value.get(key), bool):
        return None
    answer = str(value.get("answer") or "").strip()
    kept = answer if len(answer) <= LONGEST_ANSWER else ""
    return Decided(value[key], str(value.get("reason", "")).strip()[:500], kept)


def _told(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    turns = "\n".join(f"Q: {question}\nA: {answer}" for question, answer in history)
    return f"The conversation so far:\n{turns}\n\n"
