"""What a verifier is asked: is the question valid, and is the answer right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from failscape.models.contracts.asking import Ask, Instruction, Read, strict_object
from failscape.models.contracts.parsing import read_answer
from failscape.models.roles import AnswerToVerify, Turn

_IS_RIGHT = (
    "Answer to be checked: [[answer]]\n\n"
    "Is the answer right? First work out the right answer from the image. Other words for the same "
    "thing are right; an answer that avoids the question is not.\n\n"
    'Reply with JSON only: {"reason": "one sentence", "right": true or false}.'
)


class VerifyContract:
    """Two steps: is the question valid (the answer is not shown), then is the answer right. Both say why."""

    label: ClassVar[str] = "verify/2"
    about_valid: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n\n"
        "Is this a valid question? It is valid when it is one single question, is objective, can be "
        "answered from the image alone, has one right answer, and does not assume things that the image "
        "does not show.\n\n"
        'Reply with JSON only: {"reason": "one sentence", "valid": true or false}.'
    )
    about_right: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\n" + _IS_RIGHT
    )
    about_right_known: ClassVar[Instruction] = Instruction(
        "[[told]]Question about the image: [[question]]\nThe right answer is known: [[truth]]\n" + _IS_RIGHT
    )

    def ask_valid(self, given: AnswerToVerify) -> Ask:
        text = self.about_valid.fill(told=_told(given.history), question=given.question)
        return Ask(text, strict_object(reason={"type": "string"}, valid={"type": "boolean"}))

    def ask_right(self, given: AnswerToVerify) -> Ask:
        instruction = self.about_right_known if given.truth else self.about_right
        text = instruction.fill(
            told=_told(given.history), question=given.question, truth=given.truth, answer=given.answer
        )
        return Ask(text, strict_object(reason={"type": "string"}, right={"type": "boolean"}))

    def read(self, text: str, key: str) -> Read[tuple[bool, str]]:
        """The boolean under `key` (`valid` or `right`) and the reason."""
        return Read(*read_answer(text, lambda value: _decision(value, key), f"word on whether it is {key}"))


def _decision(value: Any, key: str) -> tuple[bool, str] | None:
    if not isinstance(value, dict) or not isinstance(value.get(key), bool):
        return None
    return value[key], str(value.get("reason", "")).strip()[:500]


def _told(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    turns = "\n".join(f"Q: {question}\nA: {answer}" for question, answer in history)
    return f"The conversation so far:\n{turns}\n\n"
