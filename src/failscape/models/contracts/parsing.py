"""Finds the JSON that a model was asked for inside what it wrote. Never raises, never guesses."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

LONGEST = 20_000
"""Longer replies are rambling; what counts is at their end."""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNFINISHED_THOUGHT = re.compile(r"<think(?:ing)?>.*\Z", re.DOTALL | re.IGNORECASE)
_ORPHAN_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_PAIRS = {"[": "]", "{": "}"}
_OPENING = re.compile(r"[\[{]")
_DEEPEST = 20
_MOST_TRIES = 100


def without_thoughts(text: str) -> str:
    """The reply without `<think>` blocks, closed or not, and without a block whose start was cut off."""
    text = text[-LONGEST:]
    if "</think" in text.lower():
        text = _ORPHAN_END.sub(" ", _THOUGHT.sub(" ", text))
    return _UNFINISHED_THOUGHT.sub(" ", text).strip()


def json_values(text: str) -> Iterator[Any]:
    """Every outermost list or object in the reply, in order; python style (`[True, None]`) counts too."""
    text = without_thoughts(text)
    if text[-1:] in ("]", "}") and (whole := _whole(text)) is not None:  # nearly all replies of good servers
        yield whole
        return
    position = 0
    for _ in range(_MOST_TRIES):  # a reply full of open brackets must not cost seconds
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        position = opening.start() + 1
        end = _closing(text, opening.start())
        value = _literal(text[opening.start() : end]) if end else None
        if value is not None:
            yield value
            position = end


def _whole(text: str) -> list[Any] | dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def _closing(text: str, start: int) -> int:
    """Where the bracket opened at `start` is closed (one past it); 0 when it never is."""
    awaited: list[str] = []
    quote = ""
    position = start
    while position < len(text):
        letter = text[position]
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter == '"':
            quote = letter
        elif letter in _PAIRS:
            awaited.append(_PAIRS[letter])
            if len(awaited) > _DEEPEST:
                return 0
        elif letter in "]}":
            if awaited.pop() != letter:
                return 0
            if not awaited:
                return position + 1
        position += 1
    return 0


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd back-slash is no warning to our user
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def lines_of(text: str) -> list[str]:
    """The lines of a reply without bullets, numbers, fences and quotes around them."""
    found = []
    for line in without_thoughts(text).splitlines():
        plain = re.sub(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+", "", line).strip().strip('"').strip()
        if plain and not plain.startswith("```"):
            found.append(plain)
    return found
