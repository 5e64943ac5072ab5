"""All trials of one context, and what every single fact and every pair of facts has seen. Pure.

A trial is *explained* if it shows an accepted pattern: that pattern's rate is then what the trial was
expected to fail with. Other trials are expected to fail at the context's usual rate. The sums of both are
kept apart, so that a change of the usual rate changes no sum, and a change of an accepted pattern changes the
sums of its own trials only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from failscape.search.patterns.facts import FactSpace, PatternKey

Floats = NDArray[np.float64]

#: Rows of the sums that are kept for every pattern.
FREE_FAILS, FREE_PASSES, EXPLAINED_FAILS, EXPLAINED_PASSES, EXPLAINED_LOG, EXPLAINED_RATE = range(6)
PLANES = 6

#: Rates of accepted patterns are rounded to this step, so that sums change only when a rate really does.
_RATE_STEP = 0.05


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A usable trial: facts `asked` for and shown, all facts `shown` with those of its caption."""

    asked: frozenset[int]
    shown: frozenset[int]
    is_described: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class FailureCounts:
    """Failures and passes of some trials."""

    fails: float = 0.0
    passes: float = 0.0

    @property
    def trials(self) -> float:
        return self.fails + self.passes

    @property
    def rate(self) -> float:
        """The failure rate with half a failure and half a pass added, so that it is never 0 or 1."""
        return (self.fails + 0.5) / (self.trials + 1)


