"""A small network that answers questions about easy-vqa's pictures; `prepare.py` trains it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

NET = Path(__file__).parent / "made" / "net.npz"
SIDE = 16
Floats = NDArray[np.float32]


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def features_of_picture(picture: Path | Image.Image) -> Floats:
    """Its pixels at a quarter of the size, around 0."""
    opened = Image.open(picture) if isinstance(picture, Path) else picture
    small = opened.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return (np.asarray(small, np.float32) / 255 - 0.5).ravel()


@dataclass(frozen=True)
class Vocabulary:
    """The words of questions and the answers that the network knows."""

    words: tuple[str, ...]
    answers: tuple[str, ...]

    def features(self, text: str) -> Floats:
        """Which words a question has, in any order."""
        said = set(words_of(text))
        return np.array([word in said for word in self.words], np.float32)


@dataclass
class Answerer:
    """`weights`: picture to hidden, words to hidden, both multiplied to answers; each with its bias."""

    known: Vocabulary
    weights: list[Floats]

    @classmethod
    def untrained(cls, known: Vocabulary, pixels: int, hidden: int, luck: np.random.Generator) -> Answerer:
        sizes = [(pixels, hidden), (len(known.words), hidden), (hidden, len(known.answers))]
        weights = []
        for many, few in sizes:
            weights += [luck.normal(0, many**-0.5, (many, few)).astype(np.float32), np.zeros(few, np.float32)]
        return cls(known, weights)

    def scores(self, pictures: Floats, asked: Floats) -> tuple[Floats, ...]:
        """Answers' scores, and the hidden layers that they come from."""
        of_picture, picture_bias, of_words, words_bias, of_both, bias = self.weights
        seen = np.tanh(pictures @ of_picture + picture_bias)
        heard = np.tanh(asked @ of_words + words_bias)
        return (seen * heard) @ of_both + bias, seen, heard

    def learn_from(
        self, pictures: Floats, asked: Floats, truth: NDArray[np.int64]
    ) -> tuple[float, list[Floats]]:
        """The mean loss over some questions, and its gradients in the order of `weights`."""
        scores, seen, heard = self.scores(pictures, asked)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(len(truth))
        loss = float(-np.log(chances[rows, truth] + 1e-9).mean())
        chances[rows, truth] -= 1
        error = chances / len(truth)
        both = error @ self.weights[4].T
        of_seen, of_heard = both * heard * (1 - seen**2), both * seen * (1 - heard**2)
        return loss, [
            pictures.T @ of_seen,
            of_seen.sum(axis=0),
            asked.T @ of_heard,
            of_heard.sum(axis=0),
            (seen * heard).T @ error,
            error.sum(axis=0),
        ]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        weights: dict[str, Any] = {f"weights_{number}": part for number, part in enumerate(self.weights)}
        np.savez(path, words=self.known.words, answers=self.known.answers, **weights)

    @classmethod
    def load(cls, path: Path) -> Answerer:
        with np.load(path) as file:
            known = Vocabulary(tuple(map(str, file["words"])), tuple(map(str, file["answers"])))
            return cls(known, [file[f"weights_{number}"] for number in range(6)])


@lru_cache(maxsize=1)
def _trained() -> Answerer:
    return Answerer.load(NET)


def answer(images: list[Image.Image], question: str) -> str:
    """What `provider: python` calls."""
    net = _trained()
    pictures = features_of_picture(images[0])[None]
    scores = net.scores(pictures, net.known.features(question)[None])[0]
    return net.known.answers[int(scores.argmax())]
