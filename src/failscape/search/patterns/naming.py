"""Is a pattern named exactly? A part may fail as often; a narrower pattern may hold all that fails. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy import special

from failscape.search.counts import Counts
from failscape.search.patterns.confirmation import ConfirmationTest, TestState
from failscape.search.patterns.facts import FactSpace, PatternKey
from failscape.search.patterns.ledger import TestLedger
from failscape.search.patterns.rows import ContextRows, FailureCounts
from failscape.search.patterns.settings import SearchSettings


@dataclass(frozen=True, slots=True)
class NameCheck:
    """Trials that show `part` and lack the fact `absent`.

    `substitutes` are other facts of the same kind. Where they are given, trials with one of them decide
    whether a wider pattern fails outside of a narrower one; else whether a part keeps a bug.
    """

    part: PatternKey
    absent: int
    is_for_wider: bool
    substitutes: tuple[int, ...] = ()


def part_checks(space: FactSpace, test: ConfirmationTest) -> list[NameCheck]:
    """The pattern without each of its facts."""
    checks: list[NameCheck] = []
    for fact in test.key:
        part = tuple(other for other in test.key if other != fact)
        if part and space.is_pattern(part):
            checks.append(NameCheck(part, fact, is_for_wider=False))
    return checks


def wider_check(space: FactSpace, wide: ConfirmationTest, narrow: ConfirmationTest) -> NameCheck | None:
    """Whether `wide` fails where the one fact that `narrow` has more is surely missing."""
    extra = set(narrow.key) - set(wide.key)
    if len(extra) != 1 or not set(wide.key) < set(narrow.key):
        return None
    absent = extra.pop()
    if space.complete:
        return NameCheck(wide.key, absent, is_for_wider=True)
    compatible = [
        other
        for other in space.alternatives(wide.context, absent)
        if all(space.are_compatible(other, fact) for fact in wide.key)
    ]
    return (
        NameCheck(wide.key, absent, is_for_wider=True, substitutes=tuple(compatible)) if compatible else None
    )


def counts_of(check: NameCheck, rows: ContextRows) -> FailureCounts:
    """All trials that speak about a check."""
    return rows.counts_without(check.part, check.absent, check.substitutes)


def chance_above(counts: FailureCounts | Counts, rate: float) -> float:
    """The posterior probability that trials fail more often than `rate`, with an even prior."""
    return float(special.betaincc(1 + counts.fails, 1 + counts.passes, min(0.999, rate)))


class NameKeeper:
    """Decides which proven patterns are the names of what fails. `rows` gives the trials of a context."""

    def __init__(
        self,
        space: FactSpace,
        settings: SearchSettings,
        ledger: TestLedger,
        rows: Callable[[str], ContextRows],
    ) -> None:
        self._space = space
        self._settings = settings
        self._ledger = ledger
        self._rows = rows

    def checks_of(self, test: ConfirmationTest) -> list[NameCheck]:
        """What decides over the name of a test that is proven, or near to it."""
        if test.log_evidence < self._ledger.near_proof or test.state is TestState.DROPPED:
            return []
        checks = part_checks(self._space, test) if len(test.key) > 1 else []
        for narrow in self._ledger.of(test.context):
            if narrow.log_evidence < self._ledger.near_proof:
                continue
            check = wider_check(self._space, test, narrow)
            if check is not None:
                checks.append(check)
        return checks

    def _has_most(self, part: ConfirmationTest, whole: ConfirmationTest) -> bool:
        """Whether a part has most of the excess of a whole: then it is the better name."""
        base = self._base_rate(part)
        return part.rate - base >= self._settings.kept_share * (whole.rate - base)

    def _base_rate(self, test: ConfirmationTest) -> float:
        return self._ledger.base_rate(test, self._rows(test.context).usual_rate)

    def chance_kept(self, test: ConfirmationTest, check: NameCheck) -> float:
        """The probability that a part keeps the bug, or that a wider pattern fails outside of a narrower."""
        rows = self._rows(test.context)
        limit = self._ledger.limit(test)
        if not check.is_for_wider:
            base = self._base_rate(test)
            limit = max(limit, base + self._settings.kept_share * (test.rate - base))
        return chance_above(counts_of(check, rows), limit)

    def may_be_too_wide(self, test: ConfirmationTest) -> bool:
        """Whether a narrower pattern could hold most of what fails."""
        if test.state is TestState.DROPPED or not test.counts.trials:
            return False
        base = self._base_rate(test)
        enough = base + self._settings.kept_share * (1 - base)
        is_strong = chance_above(test.counts, enough) > 1 - self._settings.settled_doubt
        is_longest = len(test.key) >= self._settings.largest_pattern
        return not is_strong and not is_longest and not self.is_explained(test)

    def is_explained(self, test: ConfirmationTest) -> bool:
        """A narrower pattern is all that fails: with other facts in its place nothing does."""
        return any(
            self.chance_kept(test, check) < 2 * self._settings.settled_doubt
            for check in self.checks_of(test)
            if check.is_for_wider
        )

    def claimed(self) -> list[ConfirmationTest]:
        """Proven patterns by their best names: no proven part keeps the bug, no narrower one is all of it."""
        proven = self._ledger.proven()
        return [
            test
            for test in proven
            if not self.is_explained(test) and not any(self._is_better_name(part, test) for part in proven)
        ]

    def _is_better_name(self, part: ConfirmationTest, whole: ConfirmationTest) -> bool:
        return (
            part.context == whole.context
            and set(part.key) < set(whole.key)
            and self._has_most(part, whole)
            and not self.is_explained(part)
        )

    def parts_are_cleared(self, test: ConfirmationTest) -> bool:
        return all(
            self.chance_kept(test, check) <= self._settings.settled_doubt
            for check in part_checks(self._space, test)
        )
