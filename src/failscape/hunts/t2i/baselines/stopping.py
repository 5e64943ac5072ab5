"""When a node has had enough images, and what they say: rules that a strategy can be given.

A rule looks at the counts of one node only. It chooses no nodes and claims nothing about error rates.
"""

from __future__ import annotations

import math
from typing import Protocol

from failscape.errors import ConfigError
from failscape.hunts.counts import Tally


class StoppingRule(Protocol):
    """`fewest` images may settle a node; no node gets more than `most_tries`, invalid ones included."""

    fewest: int
    most_tries: int

    def outcome(self, tally: Tally) -> str:
        """`pass`, `fail`, `open`, or "" while images are still wanted."""
        ...

    def wanted(self, tally: Tally) -> int:
        """How many more tries may be started now. Never more than are sure to be needed."""
        ...


class FixedRule:
    """N valid images decide a node. Tries that turn out invalid are replaced, up to 2 N tries.

    A node fails when its share of passes is below the threshold; with `at_threshold="fail"` also when it
    is equal, as FailureAtlas's code does (`acc <= prune_threshold`). A node that used up its tries is
    settled by what it has when no further image could change the verdict, and is "open" otherwise.
    """

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        _check(images, threshold, at_threshold)
        self.images = images
        self.fewest = images
        self.most_tries = 2 * images
        exact = threshold * images
        # 0.8 · 25 must count as 20, although floats may say 20.000000000000004.
        near = round(exact) if math.isclose(exact, round(exact), abs_tol=1e-9) else None
        if near is None:
            self.needed = math.ceil(exact)
        else:
            self.needed = near + (at_threshold == "fail")
        self.too_many = images - self.needed + 1

    def outcome(self, tally: Tally) -> str:
        if tally.valid >= self.images:
            return "pass" if tally.passes >= self.needed else "fail"
        return self._fixed(tally) or "open" if tally.tries >= self.most_tries else ""

    def wanted(self, tally: Tally) -> int:
        flying = tally.flying.bit_count()
        return min(self.images - tally.valid, self.most_tries - tally.tries) - flying

    def _fixed(self, tally: Tally) -> str:
        """The verdict that no further image could change, if there is one."""
        if tally.passes >= self.needed:
            return "pass"
        return "fail" if tally.fails >= self.too_many else ""


class CurtailedRule(FixedRule):
    """The verdict of the fixed rule, reached as soon as no further image could change it.

    At 25 images and 0.8 that is after 6 failures or 20 passes.
    """

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        super().__init__(images, threshold, at_threshold)
        self.fewest = min(self.needed, self.too_many)

    def outcome(self, tally: Tally) -> str:
        return self._fixed(tally) or ("open" if tally.tries >= self.most_tries else "")

    def wanted(self, tally: Tally) -> int:
        missing = min(self.needed - tally.passes, self.too_many - tally.fails)
        return min(missing, self.most_tries - tally.tries) - tally.flying.bit_count()


class SprtRule:
    """Wald's sequential test of a good rate against a bad one, both a step away from the threshold.

    The step is half the distance to the nearer of 0 and 1: at 0.8 the rates are 0.9 and 0.7. Both errors
    are 5 %. A node that reaches 4 N valid images undecided takes the side it leans to.
    """

    ERROR = 0.05

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        _check(images, threshold, at_threshold)
        step = min(threshold, 1 - threshold) / 2
        good, bad = threshold + step, threshold - step
        self.per_fail = math.log((1 - bad) / (1 - good))
        self.per_pass = math.log(bad / good)
        self.bound = math.log((1 - self.ERROR) / self.ERROR)
        self.images = 4 * images
        self.most_tries = 2 * self.images
        self.fewest = min(math.ceil(self.bound / self.per_fail), math.ceil(-self.bound / self.per_pass))
        self.fewest = min(self.fewest, self.images)

    def outcome(self, tally: Tally) -> str:
        leaning = self._leaning(tally)
        if abs(leaning) >= self.bound or tally.valid >= self.images:
            return "fail" if leaning > 0 else "pass"
        return "open" if tally.tries >= self.most_tries else ""

    def wanted(self, tally: Tally) -> int:
        leaning = self._leaning(tally)
        to_fail = math.ceil((self.bound - leaning) / self.per_fail)
        to_pass = math.ceil((self.bound + leaning) / -self.per_pass)
        left = min(self.images - tally.valid, self.most_tries - tally.tries)
        return min(to_fail, to_pass, left) - tally.flying.bit_count()

    def _leaning(self, tally: Tally) -> float:
        """The log likelihood ratio of the bad rate against the good one."""
        return tally.fails * self.per_fail + tally.passes * self.per_pass


def _check(images: int, threshold: float, at_threshold: str) -> None:
    if images < 1:
        raise ConfigError(f"images_per_node must be at least 1, but is {images}", "set it to 25")
    if not 0 < threshold < 1:
        raise ConfigError(f"threshold must lie between 0 and 1, but is {threshold}", "set it to 0.8")
    if at_threshold not in ("pass", "fail"):
        raise ConfigError(f"at_threshold must be pass or fail, but is {at_threshold!r}", "choose one")


RULES: dict[str, type[FixedRule] | type[SprtRule]] = {
    "fixed": FixedRule,
    "curtailed": CurtailedRule,
    "sprt": SprtRule,
}
