"""What a test has to beat, and how much its own trials prove. Pure.

Two rules are given: a pattern fails more often than its context usually does, by more than a margin
(`ExcessOverPlain`), or more often than a fixed rate (`AboveFixedRate`). A hunt whose judge or verifier is
known to err derives its own rule from one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy import special

from failscape.search.patterns.confirmation import ConfirmationTest
from failscape.search.patterns.rows import FailureCounts, Floats
from failscape.stats.differences import log_excess, log_excess_grid
from failscape.stats.evalues import log_e_value

#: Points at which the uncertain rate of plain images is looked at.
_QUANTILES = (np.arange(15) + 0.5) / 15


class EvidenceRule(Protocol):
    """The null hypothesis of all tests of a search. Pure: the same counts give the same numbers."""

    #: Whether plain trials of a context are needed.
    needs_plain: bool
    #: A rate that tests typically have to beat: it fixes the number of slots before the first trial.
    planned_limit: float

    def rate_to_beat(self, expected: Floats) -> Floats:
        """Where trials are expected to fail at these rates, what a bug has to fail with at least."""
        ...

    def most_usual(self, plain: FailureCounts) -> float:
        """The largest plausible failure rate of trials without a bug."""
        ...

    def limit(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        """The failure rate that a claim has to be above, as far as it is known now."""
        ...

    def log_evidence(self, tests: Sequence[ConfirmationTest], plain: Sequence[FailureCounts]) -> Floats:
        """log e of every test by its own trials; `plain` has the plain trials of its context."""
        ...

    def chance_above(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        """The posterior probability that a test's rate is above its limit. It stops tests, it proves none."""
        ...


class ExcessOverPlain:
    """A pattern fails more often than plain trials of its context do, by more than `margin`.

    Args:
        margin: Excess that is too small to matter.
        usual_rate: A guess of how often plain trials fail; it only sets the number of slots.
    """

    needs_plain = True

    def __init__(self, margin: float = 0.05, usual_rate: float = 0.05) -> None:
        self.margin = margin
        self.planned_limit = min(0.95, usual_rate + margin)

    def rate_to_beat(self, expected: Floats) -> Floats:
        return np.minimum(expected + self.margin, 0.98)

    def most_usual(self, plain: FailureCounts) -> float:
        """The upper end of a one-sided 90 % interval of the plain rate."""
        return float(special.betaincinv(0.5 + plain.fails, 0.5 + plain.passes, 0.9))

    def limit(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        return min(0.98, plain.rate + self.margin)

    def log_evidence(self, tests: Sequence[ConfirmationTest], plain: Sequence[FailureCounts]) -> Floats:
        if not tests:
            return np.zeros(0)
        base = log_excess_grid([one.fails for one in plain], [one.passes for one in plain])
        fails = [test.counts.fails for test in tests]
        passes = [test.counts.passes for test in tests]
        return log_excess(base, fails, passes, self.margin)

    def chance_above(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        usual = special.betaincinv(0.5 + plain.fails, 0.5 + plain.passes, _QUANTILES)
        limits = np.minimum(usual + self.margin, 0.999)
        return float(special.betaincc(1 + test.counts.fails, 1 + test.counts.passes, limits).mean())


class AboveFixedRate:
    """A pattern fails more often than `margin`, whatever the rest does.

    Override `limit` where a verifier's known errors raise it.
    """

    needs_plain = False

    def __init__(self, margin: float) -> None:
        self.margin = margin
        self.planned_limit = margin

    def rate_to_beat(self, expected: Floats) -> Floats:
        return np.minimum(np.maximum(expected, self.margin), 0.98)

    def most_usual(self, plain: FailureCounts) -> float:
        """Half of the margin: what fails more often on the whole is for patterns to explain."""
        return self.margin / 2

    def limit(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        return self.margin

    def log_evidence(self, tests: Sequence[ConfirmationTest], plain: Sequence[FailureCounts]) -> Floats:
        if not tests:
            return np.zeros(0)
        passes = [test.counts.passes for test in tests]
        fails = [test.counts.fails for test in tests]
        limits = [1 - self.limit(test, one) for test, one in zip(tests, plain, strict=True)]
        return log_e_value(passes, fails, limits)

    def chance_above(self, test: ConfirmationTest, plain: FailureCounts) -> float:
        counts = test.counts
        return float(special.betaincc(1 + counts.fails, 1 + counts.passes, self.limit(test, plain)))
