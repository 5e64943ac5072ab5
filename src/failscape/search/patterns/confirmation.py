"""Patterns under test: each has trials of its own, and only those are evidence. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from failscape.search.patterns.facts import PatternKey
from failscape.search.patterns.rows import FailureCounts

#: A pattern is given up as undrawable if fewer than this share of its trials can be used.
LEAST_USABLE = 0.1


class TestState(StrEnum):
    """Where a test stands. `DROPPED`: surely below its limit, or hardly ever usable."""

    __test__ = False

    OPEN = "open"
    PROVEN = "proven"
    DROPPED = "dropped"


@dataclass(slots=True)
class ConfirmationTest:
    """One pattern of one context under test.

    `only_shown` is fixed when the test is opened: only trials count in which the judge sees every fact.
    `pending` trials were asked for and are not told yet; `drawn` were told, usable or not. `least_trials` is
    how many a reopened test gets before it can be dropped again. `confirmation` counts fresh trials after the
    proof, in the order told.
    """

    __test__ = False

    context: str
    key: PatternKey
    facts: tuple[str, ...]
    only_shown: bool
    counts: FailureCounts = field(default_factory=FailureCounts)
    hidden: FailureCounts = field(default_factory=FailureCounts)
    confirmation: FailureCounts = field(default_factory=FailureCounts)
    drawn: int = 0
    pending: int = 0
    confirm_requested: int = 0
    log_evidence: float = 0.0
    state: TestState = TestState.OPEN
    least_trials: float = 0.0
    #: Somebody wants it tested, whatever the search believes.
    always: bool = False

    @property
    def rate(self) -> float:
        return self.counts.rate

    @property
    def is_undrawable(self) -> bool:
        return self.drawn >= 2 / LEAST_USABLE and self.counts.trials < LEAST_USABLE * self.drawn

    def add(self, failed: bool | None, shows_all: bool) -> None:
        """Count one trial of the test."""
        self.pending -= 1
        self.drawn += 1
        if failed is None:
            return
        if self.only_shown and not shows_all:
            self.hidden = counted(self.hidden, failed)
        else:
            self.counts = counted(self.counts, failed)

    def count_hidden(self) -> None:
        """The judge turned out to see no facts: all usable trials count."""
        if self.only_shown:
            fails = self.counts.fails + self.hidden.fails
            passes = self.counts.passes + self.hidden.passes
            self.counts = FailureCounts(fails, passes)
            self.hidden = FailureCounts()
            self.only_shown = False


def counted(counts: FailureCounts, failed: bool) -> FailureCounts:
    """The counts with one trial more."""
    return FailureCounts(counts.fails + failed, counts.passes + (not failed))
