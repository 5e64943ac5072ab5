"""How sure a judge is of each check, read from the log-probabilities of the tokens of its reply. Pure.

For contract `boolean` it is the share of `true` beside `false` at the place of each boolean; for `choice`,
that of the letter that stands for the value asked for. Tokens that do not fit the reply say nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_BOOLEAN = re.compile(r"\b(?:true|false)\b", re.IGNORECASE)
_LETTER = re.compile(r'"q\d+"\s*:\s*"([A-Z])"')
_LETTERS = re.compile(r"[A-Za-z]+")

Confidence = tuple[float, ...]
"""One chance per check that it holds, as the judge sees it; empty where nothing is known."""


class Token(NamedTuple):
    """A piece of a reply. `others` are the likeliest at its place, and itself, with log-probabilities."""

    text: str
    others: Mapping[str, float]


def read_tokens(logprobs: Any) -> tuple[Token, ...]:
    """From `choices[0].logprobs` of a chat reply; none where it is missing or of another form."""
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    try:
        return tuple(_token(row) for row in rows or ())
    except (KeyError, TypeError, ValueError):
        return ()


def _token(row: Mapping[str, Any]) -> Token:
    listed = {str(one["token"]): float(one["logprob"]) for one in row.get("top_logprobs") or ()}
    own = float(row["logprob"])
    return Token(str(row["token"]), {**listed, str(row["token"]): own})


def boolean_confidence(tokens: Sequence[Token], count: int) -> Confidence:
    """The chance of `true` at each of the last `count` booleans of the reply."""
    places = list(_at(tokens, [found.start() for found in _BOOLEAN.finditer(_text(tokens))]))[-count:]
    if len(places) < count:
        return ()
    return tuple(_share(token, "true".startswith, "false".startswith) for token in places)


def choice_confidence(tokens: Sequence[Token], wanted: Sequence[str]) -> Confidence:
    """The chance of the letter `wanted` of each question, among all letters at its place."""
    places = list(_at(tokens, [found.start(1) for found in _LETTER.finditer(_text(tokens))]))[-len(wanted) :]
    if len(places) < len(wanted):
        return ()
    return tuple(
        _share_of_letter(token, letter.lower()) for token, letter in zip(places, wanted, strict=True)
    )


def _share_of_letter(token: Token, letter: str) -> float:
    return _share(token, letter.__eq__, lambda word: len(word) == 1 and word != letter)


def _text(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens)


def _at(tokens: Sequence[Token], starts: Sequence[int]) -> Iterator[Token]:
    """The tokens that cover these places of the text."""
    end, at = 0, 0
    for token in tokens:
        end += len(token.text)
        while at < len(starts) and starts[at] < end:
            yield token
            at += 1


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
