"""A reply is a verdict only if it gives one: every contract against known and generated replies."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from failscape.models.contracts.judge import BooleanContract, ChoiceContract
from failscape.models.contracts.language import PlausibilityContract
from failscape.models.contracts.vision import VerifyContract
from failscape.models.roles import AnswerToVerify
from failscape.trials import Check
from tests.unit.models.reply_styles import GIVEN, NOT_GIVEN, ReplyStyle

CHECKS = (
    Check("entity", "cat", "It is a cat.", ("dog", "cow", "hen")),
    Check("Base: Colour", "red", "It is red.", ("blue", "green")),
)
PHRASES = ("a red cat", "a green idea")
ANSWER = AnswerToVerify((), "How many?", "two")
RIGHT_LETTERS = [
    next(letter for letter, option in ChoiceContract().options(check, "s").items() if option == check.value)
    for check in CHECKS
]
GENERATED = 20_000


@dataclass(frozen=True)
class Asked:
    """One question of one contract: its instruction, how it is read, and answers in form for it."""

    instruction: str
    read: Callable[[str], Any]
    answer: Callable[[random.Random], tuple[Any, Any]]
    """The value that is to be read, and the JSON data that says it."""


def _booleans(chance: random.Random) -> tuple[Any, Any]:
    decided = [chance.choice((True, False)) for _ in CHECKS]
    return decided, chance.choice((decided, {"answers": decided}))


def _letters(chance: random.Random) -> tuple[Any, Any]:
    letters = [chance.choice("ABCD") for _ in CHECKS]
    decided = [letter == right for letter, right in zip(letters, RIGHT_LETTERS, strict=True)]
    return decided, chance.choice((letters, dict(zip(("q1", "q2"), letters, strict=True))))


def _word(chance: random.Random) -> tuple[Any, Any]:
    decided = chance.choice((True, False))
    answer = chance.choice(("", "three"))
    said = {"answer": answer} if answer else {}
    return (decided, "seen", answer), {"reason": "seen", **said, "right": decided}


def _scores(chance: random.Random) -> tuple[Any, Any]:
    scores = [chance.randint(0, 10) for _ in PHRASES]
    return scores, chance.choice((scores, {"scores": scores}))


ASKED = {
    "boolean": Asked(
        BooleanContract().ask(CHECKS, "s").text,
        lambda text: BooleanContract().read(text, CHECKS, "s").value,
        _booleans,
    ),
    "choice": Asked(
        ChoiceContract().ask(CHECKS, "s").text,
        lambda text: ChoiceContract().read(text, CHECKS, "s").value,
        _letters,
    ),
    "verify": Asked(
        VerifyContract().ask_right(ANSWER).text,
        lambda text: VerifyContract().read(text, "right").value,
        _word,
    ),
    "plausibility": Asked(
        PlausibilityContract().ask(PHRASES, 0).text,
        lambda text: PlausibilityContract().read(text, PHRASES, 0).value,
        _scores,
    ),
}
each_contract = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)


def _two_answers(asked: Asked, chance: random.Random) -> tuple[Any, str, str]:
    """A value, JSON that says it, and JSON of the same form that says another."""
    value, data = asked.answer(chance)
    while True:
        other, draft = asked.answer(chance)
        if other != value:
            return value, _written(data, chance), _written(draft, chance)


def _written(data: Any, chance: random.Random) -> str:
    style = chance.random()
    if style < 0.15:
        return str(data)  # as Python writes it
    return json.dumps(data, indent=2 if style > 0.7 else None)


@each_contract
@pytest.mark.parametrize("style", GIVEN, ids=lambda style: style.name)
def test_an_answer_that_is_given_is_read_or_lost_but_never_changed(asked: Asked, style: ReplyStyle) -> None:
    chance = random.Random(style.name)
    for _ in range(20):
        value, answer, draft = _two_answers(asked, chance)
        assert asked.read(style.write(answer, draft)) == (value if style.read else None)


@each_contract
@pytest.mark.parametrize("style", NOT_GIVEN, ids=lambda style: style.name)
def test_no_answer_is_read_where_none_is_given(asked: Asked, style: ReplyStyle) -> None:
    chance = random.Random(style.name)
    for _ in range(20):
        _, answer, draft = _two_answers(asked, chance)
        assert asked.read(style.write(answer, draft)) is None


@each_contract
def test_the_instruction_read_back_is_no_answer(asked: Asked) -> None:
    for echo in (asked.instruction, f"{asked.instruction}\n", asked.instruction.rpartition("\n")[2]):
        assert asked.read(echo) is None
        assert asked.read(f"You asked: {echo}") is None
        form = echo[echo.rindex("{") : echo.rindex("}") + 1]
        assert asked.read(form) is None
        assert asked.read(f"The answer has this form:\n{form}") is None


@each_contract
def test_a_key_twice_is_no_answer(asked: Asked) -> None:
    chance = random.Random(1)
    for _ in range(20):
        _, data = asked.answer(chance)
        _, other = asked.answer(chance)
        if isinstance(data, dict) and isinstance(other, dict):
            twice = f"{json.dumps(data)[:-1]}, {json.dumps(other)[1:]}"
            assert asked.read(twice) is None
            assert asked.read(twice.replace("true", "True").replace("false", "False")) is None


@each_contract
def test_a_long_unfinished_thought_is_no_answer(asked: Asked) -> None:
    _, answer, _ = _two_answers(asked, random.Random(2))
    assert asked.read(f"<think>{'It may be so. ' * 3000}\n{answer}") is None
    assert asked.read(f"<think>{'It may be so. ' * 3000}</think>\n{answer}") is not None


WORDS = (
    "The", "cat", "is", "red", "sign", "reads", "answer", "maybe", "true", "false", "A", "10", ":", ",", ".",
    "\n", "```", "\"", "so", "[", "]", "{", "}", "for example", "I do not know.", "答案", "(1)", "<b>",
)  # fmt: skip


def _prose(chance: random.Random, most: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


def _no_answer(asked: Asked, chance: random.Random) -> str:
    """A reply that decides nothing, of one of six makes."""
    _, answer, draft = _two_answers(asked, chance)
    make = chance.randrange(6)
    if make == 0:
        return chance.choice(NOT_GIVEN).write(answer, draft)
    if make == 1:  # words after the JSON, which may take it back
        tail = chance.choice(string.ascii_letters) + _prose(chance, 6).replace("{", "").replace("[", "")
        return f"{_prose(chance, 6)}\n{answer} {tail.rstrip(chr(10) + ' ]}`')}w"
    if make == 2:  # the instruction, with more or less around it
        start = chance.randrange(len(asked.instruction))
        return f"{_prose(chance, 3)} {asked.instruction[start:]}"
    if make == 3:  # a thought without an end, with drafts in it
        return f"<think>{_prose(chance, 8)}\n{answer}\n{draft if chance.random() < 0.5 else answer}"
    if make == 4:  # cut off
        return answer[: chance.randrange(1, len(answer))]
    return f"{answer}\n{_prose(chance, 3)}\n{draft}"


@each_contract
def test_of_many_generated_replies_none_is_read_as_an_answer_it_did_not_give(asked: Asked) -> None:
    chance = random.Random(11)
    for _ in range(GENERATED):
        reply = _no_answer(asked, chance)
        assert asked.read(reply) is None, reply


@each_contract
def test_of_many_generated_replies_each_says_what_it_says_or_nothing(asked: Asked) -> None:
    chance = random.Random(12)
    for _ in range(GENERATED // 5):
        value, answer, draft = _two_answers(asked, chance)
        reply = f"{_prose(chance, 5)}\n{chance.choice(GIVEN).write(answer, draft)}"
        assert asked.read(reply) in (None, value), reply


def lost_share(style: ReplyStyle) -> float:
    """Of honest replies in this style, over all contracts."""
    chance, lost, of = random.Random(style.name), 0, 0
    for asked in ASKED.values():
        for _ in range(25):
            _, answer, draft = _two_answers(asked, chance)
            of += 1
            lost += asked.read(style.write(answer, draft)) is None
    return lost / of


def test_the_docs_tell_which_honest_styles_are_lost() -> None:
    page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([\d.]+) % \|$", page, re.MULTILINE))
    assert shown == {style.name: f"{100 * lost_share(style):.0f}" for style in GIVEN}
