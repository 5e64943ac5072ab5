"""The settings of a classifier hunt as its parts use them, and how it numbers its luck."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassifierRules:
    """`margin`: by how much a bug must exceed the baseline. `fdr`: expected share of false claims, at most.

    `baseline` images a class gets at first, `baseline_more` once a description looks like a bug. `candidates`
    per class are fixed in advance: e-BH counts all of them. A description gets at most `most_images` in the
    race; a finding gets `confirm` fresh ones, each of its toggles `toggles`, with `alternatives` per clause.
    `families` of the corpus give candidates.
    """

    margin: float = 0.05
    fdr: float = 0.05
    top_k: int = 1
    families: tuple[str, ...] = ("Base", "Background", "Image")
    baseline: int = 50
    baseline_more: int = 120
    candidates: int = 60
    proposed: int = 16
    most_images: int = 150
    confirm: int = 50
    toggles: int = 25
    alternatives: int = 1
    captions: int = 24
    proposals: int = 12
    round: int = 128
    least_presence: float = 0.1
    sensitivity: float = 1.0
    slip: float = 0.0
    seed: int = 0


def stream_seed(seed: int, stream: str, number: int) -> int:
    """The seed of one image. Streams share none: an image that suggests a bug is never evidence for it."""
    digest = hashlib.blake2b(f"{seed}|{stream}|{number}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") & 0x7FFFFFFF
