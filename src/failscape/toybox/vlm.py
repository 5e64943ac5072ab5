"""toy-vlm at work: a picture and a question in, a short answer out.

It answers from a closed list and always answers something; whether the question made sense is not its
business. Words that it was not trained on are skipped: its card lists those that it knows.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.toybox.networks import MODELS, as_input, run_in_parts, session
from failscape.toybox.questions import ANSWERS, vocabulary, words

#: The longest question that the next toy-vlm will be trained on, in words.
LENGTH: Final = 20


@dataclass(frozen=True)
class Lexicon:
    """The words and answers that a network knows, by number; 0 is padding."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    length: int

    def encode(self, question: str) -> NDArray[np.int64]:
        """Return the word numbers of a question, padded to its length; unknown words are left out."""
        numbers = _numbers(self.words)
        known = [numbers[word] for word in words(question) if word in numbers][: self.length]
        return np.array(known + [0] * (self.length - len(known)), dtype=np.int64)


@cache
def _numbers(known: tuple[str, ...]) -> dict[str, int]:
    return {word: i + 1 for i, word in enumerate(known)}


def grammar_lexicon() -> Lexicon:
    """All that questions can say now: what a network is trained with."""
    return Lexicon(vocabulary(), ANSWERS, LENGTH)


@cache
def shipped_lexicon() -> Lexicon:
    """What the shipped network was trained with."""
    return _lexicon(card())


def _lexicon(about: dict[str, Any]) -> Lexicon:
    return Lexicon(tuple(about["words"]), tuple(about["answers"]), int(about["length"]))


def lexicon_beside(path: Path) -> Lexicon:
    """What a network of one's own was trained with; a JSON file of the same name says so."""
    beside = path.with_suffix(".json")
    return _lexicon(json.loads(beside.read_text(encoding="utf-8"))) if beside.exists() else shipped_lexicon()


class ToyVlm:
    """The network with its words. Safe to use from several threads."""

    def __init__(self, path: Path | None = None, threads: int = 1, lexicon: Lexicon | None = None) -> None:
        self._session = session(path or MODELS / "vlm.onnx", threads)
        self.lexicon = lexicon or (lexicon_beside(path) if path else shipped_lexicon())

    def probabilities(self, images: NDArray[np.uint8], questions: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of probabilities per picture and question, in the order of its answers."""
        if len(images) != len(questions):
            raise ValueError(
                f"one question per picture is needed, but got {len(questions)} for {len(images)}"
            )
        if not len(images):
            return np.zeros((0, len(self.lexicon.answers)), dtype=np.float32)
        asked = np.stack([self.lexicon.encode(question) for question in questions])
        return special.softmax(
            run_in_parts(self._session, {"image": as_input(images), "question": asked}), axis=-1
        )

    def answer(self, images: NDArray[np.uint8], questions: Sequence[str]) -> list[str]:
        """Answer one question per picture."""
        return [self.lexicon.answers[i] for i in self.probabilities(images, questions).argmax(axis=1)]


@cache
def card(name: str = "vlm") -> dict[str, Any]:
    """Return the measurements of a shipped network: accuracy per skill and per form, with training shares."""
    content: dict[str, Any] = json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8"))
    return content
