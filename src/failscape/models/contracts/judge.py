"""What a judge is asked about an image: statements to call true or false, or multiple choice.

How sure it is, is read from the log-probabilities of the tokens of its reply. For contract `boolean` it is
the share of `true` beside `false` at the place of each boolean; for `choice`, that of the letter that stands
for the value asked for. Tokens that do not fit the reply say nothing.
"""

import math
import random
import re
import string
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Protocol

from failscape.errors import ConfigError
from failscape.models.contracts.asking import (
    Ask,
    Instruction,
    Read,
    answer_text,
    list_in,
    read_answer,
    strict_object,
)
from failscape.models.roles import Reply
from failscape.trials import Check

_BOOLEAN = re.compile(r"\b(?:true|false)\b", re.IGNORECASE)
_LETTER = re.compile(r'"q(?P<number>\d+)"\s*:\s*"(?P<letter>[A-Z])"')
_LETTERS = re.compile(r"[A-Za-z]+")

#: One chance per check that it holds, as the judge sees it; empty where nothing is known.
Confidence = tuple[float, ...]


class Token(NamedTuple):
    """A piece of a reply. `others` are the likeliest at its place, and itself, with log-probabilities."""

    text: str
    others: Mapping[str, float]


def read_tokens(logprobs: Any) -> tuple[Token, ...]:
    """From `choices[0].logprobs` of a chat reply; none where it is missing or of another form."""
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    try:
        return tuple(_token(row) for row in rows or ())
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def _token(row: Mapping[str, Any]) -> Token:
    listed = {str(one["token"]): _log_chance(one["logprob"]) for one in row.get("top_logprobs") or ()}
    own = _log_chance(row["logprob"])
    return Token(str(row["token"]), {**listed, str(row["token"]): own})


#: The rounding of bfloat16, in which some servers compute: by so much a log-probability may exceed 0.
_ROUNDING = 2.0**-7


def _log_chance(value: Any) -> float:
    """A log-probability. One that is none (NaN, or a chance above 1) would decide checks by a threshold."""
    found = float(value)
    if not found <= _ROUNDING:
        raise ValueError(f"{value!r} is no log-probability")
    return found


def tokens_of_answer(tokens: Sequence[Token], text: str) -> tuple[Token, ...]:
    """Those that spell the answer of the reply `text`, and no more; none where they spell another.

    Thoughts and drafts have tokens too. Read as the answer, they would decide what the judge left open.
    """
    answer = answer_text(text)
    start = "".join(token.text for token in tokens).rfind(answer) if answer else -1
    if start < 0:
        return ()
    end = start + len(answer)
    found = []
    at = 0
    for token in tokens:
        inside = token.text[max(0, start - at) : max(0, end - at)]
        if inside:
            found.append(token._replace(text=inside))
        at += len(token.text)
    return tuple(found)


def boolean_confidence(tokens: Sequence[Token], count: int) -> Confidence:
    """The chance of `true` at each of the last `count` booleans of the reply."""
    text = "".join(token.text for token in tokens)
    places = _places(tokens, [one.start() for one in _BOOLEAN.finditer(text)][-count:], count)
    return tuple(_share(token, "true".startswith, "false".startswith) for token in places)


def choice_confidence(tokens: Sequence[Token], wanted: Sequence[str]) -> Confidence:
    """The chance of the letter `wanted` of each question, among all letters at its place."""
    text = "".join(token.text for token in tokens)
    # By the number of the question: a judge may answer in another order.
    starts = {int(one["number"]): one.start("letter") for one in _LETTER.finditer(text)}
    asked = [starts[number] for number in range(1, len(wanted) + 1) if number in starts]
    pairs = zip(_places(tokens, asked, len(wanted)), map(str.lower, wanted), strict=False)
    return tuple(_share(token, letter.__eq__, lambda word: len(word) == 1) for token, letter in pairs)


def _places(tokens: Sequence[Token], starts: Sequence[int], count: int) -> list[Token]:
    """The tokens whose first letters stand at `starts`; none where there are fewer than `count`.

    A token with other letters before them (a whole reply as one token) has no chance of that word alone.
    """
    ends = list(accumulate(len(token.text) for token in tokens))
    found = []
    for start in starts:
        number = bisect_right(ends, start)
        token = tokens[number]
        letters = _LETTERS.search(token.text)
        if letters and ends[number] - len(token.text) + letters.start() == start:
            found.append(token)
    return found if len(found) == count else []


def _share(token: Token, is_yes: Any, is_no: Any) -> float:
    """Yes among yes and no. What is not listed may all be the one that is missing: it is given to it."""
    yes = no = 0.0
    for text, log_chance in token.others.items():
        letters = _LETTERS.search(text)
        word = letters.group().lower() if letters else ""
        if word and is_yes(word):
            yes += math.exp(log_chance)
        elif word and is_no(word):
            no += math.exp(log_chance)
    left = max(0.0, 1 - sum(math.exp(log_chance) for log_chance in token.others.values()))
    yes, no = yes or left, no or left
    return yes / (yes + no) if yes + no else 0.5


