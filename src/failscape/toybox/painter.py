"""toy-painter: a small text-to-image network, run with onnxruntime. It needs no torch and no network.

A seed gives the noise vector, so the same prompt and seed always give the same picture.
"""

import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from failscape.toybox import world
from failscape.toybox.networks import MODELS, SIDE, session

#: Pictures of one run of the network: a third cheaper each than alone; larger batches are no faster.
PAINTER_BATCH: Final = 8
#: Captions are cut after this many words.
LONGEST: Final = 32
MODEL: Final = MODELS / "painter.onnx"
COUNTS: Final = Path(__file__).parent / "data" / "painter_counts.json.gz"
_PADDING: Final = 0
_UNKNOWN: Final = 1
#: Words of the t2i hunt's wordings that the world's own captions do without.
_MORE_WORDS: Final = ("that", "colour")


class ToyPainter:
    """Paints 64x64 pictures from prompts."""

    def __init__(self, model: Path = MODEL, threads: int = 1) -> None:
        if not model.exists():
            raise FileNotFoundError(
                f"the model file {model.name} must exist, but {model.parent} has none; "
                "`python -m tools.toybox_training.painter` makes it"
            )
        self._session = session(model, threads)

    def paint(self, prompts: Sequence[str], seeds: Sequence[int]) -> NDArray[np.uint8]:
        """Return one picture per prompt and seed, as bytes of shape (n, 64, 64, 3).

        A picture depends on its own prompt and seed only, never on the others of the batch: their pixels are
        bytes, and what another order of adding changes is far below one step of those.
        """
        if len(prompts) != len(seeds):
            raise ValueError(f"every prompt needs one seed, but got {len(prompts)} and {len(seeds)}")
        tokens, noise = encode(prompts), noise_of(seeds)
        pictures = np.zeros((len(prompts), SIDE, SIDE, 3), dtype=np.uint8)
        for i in range(0, len(prompts), PAINTER_BATCH):
            part = slice(i, i + PAINTER_BATCH)
            pictures[part] = self._session.run(None, {"tokens": tokens[part], "noise": noise[part]})[0]
        return pictures


@cache
def word_numbers() -> dict[str, int]:
    """Return the number of every known word; 0 is padding and 1 is any other word."""
    return {word: i + 2 for i, word in enumerate((*world.vocabulary(), *_MORE_WORDS))}


def encode(prompts: Sequence[str]) -> NDArray[np.int64]:
    """Turn prompts into rows of word numbers."""
    numbers = word_numbers()
    rows = np.full((len(prompts), LONGEST), _PADDING, dtype=np.int64)
    for row, prompt in zip(rows, prompts, strict=True):
        words = [numbers.get(word, _UNKNOWN) for word in world.tokens(prompt)[:LONGEST]] or [_UNKNOWN]
        row[: len(words)] = words
    return rows


def noise_of(seeds: Sequence[int]) -> NDArray[np.float32]:
    """Return the noise vector of every seed: uniform on [-1, 1], like the world's nuisance in training."""
    rows = [world.sample_nuisance(np.random.default_rng(abs(int(seed)))) for seed in seeds]
    return np.stack(rows) if rows else np.zeros((0, world.NUISANCE_DIM), dtype=np.float32)


def training_counts(path: Path = COUNTS) -> dict[str, int]:
    """Return how many training captions mention each combination, such as "cow + colour=red + place=beach".

    A combination is an entity with none, one or two attribute values. What is missing was never seen.
    """
    data: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return {str(name): int(n) for name, n in data["counts"].items()}
