"""How alike texts are: hashed word vectors, cosine, BLEU against others. Pure.

The vectors need no model: words and pairs of words, hashed. They see wording, not meaning; give an embedder
where that matters.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float64]
WIDTH = 512
#: Lengths of the n-grams that `self_bleu` counts.
ORDERS = (2, 3, 4)


def words_of(text: str) -> list[str]:
    """Lower-case words; whatever is neither letter nor digit parts them."""
    return re.findall(r"[^\W_]+", text.lower())


@lru_cache(maxsize=65536)
def _place(gram: str) -> tuple[int, float]:
    digest = hashlib.blake2b(gram.encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "big") % WIDTH, 1.0 if digest[4] & 1 else -1.0


def word_vectors(texts: Sequence[str]) -> Vectors:
    """One row of length 1 per text (0 for an empty one): its words, and its pairs of words at half weight."""
    rows = np.zeros((len(texts), WIDTH))
    for row, text in zip(rows, texts, strict=True):
        words = words_of(text)
        pairs = [f"{first} {second}" for first, second in pairwise(words)]
        for gram, weight in [*((word, 1.0) for word in words), *((pair, 0.5) for pair in pairs)]:
            place, sign = _place(gram)
            row[place] += sign * weight
    return unit(rows)


def unit(rows: ArrayLike) -> Vectors:
    found = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(found, axis=-1, keepdims=True)
    return np.asarray(found / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def mean_similarity(row: ArrayLike, others: ArrayLike) -> float:
    """Mean cosine of one unit vector with others, 0 when there are none."""
    rows = np.asarray(others, dtype=np.float64)
    return float(np.mean(rows @ np.asarray(row, dtype=np.float64))) if len(rows) else 0.0


@lru_cache(maxsize=16384)
def _grams(text: str, order: int) -> Counter[tuple[str, ...]]:
    words = words_of(text)
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def bleu(text: str, others: Sequence[str], orders: Sequence[int] = ORDERS) -> float:
    """Clipped n-gram precision of `text` against all others: geometric mean over orders, 0 to 1.

    As in CRT's Self-BLEU, without brevity penalty; orders longer than the text are left out, counts are
    smoothed by one half so that one missing order does not make all of it 0.
    """
    logs = []
    for order in orders:
        own = _grams(text, order)
        if not own:
            continue
        best: Counter[tuple[str, ...]] = Counter()
        for other in others:
            best |= _grams(other, order)
        hits = sum(min(number, best[gram]) for gram, number in own.items())
        logs.append(np.log((hits + 0.5) / (own.total() + 0.5)))
    if not logs:
        return float(any(words_of(text) == words_of(other) for other in others))
    return float(np.exp(np.mean(logs)))


def self_bleu(texts: Sequence[str], most: int = 200) -> float:
    """Mean BLEU of each text against the others; of many texts the first `most`."""
    few = list(texts[:most])
    if len(few) < 2:
        return 0.0
    return float(np.mean([bleu(text, few[:at] + few[at + 1 :]) for at, text in enumerate(few)]))