class ContextRows:
    """The rows of one context with their sums. Row numbers are positions in `rows`."""

    def __init__(self, space: FactSpace, described_passes: int) -> None:
        self._space = space
        self._pass_weight = float(described_passes)
        self.rows: list[RecordedRow] = []
        #: Rate of the accepted pattern that explains a row; 0 for none.
        self.predicted: list[float] = []
        self.patterns: list[PatternKey] = []
        self.most_usual = 0.95
        self._place: dict[PatternKey, int] = {}
        self._sums: Floats = np.zeros((PLANES, 64))
        self._rows_of: dict[int, set[int]] = {}
        self._accepted: dict[PatternKey, float] = {}
        self._free = [0.0, 0.0]
        self._layouts: dict[tuple[frozenset[int], frozenset[int]], tuple[NDArray[np.intp], Floats]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def usual_rate(self) -> float:
        """How often trials fail that no accepted pattern explains, as far as that is plausible.

        Crowds hold bugs that are not known yet, so early on more of them fail than usual: `most_usual` says
        what plain trials allow.
        """
        fails, passes = self._free
        return max(0.005, min(self.most_usual, (fails + 0.5) / (fails + passes + 1)))

    @property
    def sums(self) -> Floats:
        """One column per pattern of `patterns`."""
        return self._sums[:, : len(self.patterns)]

    def place(self, pattern: PatternKey) -> int | None:
        """The column of a single or a pair in `sums`; `None` if no trial has shown it."""
        return self._place.get(pattern)

    def add(self, row: RecordedRow) -> None:
        """Record a trial."""
        number = len(self.rows)
        self.rows.append(row)
        for fact in row.shown:
            self._rows_of.setdefault(fact, set()).add(number)
        rate = self._explaining_rate(row)
        self.predicted.append(rate)
        self._count(row, rate, 1.0)

    def accept(self, rates: Mapping[PatternKey, float]) -> None:
        """Take these patterns, with their rates, as explanations from now on, in place of all others."""
        rounded = {key: _rounded(rate) for key, rate in rates.items()}
        changed = {key for key in {*rounded, *self._accepted} if rounded.get(key) != self._accepted.get(key)}
        self._accepted = rounded
        affected: set[int] = set()
        for key in changed:
            affected |= self.showing(key)
        for number in sorted(affected):
            row, before = self.rows[number], self.predicted[number]
            after = self._explaining_rate(row)
            if after != before:
                self._count(row, before, -1.0)
                self._count(row, after, 1.0)
                self.predicted[number] = after

    @property
    def shown_facts(self) -> frozenset[int]:
        """Facts that some trial showed."""
        return frozenset(self._rows_of)

    def showing(self, pattern: Iterable[int]) -> set[int]:
        """Rows that show all facts of a pattern."""
        found = [self._rows_of.get(fact, set()) for fact in pattern]
        if not found:
            return set(range(len(self.rows)))
        found.sort(key=len)
        return set.intersection(*found)

    def unexplained_failures(self) -> list[int]:
        return [
            number
            for number, (row, rate) in enumerate(zip(self.rows, self.predicted, strict=True))
            if row.failed and row.shown and not rate
        ]

    def sums_of(self, pattern: PatternKey) -> Floats:
        """The sums of any pattern, also of three facts."""
        place = self._place.get(pattern)
        if place is not None:
            return np.asarray(self._sums[:, place])
        total = np.zeros(PLANES)
        wanted = frozenset(pattern)
        for number in self.showing(pattern):
            row = self.rows[number]
            total += _contribution(row, self.predicted[number]) * self._weight(row, wanted)
        return total

    def counts_without(self, pattern: PatternKey, absent: int, replaced: Collection[int]) -> FailureCounts:
        """Trials that show `pattern` and not the fact `absent`, and that no foreign pattern explains.

        If `replaced` is not empty, only trials count that show one of these facts: then `absent` is known to
        be missing, as both are of one kind.
        """
        own = frozenset(pattern)
        foreign = [frozenset(key) for key in self._accepted if not own.issuperset(key)]
        fails = passes = 0.0
        for number in self.showing(pattern) - self._rows_of.get(absent, set()):
            row = self.rows[number]
            if replaced and row.shown.isdisjoint(replaced):
                continue
            if any(key <= row.shown for key in foreign):
                continue
            weight = self._weight(row, own)
            fails += weight * row.failed
            passes += weight * (not row.failed)
        return FailureCounts(fails, passes)

    def split(self, pattern: PatternKey) -> dict[int, tuple[FailureCounts, FailureCounts]]:
        """Trials of a pattern by every further fact: those that show it, and those that surely lack it.

        A fact is surely missing if the trial shows another of its kind, or if all facts of trials are known.
        """
        own = frozenset(pattern)
        foreign = [frozenset(key) for key in self._accepted if not own.issuperset(key)]
        kinds = self._space.kinds
        shown: dict[int, list[float]] = {}
        by_kind: dict[str, list[float]] = {}
        total = [0.0, 0.0]
        for number in self.showing(pattern):
            row = self.rows[number]
            if any(key <= row.shown for key in foreign):
                continue
            total[not row.failed] += 1
            for kind in {kinds[fact] for fact in row.shown}:
                by_kind.setdefault(kind, [0.0, 0.0])[not row.failed] += 1
            for fact in row.shown - own:
                shown.setdefault(fact, [0.0, 0.0])[not row.failed] += 1
        found: dict[int, tuple[FailureCounts, FailureCounts]] = {}
        for fact, (fails, passes) in shown.items():
            known = total if self._space.complete else by_kind[kinds[fact]]
            with_fact = FailureCounts(fails, passes)
            found[fact] = with_fact, FailureCounts(known[0] - fails, known[1] - passes)
        return found

    def _explaining_rate(self, row: RecordedRow) -> float:
        rates = [rate for key, rate in self._accepted.items() if row.shown.issuperset(key)]
        return max(rates, default=0.0)

    def _weight(self, row: RecordedRow, pattern: frozenset[int]) -> float:
        """Facts that were asked for count in every trial; those of captions in described ones only, where a
        described pass stands for all passes that were not."""
        if pattern <= row.asked or row.failed:
            return 1.0
        return self._pass_weight

    def _count(self, row: RecordedRow, rate: float, sign: float) -> None:
        places, weights = self._layout(row)
        contribution = sign * _contribution(row, rate)
        if not rate:
            self._free[not row.failed] += sign
        if row.failed:
            self._sums[:, places] += contribution[:, None]
        else:
            self._sums[:, places] += contribution[:, None] * weights

    def _layout(self, row: RecordedRow) -> tuple[NDArray[np.intp], Floats]:
        """The columns of a row's patterns, and how much a pass counts for each."""
        known = self._layouts.get((row.asked, row.shown))
        if known is None:
            patterns = self._patterns_in(row.shown)
            places = np.array([self._column(pattern) for pattern in patterns], np.intp)
            weights = np.array([self._weight_of_pass(row, pattern) for pattern in patterns])
            known = places, weights
            self._layouts[row.asked, row.shown] = known
        return known

    def _weight_of_pass(self, row: RecordedRow, pattern: PatternKey) -> float:
        return 1.0 if row.asked.issuperset(pattern) else self._pass_weight

    def _patterns_in(self, shown: frozenset[int]) -> list[PatternKey]:
        facts = sorted(shown)
        singles = [(fact,) for fact in facts]
        pairs = [pair for pair in combinations(facts, 2) if self._space.are_compatible(*pair)]
        return [*singles, *pairs]

    def _column(self, pattern: PatternKey) -> int:
        place = self._place.get(pattern)
        if place is None:
            place = len(self.patterns)
            self._place[pattern] = place
            self.patterns.append(pattern)
            if place >= self._sums.shape[1]:
                self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)], axis=1)
        return place


def _contribution(row: RecordedRow, rate: float) -> Floats:
    """What one row adds to the sums of its patterns."""
    found = np.zeros(PLANES)
    if not rate:
        found[FREE_FAILS if row.failed else FREE_PASSES] = 1.0
    else:
        found[EXPLAINED_FAILS if row.failed else EXPLAINED_PASSES] = 1.0
        found[EXPLAINED_LOG] = math.log(rate) if row.failed else math.log1p(-rate)
        found[EXPLAINED_RATE] = rate
    return found


def _rounded(rate: float) -> float:
    steps = max(1, round(rate / _RATE_STEP))
    return min(0.98, steps * _RATE_STEP)


def stacked(columns: Sequence[Floats]) -> Floats:
    """Sums of several patterns side by side."""
    return np.stack(columns, axis=1) if columns else np.zeros((PLANES, 0))