Decisions = list[bool | None]

NONE_OF_THESE = "none of these"
ABOUT_ENTITY = "What is the main thing in the image?"
ABOUT_KIND = Instruction("[[kind]]: which one is it?")


class JudgeContract(Protocol):
    """How a judge is asked about checks. `salt` names the image, so that the order of choices is its own."""

    label: ClassVar[str]

    def ask(self, checks: Sequence[Check], salt: str) -> Ask: ...

    def read(self, text: str, checks: Sequence[Check], salt: str) -> Read[Decisions]: ...

    def weigh(self, tokens: Sequence[Token], checks: Sequence[Check], salt: str) -> Confidence:
        """How sure the judge is that each check holds; nothing where its tokens do not tell."""
        ...


class BooleanContract:
    """Statements in, one boolean for each out."""

    label: ClassVar[str] = "boolean/3"
    instruction: ClassVar[Instruction] = Instruction(
        "Look at the image and decide for each statement whether it is true of the image. "
        "Judge only what can be seen. A statement that is only partly true is false.\n\n"
        "[[statements]]\n\n"
        'Reply with JSON only: an object whose "answers" is a list of [[count]] booleans, '
        'in the order of the statements: {"answers": [true or false, …]}.'
    )

    def ask(self, checks: Sequence[Check], salt: str) -> Ask:
        statements = "\n".join(f"{number}. {check.statement}" for number, check in enumerate(checks, 1))
        count = len(checks)
        text = self.instruction.fill(statements=statements, count=count)
        answers = {"type": "array", "items": {"type": "boolean"}, "minItems": count, "maxItems": count}
        return Ask(text, strict_object(answers=answers))

    def read(self, text: str, checks: Sequence[Check], salt: str) -> Read[Decisions]:
        wanted = f"list of {len(checks)} booleans"
        return Read(
            *read_answer(text, lambda value: list_in(value, "answers", len(checks), _is_decision), wanted)
        )

    def weigh(self, tokens: Sequence[Token], checks: Sequence[Check], salt: str) -> Confidence:
        return boolean_confidence(tokens, len(checks))


def _is_decision(item: Any) -> bool:
    return item is None or isinstance(item, bool)


class ChoiceContract:
    """Multiple choice against values of the same kind: the judge is not told what was asked for.

    A check without `choices` has nothing to hide behind: its statement is put as true or false.
    """

    label: ClassVar[str] = "choice/3"
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
        # The word in place of a letter keeps an echo of the instruction from being an answer.
        example = ", ".join(f'"q{number}": "letter"' for number in range(1, len(checks) + 1))
        text = self.instruction.fill(questions="\n\n".join(questions), example=example)
        return Ask(text, strict_object(**schema))

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
        wanted = f"{len(checks)} letters of the options"
        return Read(*read_answer(text, lambda value: self._decide(value, checks, salt), wanted))

    def weigh(self, tokens: Sequence[Token], checks: Sequence[Check], salt: str) -> Confidence:
        wanted = []
        for check in checks:
            right = check.value if check.choices else "true"
            options = self.options(check, salt).items()
            wanted.append(next((letter for letter, option in options if option == right), ""))
        return choice_confidence(tokens, wanted) if all(wanted) else ()

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


NO_CONFIDENCE = (
    "`thresholds` are set, but the reply has no log-probabilities; "
    "set `params: {logprobs: true, top_logprobs: 5}`"
)


def by_thresholds(
    reply: Reply[Decisions], checks: Sequence[Check], thresholds: Mapping[str, float]
) -> Reply[Decisions]:
    """A check holds when the judge is at least so sure, by kind of check; "*" stands for all others.

    Kinds without a threshold stay as the judge said.
    """
    wanted = [thresholds.get(check.kind, thresholds.get("*")) for check in checks]
    if reply.value is None or all(threshold is None for threshold in wanted):
        return reply
    if not reply.confidence:
        return replace(reply, value=None, invalid=NO_CONFIDENCE)
    rows = zip(reply.value, reply.confidence, wanted, strict=True)
    return replace(
        reply, value=[said if threshold is None else sure >= threshold for said, sure, threshold in rows]
    )


JUDGE_CONTRACTS: dict[str, JudgeContract] = {"boolean": BooleanContract(), "choice": ChoiceContract()}


def judge_contract(name: str) -> JudgeContract:
    if name not in JUDGE_CONTRACTS:
        raise ConfigError(f"there is no contract {name!r}", f"use one of: {', '.join(JUDGE_CONTRACTS)}")
    return JUDGE_CONTRACTS[name]
