"""Contracts with judges, captioners, verifiers and questioners: each owns its instruction and its parser.

Each keeps its wording in an `Instruction`; `hearing.py` uses the same object to recognise the contract.
A contract is pure and stateless. Its `label` (name and version) is part of a model's identity, so that
replies to another wording are never mixed up. Change an instruction or a parser: raise its version.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from failscape.errors import ConfigError
from failscape.models.contracts.parsing import Instruction, json_values, lines_of, without_thoughts
from failscape.models.roles import Claim, Turn
from failscape.trials import Check

T = TypeVar("T")
Decisions = list[bool | None]

NONE_OF_THESE = "none of these"
ABOUT_ENTITY = "What is the main thing in the image?"
ABOUT_KIND = Instruction("[[kind]]: which one is it?")


@dataclass(frozen=True, slots=True)
class Ask:
    """What to say to the model, and the JSON schema of the reply (`None`: free text)."""

    text: str
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """What a reply says; `invalid` tells why it says nothing."""

    value: T | None
    invalid: str = ""


class JudgeContract(Protocol):
    """How a judge is asked about checks. `salt` names the image, so that the order of choices is its own."""

    label: ClassVar[str]

    def ask(self, checks: Sequence[Check], salt: str) -> Ask: ...

    def read(self, text: str, checks: Sequence[Check], salt: str) -> Read[Decisions]: ...


def _object(**properties: Any) -> dict[str, Any]:
    """A strict JSON schema: strict servers want an object at the root and every key required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class BooleanContract:
    """Statements in, one boolean for each out."""

    label: ClassVar[str] = "boolean/1"
    instruction: ClassVar[Instruction] = Instruction(
        "Look at the image and decide for each statement whether it is true of the image. "
        "Judge only what can be seen. A statement that is only partly true is false.\n\n"
        "[[statements]]\n\n"
        'Reply with JSON only: an object whose "answers" is a list of [[count]] booleans, '
        'in the order of the statements, such as {"answers": [true, false]}.'
    )

    def ask(self, checks: Sequence[Check], salt: str) -> Ask:
        statements = "\n".join(f"{number}. {check.statement}" for number, check in enumerate(checks, 1))
        count = len(checks)
        text = self.instruction.fill(statements=statements, count=count)
        answers = {"type": "array", "items": {"type": "boolean"}, "minItems": count, "maxItems": count}
        return Ask(text, _object(answers=answers))

    def read(self, text: str, checks: Sequence[Check], salt: str) -> Read[Decisions]:
        found = [decided for value in json_values(text) if (decided := _booleans(value, len(checks)))]
        if not found:
            return Read(None, f"the judge did not reply with a list of {len(checks)} booleans")
        if any(other != found[0] for other in found):
            return Read(None, "the judge gave several lists that differ")
        return Read(found[0])


def _booleans(value: Any, count: int) -> Decisions | None:
    if isinstance(value, dict):
        value = value.get("answers")
    if not isinstance(value, list) or len(value) != count or not count:
        return None
    return value if all(item is None or isinstance(item, bool) for item in value) else None


class ChoiceContract:
    """Multiple choice against values of the same kind: the judge is not told what was asked for.

    A check without `choices` has nothing to hide behind: its statement is put as true or false.
    """

    label: ClassVar[str] = "choice/1"
    instruction: ClassVar[Instruction] = Instruction(
        "Look at the image and answer each question by the letter of the option that fits best. "
        f'Choose "{NONE_OF_THESE}" when no other option fits.\n\n'
        "[[questions]]\n\n"
        "Reply with JSON only, one letter for each question, in this form: {[[example]]}."
    )

    def ask(self, checks: Sequence[Check], salt: str) -> Ask:
        questions = []
        schema: dict[str, Any] = {}
        for number, check in enumerate(checks, 1):
            options = self.options(check, salt)
            lines = [f"  {letter}. {option}" for letter, option in options.items()]
            questions.append("\n".join([f"q{number}. {_question(check)}", *lines]))
            schema[f"q{number}"] = {"type": "string", "enum": list(options)}
        example = ", ".join(f'"q{number}": "A"' for number in range(1, len(checks) + 1))
        text = self.instruction.fill(questions="\n\n".join(questions), example=example)
        return Ask(text, _object(**schema))

    def options(self, check: Check, salt: str) -> dict[str, str]:
        """Letter → option, in an order fixed by the image and the check."""
        if not check.choices:
            return {"A": "true", "B": "false"}
        values = sorted({check.value, *check.choices} - {NONE_OF_THESE})
        if len(values) > 25:
            others = [value for value in values if value != check.value]
            values = [check.value, *random.Random(f"{salt}/{check.kind}").sample(others, 24)]
        random.Random(f"{salt}/{check.kind}/{len(values)}").shuffle(values)
        return dict(zip(string.ascii_uppercase, [*values, NONE_OF_THESE], strict=False))

    def read(self, text: str, checks: Sequence[Check], salt: str) -> Read[Decisions]:
        found = [decided for value in json_values(text) if (decided := self._decide(value, checks, salt))]
        if not found:
            return Read(None, f"the judge did not reply with {len(checks)} letters of the options")
        if any(other != found[0] for other in found):
            return Read(None, "the judge gave several replies that differ")
        return Read(found[0])

    def _decide(self, value: Any, checks: Sequence[Check], salt: str) -> Decisions | None:
        names = [f"q{number}" for number in range(1, len(checks) + 1)]
        if isinstance(value, dict) and set(value) == set(names):
            value = [value[name] for name in names]
        if not isinstance(value, list) or len(value) != len(checks) or not checks:
            return None
        decided: Decisions = []
        for letter, check in zip(value, checks, strict=True):
            option = self.options(check, salt).get(letter) if isinstance(letter, str) else None
            if option is None:
                return None
            decided.append(option == (check.value if check.choices else "true"))
        return decided


