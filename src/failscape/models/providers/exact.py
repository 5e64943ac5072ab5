"""Provider `exact`: compares an answer with the right one that the probe brings along. No model, no guess.

Short answers are compared as they are. In a long one the right answer is looked for; where it is there beside
another answer of its kind ("yes and no", "two or three"), or the text avoids it, nothing is decided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.roles import AnswerToVerify, Identity, Model, Reply, Usage, Verification

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SHORT = 3
"""Answers of so many words, articles not counted, are taken at their word."""

_KINDS = (frozenset({"yes", "no"}), frozenset(NUMBERS))
_SKIPPED = frozenset({"a", "an", "the", "it", "is", "are", "there", "its"})


def plain_words(text: str) -> list[str]:
    """Lower case, digits as words, British spelling, no marks and articles."""
    found = re.findall(r"[^\W\d_]+|\d+", text.lower())
    named = [NUMBERS[int(word)] if word.isdecimal() and int(word) < len(NUMBERS) else word for word in found]
    return [{"gray": "grey", "color": "colour"}.get(word, word) for word in named if word not in _SKIPPED]


def compare(answer: str, truth: str) -> Verification:
    """Is it right? `None` when the answer does not commit itself."""
    said, right = plain_words(answer), plain_words(truth)
    if not right:
        return Verification(None, None, "the exact verifier needs a known right answer")
    if not said:
        return Verification(None, None, "the answer is empty")
    if same(said, right):
        return Verification(True, True)
    wrong = Verification(True, False, f"the right answer is {truth}")
    if len(said) <= SHORT:
        return wrong
    kind = next((kind for kind in _KINDS if right[0] in kind), frozenset())
    others = [word for word in said if word in kind and word != right[0]]
    if _holds(said, right) and not others:
        return Verification(True, True)
    if others and not _holds(said, right):
        return wrong
    return Verification(None, None, "the answer does not commit itself")


def same(said: Sequence[str], right: Sequence[str]) -> bool:
    return len(said) == len(right) and all(_alike(*pair) for pair in zip(said, right, strict=True))


def _alike(first: str, second: str) -> bool:
    """Equal but for a plural's ending."""
    return first == second or first in (f"{second}s", f"{second}es") or second in (f"{first}s", f"{first}es")


def _holds(said: Sequence[str], right: Sequence[str]) -> bool:
    size = len(right)
    return any(same(said[at : at + size], right) for at in range(len(said) - size + 1))


class ExactVerifier:
    batch = 64
    parallel = 1

    def __init__(self) -> None:
        self.identity = Identity("verifier", "exact", "exact/1")

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        return [Reply(compare(given.answer, given.truth), usage=Usage(requests=0)) for given in answers]


def create(role: str, config: ModelConfig) -> Model:
    if config.params:
        raise ConfigError(f"the exact verifier takes no params, but got {config.params}", "remove `params`")
    return ExactVerifier()
