"""What is known about one node under a fixed number of images: which tries are told, and how they went."""

from __future__ import annotations

import math

from failscape.errors import ConfigError
from failscape.spaces.lattice import Node
from failscape.trials import Step, Trial


class Tally:
    """Counts of one node. `told` and `flying` are sets of try numbers, as bits of an integer."""

    __slots__ = ("dropped", "fails", "flying", "invalid", "node", "outcome", "passes", "steps", "told")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.passes = 0
        self.fails = 0
        self.invalid = 0
        self.told = 0
        self.flying = 0
        self.outcome = ""
        self.dropped: list[int] | None = None
        self.steps: tuple[Step, ...] | None = None

    @property
    def valid(self) -> int:
        return self.passes + self.fails

    def next_try(self) -> int:
        """The lowest number that is neither told nor in flight."""
        taken = self.told | self.flying
        return (~taken & (taken + 1)).bit_length() - 1

    def blame(self, trial: Trial) -> None:
        """Count the checks that did not hold in a failed image."""
        text = trial.text
        ending = text[text.rfind("[") :]
        pattern = _PATTERNS.get(ending)
        if pattern is None:
            pattern = tuple(not held for held in trial.facts[-1])
            if len(_PATTERNS) < 4096:
                _PATTERNS[ending] = pattern
        if self.dropped is None:
            self.dropped = [0] * len(pattern)
        for place, dropped in enumerate(pattern):
            if dropped:
                self.dropped[place] += 1


_PATTERNS: dict[str, tuple[bool, ...]] = {}
"""End of a trial's facts, such as `[true,false]]` → which checks dropped. Few exist, and parsing is slow."""


class FixedRule:
    """N valid images decide a node. Tries that turn out invalid are replaced, up to 2 N tries.

    A node fails when its share of passes is below the threshold; with `at_threshold="fail"` also when it
    is equal, as FailureAtlas's code does (`acc <= prune_threshold`). A node that used up its tries is
    settled by what it has when no further image could change the verdict, and is "open" otherwise.
    """

    def __init__(self, images: int, threshold: float, at_threshold: str) -> None:
        if images < 1:
            raise ConfigError(f"images_per_node must be at least 1, but is {images}", "set it to 25")
        if not 0 < threshold < 1:
            raise ConfigError(f"threshold must lie between 0 and 1, but is {threshold}", "set it to 0.8")
        if at_threshold not in ("pass", "fail"):
            raise ConfigError(f"at_threshold must be pass or fail, but is {at_threshold!r}", "choose one")
        self.images = images
        self.most_tries = 2 * images
        exact = threshold * images
        # 0.8 · 25 must count as 20, although floats may say 20.000000000000004.
        near = round(exact) if math.isclose(exact, round(exact), abs_tol=1e-9) else None
        if near is None:
            self.needed = math.ceil(exact)
        else:
            self.needed = near + (at_threshold == "fail")

    def outcome(self, tally: Tally) -> str:
        """`pass`, `fail`, `open`, or "" while images are still wanted."""
        if tally.valid >= self.images:
            return "pass" if tally.passes >= self.needed else "fail"
        if tally.passes + tally.fails + tally.invalid < self.most_tries:
            return ""
        if tally.passes >= self.needed:
            return "pass"
        return "fail" if tally.fails > self.images - self.needed else "open"

    def wanted(self, tally: Tally) -> int:
        """How many more tries may be started now."""
        flying = tally.flying.bit_count()
        tries = tally.passes + tally.fails + tally.invalid + flying
        return min(self.images - tally.valid - flying, self.most_tries - tries)