def _question(check: Check) -> str:
    if not check.choices:
        return check.statement
    if check.kind == "entity":
        return ABOUT_ENTITY
    family, _, topic = check.kind.partition(": ")
    return ABOUT_KIND.fill(kind=f"{family} — {topic.lower()}" if topic else check.kind)


class CaptionContract:
    """An image in, a few short sentences out."""

    label: ClassVar[str] = "caption/1"
    most: ClassVar[int] = 12
    instruction: ClassVar[Instruction] = Instruction(
        "Describe the image in three to six short sentences, one per line: the main thing, how it looks, "
        "what it does, what is around it, the background, and the style of the picture. "
        "Say only what can be seen. No introduction."
    )

    def ask(self) -> Ask:
        return Ask(self.instruction.fill())

    def read(self, text: str) -> Read[list[str]]:
        sentences = [
            sentence.strip()
            for line in lines_of(text)
            for sentence in re.split(r"(?<=[.!?])\s+", line)
            if any(letter.isalnum() for letter in sentence)
        ]
        if not sentences:
            return Read(None, "the captioner said nothing")
        return Read([sentence[:300] for sentence in sentences[: self.most]])


_IS_RIGHT = (
    "Answer to be checked: [[answer]]\n\n"
    "Is the answer right? First work out the right answer from the image. Other words for the same "
    "thing are right; an answer that avoids the question is not.\n\n"
    'Reply with JSON only: {"reason": "one sentence", "right": true or false}.'
)


class VerifyContract:
    """Two steps: is the question valid (the answer is not shown), then is the answer right. Both say why."""

    label: ClassVar[str] = "verify/1"
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

    def ask_valid(self, claim: Claim) -> Ask:
        text = self.about_valid.fill(told=_told(claim.history), question=claim.question)
        return Ask(text, _object(reason={"type": "string"}, valid={"type": "boolean"}))

    def ask_right(self, claim: Claim) -> Ask:
        instruction = self.about_right_known if claim.truth else self.about_right
        text = instruction.fill(
            told=_told(claim.history), question=claim.question, truth=claim.truth, answer=claim.answer
        )
        return Ask(text, _object(reason={"type": "string"}, right={"type": "boolean"}))

    def read(self, text: str, key: str) -> Read[tuple[bool, str]]:
        """The boolean under `key` (`valid` or `right`) and the reason."""
        found = [value for value in json_values(text) if isinstance(value, dict)]
        decided = [value for value in found if isinstance(value.get(key), bool)]
        if not decided or any(value[key] != decided[0][key] for value in decided):
            return Read(None, f"the verifier did not say whether it is {key}")
        return Read((decided[-1][key], str(decided[-1].get("reason", "")).strip()[:500]))


_EACH_QUESTION = (
    "Each is one single, objective question that can be answered from the image alone, in a few "
    "words, and has one right answer.\n\n"
    'Reply with JSON only: {"questions": ["…"]}.'
)


class ProposeContract:
    """Images and guidance in, questions out."""

    label: ClassVar[str] = "propose/1"
    instruction: ClassVar[Instruction] = Instruction("Write [[count]] about the image.\n" + _EACH_QUESTION)
    guided: ClassVar[Instruction] = Instruction(
        "Write [[count]] about the image, following this guidance: [[guidance]].\n" + _EACH_QUESTION
    )

    def ask(self, guidance: str, count: int) -> Ask:
        instruction = self.guided if guidance else self.instruction
        many = f"{count} different question{'s' if count > 1 else ''}"
        text = instruction.fill(count=many, guidance=guidance)
        questions = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
        return Ask(text, _object(questions=questions))

    def read(self, text: str, count: int) -> Read[list[str]]:
        """At most `count` different questions; fewer are better than none."""
        questions: list[str] = []
        for value in json_values(text):
            inner = value.get("questions") if isinstance(value, dict) else value
            if isinstance(inner, list) and all(isinstance(item, str) for item in inner):
                questions += inner
        if not questions:
            questions = [line for line in lines_of(text) if line.endswith("?")]
        kept = list(dict.fromkeys(question.strip() for question in questions if question.strip()))[:count]
        return Read(kept) if kept else Read(None, "the questioner proposed no question")


def _told(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    turns = "\n".join(f"Q: {question}\nA: {answer}" for question, answer in history)
    return f"The conversation so far:\n{turns}\n\n"


JUDGE_CONTRACTS: dict[str, JudgeContract] = {"boolean": BooleanContract(), "choice": ChoiceContract()}


def judge_contract(name: str) -> JudgeContract:
    if name not in JUDGE_CONTRACTS:
        raise ConfigError(f"there is no contract {name!r}", f"use one of: {', '.join(JUDGE_CONTRACTS)}")
    return JUDGE_CONTRACTS[name]


def plain_answer(text: str) -> Read[str]:
    """A free answer, without the thoughts before it."""
    answer = without_thoughts(text)
    return Read(answer) if answer else Read(None, "the reply is empty")
