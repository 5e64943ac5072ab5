"""toy-vlm at work: a picture and a question in, a short answer out.

It answers from a closed list (`questions.ANSWERS`) and always answers something; whether the question made
sense is not its business. Words it does not know are skipped.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from failscape.toybox.questions import ANSWERS, vocabulary, words
from failscape.toybox.sessions import MODELS, as_input, session, softmax

#: The longest question, in words.
LENGTH: Final = 14
_BATCH: Final = 128


@cache
def _numbers() -> dict[str, int]:
    # 0 is padding.
    return {word: i + 1 for i, word in enumerate(vocabulary())}


def encode(question: str) -> NDArray[np.int64]:
    """Return the word numbers of a question, padded to LENGTH; unknown words are left out."""
    known = [_numbers()[word] for word in words(question) if word in _numbers()][:LENGTH]
    return np.array(known + [0] * (LENGTH - len(known)), dtype=np.int64)


class ToyVlm:
    """The network with its words. Safe to use from several threads."""

    def __init__(self, path: Path | None = None, threads: int = 1) -> None:
        self._session = session(path or MODELS / "vlm.onnx", threads)

    def probabilities(self, images: NDArray[np.uint8], questions: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of probabilities per picture and question, in the order of ANSWERS."""
        if len(images) != len(questions):
            raise ValueError(
                f"one question per picture is needed, but got {len(questions)} for {len(images)}"
            )
        if not len(images):
            return np.zeros((0, len(ANSWERS)), dtype=np.float32)
        pixels, asked = as_input(images), np.stack([encode(question) for question in questions])
        parts = []
        for i in range(0, len(pixels), _BATCH):
            feed = {"image": pixels[i : i + _BATCH], "question": asked[i : i + _BATCH]}
            parts.append(np.asarray(self._session.run(None, feed)[0], dtype=np.float32))
        return softmax(np.concatenate(parts))

    def answer(self, images: NDArray[np.uint8], questions: Sequence[str]) -> list[str]:
        """Answer one question per picture."""
        return [ANSWERS[i] for i in self.probabilities(images, questions).argmax(axis=1)]


@cache
def card() -> dict[str, Any]:
    """Return the shipped measurements: accuracy per skill and per form, with training shares."""
    content: dict[str, Any] = json.loads((MODELS / "vlm.json").read_text(encoding="utf-8"))
    return content
