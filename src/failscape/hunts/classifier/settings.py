"""The settings of a classifier hunt as its parts use them, and how it numbers its luck."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassifierRules:
    """`margin`: by how much a bug must exceed the baseline. `fdr`: expected share of false claims, at most.

    `candidates` per class may be tested, a number fixed in advance: e-BH counts all of them. `images` is the
    budget (0: none is known); caps are shares of it unless `baseline_more` and `most_images` set them.
    `together` values of the corpus share a first look. A class gets `baseline` images at first; a finding
    gets `confirm` fresh ones, each of its toggles `toggles`, with `alternatives` per clause. `families` of
    the corpus give candidates. `both_fails`: a wrong label is a failure even if its object is there too.
    `rounds` may be mined and looked at so often; 0 is no limit.
    """

    margin: float = 0.05
    fdr: float = 0.05
    top_k: int = 1
    families: tuple[str, ...] = ("Base", "Background", "Image")
    images: int = 0
    together: int = 5
    baseline: int = 50
    baseline_more: int | None = None
    candidates: int = 60
    proposed: int = 16
    most_images: int | None = None
    confirm: int = 50
    toggles: int = 25
    alternatives: int = 1
    captions: int = 24
    proposals: int = 12
    round: int = 128
    least_presence: float = 0.1
    sensitivity: float = 1.0
    slip: float = 0.0
    both_fails: bool = False
    rounds: int = 0
    seed: int = 0

    @property
    def most_in_test(self) -> int:
        """Images that one description may take: an effect of ten points needs some hundreds."""
        if self.most_images is not None:
            return self.most_images
        return max(150, self.images // TEST_PART) if self.images else UNLIMITED_TEST

    def baseline_goal(self, classes: int) -> int:
        """Baseline images of a class that seems to have a bug: all its descriptions lean on them."""
        if self.baseline_more is not None:
            return max(self.baseline, self.baseline_more)
        if not self.images:
            return max(self.baseline, MOST_BASELINE // 2)
        return int(min(MOST_BASELINE, max(self.baseline, 120, BASELINE_PART * self.images / classes)))

    @property
    def planned_together(self) -> int:
        """Probes of a round: small budgets are decided in smaller steps."""
        return min(self.round, max(16, self.images // 150)) if self.images else self.round


#: One description may take a twenty-fifth of all images.
TEST_PART = 25

#: Share of a class's images that its baseline may take. Twice as many gain less than the tests they cost.
UNLIMITED_TEST = 600
BASELINE_PART = 0.2

MOST_BASELINE = 1_000


def stream_seed(seed: int, stream: str, number: int) -> int:
    """The seed of one image. Streams share none: an image that suggests a bug is never evidence for it."""
    digest = hashlib.blake2b(f"{seed}|{stream}|{number}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") & 0x7FFFFFFF
