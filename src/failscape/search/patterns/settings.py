"""The numbers that a pattern search goes by. Each has a meaning that does not depend on any test world."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a user may want to change, with the effect of each number.

    What the search claims is valid at `level` whatever the other numbers are: they only decide where images
    go and which of two true names is preferred.

    Args:
        budget: Images (or questions) that the search may use.
        level: Largest expected share of false claims.
        seed: Makes the search repeatable.
        crowd_size: Facts asked for in one exploring image. Use 1 or 2 where every trial shows many facts
            anyway.
        largest_pattern: Most facts in one pattern. More than three are not told apart within usual budgets.
        expected_bugs: Bugs of each size (one fact, two facts, …) that a context is expected to have. A larger
            number tests fainter suspicions.
        uneven_share: Share of harmless patterns that fail at another rate than their context, though by less
            than the margin.
        kept_share: A part of a pattern is the better name if it keeps this share of the excess.
        settled_doubt: A question is settled when the other answer is less likely than this: a test is
            dropped, a part does not keep the bug.
        typical_excess: Excess over the limit that a test is planned for, as a rate. It fixes the number of
            tests that the budget has room for.
        test_share: Part of every round that tests may take while exploring still pays.
        long_shot_share: Part of the tests' room for tests that would take more than five typical ones.
        first_plain: Plain images that a context begins with, as far as a tenth of the budget allows.
        confirm_images: Fresh images of every claim, for a rate that no choice has touched. 0 for none.
        described_passes: Every so many passes are described by a captioner; failures always are.

    Raises:
        ValueError: If a number is out of its range.
    """

    budget: int
    level: float = 0.05
    seed: int = 0
    crowd_size: int = 5
    largest_pattern: int = 3
    expected_bugs: float = 0.5
    uneven_share: float = 0.1
    kept_share: float = 0.5
    settled_doubt: float = 0.05
    typical_excess: float = 0.3
    test_share: float = 0.5
    long_shot_share: float = 0.1
    first_plain: int = 20
    confirm_images: int = 0
    described_passes: int = 1

    def __post_init__(self) -> None:
        for name in ("level", "uneven_share", "kept_share", "settled_doubt", "typical_excess"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(f"`0 < {name} < 1` must hold, but got {name}={value}")
        for name in ("budget", "crowd_size", "described_passes"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"`{name} >= 1` must hold, but got {name}={value}")
        if not 1 <= self.largest_pattern <= 3:
            raise ValueError(f"`1 <= largest_pattern <= 3` must hold, but got {self.largest_pattern}")

    def typical_test_images(self, limit: float) -> int:
        """Images that prove a bug of typical excess over `limit`.

        Each image brings the Kullback–Leibler divergence in evidence, on average. The number of slots sets
        the evidence needed, and the images of a test set the number of slots; three rounds settle both.
        """
        rate = min(0.98, limit + self.typical_excess)
        information = divergence(rate, limit)
        images = 20.0
        for _ in range(3):
            images = math.log(self._slots(images) / self.level) / information
        return max(2, math.ceil(images))

    def slot_count(self, limit: float) -> int:
        """Tests that e-BH counts over, fixed before the first image: as many typical ones as the budget buys.

        Not all of the budget goes to tests. But most tests are dropped after a few images, and a search
        without a free slot finds nothing more, while twice as many slots cost a proof only log 2 in evidence.
        """
        return math.ceil(self._slots(self.typical_test_images(limit)))

    def _slots(self, images: float) -> float:
        """At least 1 / level: fewer would save little evidence."""
        return max(1 / self.level, self.budget / images)


def divergence(rate: float, limit: float) -> float:
    """Evidence that one image brings on average, in nats, where `rate` is true and `limit` is refuted."""
    low = min(max(limit, 1e-6), 1 - 1e-6)
    high = min(max(rate, 1e-6), 1 - 1e-6)
    return high * math.log(high / low) + (1 - high) * math.log((1 - high) / (1 - low))
