"""A second opinion: a plain scan of all recorded trials for whatever plainly fails. Pure.

It counts every context, every single fact and every pair of facts with enough trials, holds each against the
context's usual failure rate by an exact tail probability (averaged over what the usual rate may be, where few
trials say so), and keeps what Benjamini and Yekutieli's procedure keeps (it needs no independence). Each of
these patterns then has a standing: it is a finding, a suspect, explained by one of those, or *seen*: it
plainly fails, and the search has not dealt with it.

Searches choose their trials by earlier outcomes, so this proves nothing. It makes sure that a hunt cannot say
"little fails here" beside trials that say otherwise. It shares no code with any search, so that it can catch
their mistakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special


@dataclass(frozen=True, slots=True)
class ScannedTrial:
    """One usable trial. `facts` is what it was asked to show, or is known to show.

    `context` is the class of a classifier, or the same word for all trials of a hunt without classes. For
    text to image, facts are the entity and the attribute values. `times`: so many trials were just like it.
    """

    context: str
    facts: frozenset[str]
    failed: bool
    times: int = 1


@dataclass(frozen=True, slots=True, order=True)
class ScannedPattern:
    """Facts within a context. No facts: the context as a whole."""

    context: str
    facts: tuple[str, ...] = ()

    def covers(self, trial: ScannedTrial) -> bool:
        return self.context in ("", trial.context) and trial.facts.issuperset(self.facts)


class PatternStanding(StrEnum):
    """What a hunt says about a pattern that plainly fails."""

    FINDING = "finding"
    SUSPECT = "suspect"
    EXPLAINED = "explained"
    SEEN = "seen, not tested"


@dataclass(frozen=True, slots=True)
class PlainFailure:
    """A pattern that fails more often than usual, by all recorded trials.

    `explained_by` is the listed or seen pattern without whose trials nothing unusual is left.
    """

    pattern: ScannedPattern
    fails: int
    trials: int
    usual_rate: float
    p_value: float
    standing: PatternStanding
    explained_by: ScannedPattern | None = None


def second_opinion(
    trials: Sequence[ScannedTrial],
    findings: Collection[ScannedPattern] = (),
    suspects: Collection[ScannedPattern] = (),
    *,
    margin: float = 0.0,
    least_rate: float = 0.0,
    level: float = 0.05,
    least_trials: int = 10,
) -> list[PlainFailure]:
    """Everything that plainly fails in these trials, the surest first, with its standing.

    The usual rate of a context is that of its plain trials, which show no fact, or that of trials that show
    no finding and no suspect, whichever makes the failures more surprising; twice the smaller tail
    probability pays for the choice. Few plain trials say little, and all other trials may hold what fails.

    Args:
        trials: All usable trials of a hunt, whatever they were for.
        findings: What the hunt claims. A pattern whose context is "" holds for every context.
        suspects: What the hunt lists as suspects.
        margin: Excess over the usual rate that is too small to matter.
        least_rate: A failure rate below which nothing counts as failing, however unusual it is.
        level: False discovery rate of the scan.
        least_trials: Patterns with fewer trials are not looked at.

    Raises:
        ValueError: If `level` is not between 0 and 1, or `least_trials` below 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    if least_trials < 1:
        raise ValueError(f"`least_trials >= 1` must hold, but got least_trials={least_trials}")
    usual = _usual_rates(trials, [*findings, *suspects])
    scan = _Scan(trials, usual, _Limit(margin, least_rate), least_trials)
    failing = scan.failing(level)
    return _with_standings(scan, failing, frozenset(findings), frozenset(suspects), level)


def unaccounted(opinion: Iterable[PlainFailure]) -> list[PlainFailure]:
    """What has to be listed under "seen, not tested"."""
    return [one for one in opinion if one.standing is PatternStanding.SEEN]


@dataclass(frozen=True, slots=True)
class _UsualRate:
    """Failures and trials that say how often a context fails usually."""

    fails: int = 0
    trials: int = 0

    @property
    def rate(self) -> float:
        return (self.fails + 0.5) / (self.trials + 1)

    def plausible(self) -> NDArray[np.float64]:
        """Equally likely values of the rate: the middles of equal parts of the Jeffreys posterior."""
        shares = (np.arange(_PLAUSIBLE_RATES) + 0.5) / _PLAUSIBLE_RATES
        found = special.betaincinv(self.fails + 0.5, self.trials - self.fails + 0.5, shares)
        return np.asarray(found, np.float64)


#: Values at which an uncertain usual rate is looked at. It only sets how finely the average is computed.
_PLAUSIBLE_RATES = 20


@dataclass(frozen=True, slots=True)
class _Limit:
    """What a rate has to exceed to count as failing."""

    margin: float
    least_rate: float

    def above(self, usual: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.clip(usual + self.margin, self.least_rate, 1.0), np.float64)


def _usual_rates(
    trials: Sequence[ScannedTrial], listed: Collection[ScannedPattern]
) -> dict[str, tuple[_UsualRate, ...]]:
    """What the usual rate of every context may be, and of all together under the name ""."""
    plain: dict[str, list[int]] = {}
    unlisted: dict[str, list[int]] = {}
    is_listed = _Covering(listed)
    for trial in trials:
        for name in {trial.context, ""}:
            if not is_listed.patterns_of(trial):
                _add(unlisted.setdefault(name, [0, 0]), trial)
            if not trial.facts:
                _add(plain.setdefault(name, [0, 0]), trial)
    names = {"", *(trial.context for trial in trials)}
    return {
        name: tuple(_UsualRate(*counts[name]) for counts in (plain, unlisted) if name in counts)
        or (_UsualRate(),)
        for name in names
    }


def _add(counts: list[int], trial: ScannedTrial) -> None:
    counts[0] += trial.times * trial.failed
    counts[1] += trial.times


class _Covering:
    """Which of some patterns a trial shows. Patterns without facts are left out: they explain nothing."""

    def __init__(self, patterns: Iterable[ScannedPattern] = ()) -> None:
        self._by_first: dict[tuple[str, str], list[ScannedPattern]] = {}
        for pattern in patterns:
            self.add(pattern)

    def add(self, pattern: ScannedPattern) -> None:
        if pattern.facts:
            self._by_first.setdefault((pattern.context, pattern.facts[0]), []).append(pattern)

    def patterns_of(self, trial: ScannedTrial) -> list[ScannedPattern]:
        found: list[ScannedPattern] = []
        for context in {trial.context, ""}:
            for fact in trial.facts:
                known = self._by_first.get((context, fact), ())
                found += [one for one in known if trial.facts.issuperset(one.facts)]
        return found


class _Scan:
    """Counts and tail probabilities of all patterns with enough trials."""

    def __init__(
        self,
        trials: Sequence[ScannedTrial],
        usual: Mapping[str, tuple[_UsualRate, ...]],
        limit: _Limit,
        least: int,
    ) -> None:
        self.trials = trials
        self.usual = usual
        self._limit = limit
        self._members: dict[ScannedPattern, list[int]] = {}
        by_context: dict[str, list[int]] = {}
        for number, trial in enumerate(trials):
            by_context.setdefault(trial.context, []).append(number)
        for context, numbers in by_context.items():
            self._count_context(context, numbers, least)
        if len(by_context) > 1:
            self._count_context("", list(range(len(trials))), least)

    def _count_context(self, context: str, numbers: Sequence[int], least: int) -> None:
        frequent: Counter[str] = Counter()
        for number in numbers:
            for fact in self.trials[number].facts:
                frequent[fact] += self.trials[number].times
        members: dict[tuple[str, ...], list[int]] = {}
        for number in numbers:
            facts = sorted(fact for fact in self.trials[number].facts if frequent[fact] >= least)
            for pattern in [*((fact,) for fact in facts), *combinations(facts, 2)]:
                members.setdefault(pattern, []).append(number)
        if context:
            members[()] = [number for number in numbers if not self.trials[number].facts] or list(numbers)
        for pattern, found in members.items():
            if self.counts(found)[1] >= least and (context or self._is_general(found)):
                self._members[ScannedPattern(context, pattern)] = found

    def _is_general(self, numbers: Sequence[int]) -> bool:
        """Whether these trials are of several contexts, or of a hunt without contexts."""
        contexts = {self.trials[number].context for number in numbers}
        return len(contexts) > 1 or contexts == {""}

    def members(self, pattern: ScannedPattern) -> list[int]:
        return self._members[pattern]

    def counts(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Failures and trials."""
        total = [0, 0]
        for number in numbers:
            _add(total, self.trials[number])
        return total[0], total[1]

    def usual_of(self, pattern: ScannedPattern) -> tuple[_UsualRate, ...]:
        """The usual rate: of the context for its patterns, of all contexts together for a whole context."""
        return self.usual[pattern.context if pattern.facts else ""]

    def p_value(self, pattern: ScannedPattern, fails: int, trials: int) -> float:
        """How likely so many failures, or more, are at the usual rate."""
        if not fails:
            return 1.0
        usual = self.usual_of(pattern)
        tails = [special.bdtrc(fails - 1, trials, self._limit.above(one.plausible())) for one in usual]
        return min(1.0, len(tails) * min(float(tail.mean()) for tail in tails))

    def failing(self, level: float) -> list[tuple[float, ScannedPattern]]:
        """Patterns that survive Benjamini–Yekutieli, the surest first, shorter ones before longer ones."""
        patterns = sorted(self._members)
        tails = np.array([self.p_value(one, *self.counts(self._members[one])) for one in patterns])
        kept = _benjamini_yekutieli(tails, level)
        found = [(float(tail), one) for tail, one, keep in zip(tails, patterns, kept, strict=True) if keep]
        return sorted(found, key=lambda one: (one[0], len(one[1].facts), one[1]))


def _benjamini_yekutieli(p_values: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """Which p-values are kept at a false discovery rate of `level`, whatever their dependence."""
    number = len(p_values)
    kept = np.zeros(number, np.bool_)
    if not number:
        return kept
    order = np.argsort(p_values, kind="stable")
    harmonic = float(np.sum(1 / np.arange(1, number + 1)))
    thresholds = level * np.arange(1, number + 1) / (number * harmonic)
    below = np.flatnonzero(p_values[order] <= thresholds)
    if len(below):
        kept[order[: below[-1] + 1]] = True
    return kept


def _with_standings(
    scan: _Scan,
    failing: Sequence[tuple[float, ScannedPattern]],
    findings: Collection[ScannedPattern],
    suspects: Collection[ScannedPattern],
    level: float,
) -> list[PlainFailure]:
    """The surest pattern that nothing explains counts as seen, and then explains others in turn."""
    explaining = _Covering([*findings, *suspects])
    found: list[PlainFailure] = []
    # What is left of each pattern is looked at again: Bonferroni over that many looks.
    level_of_rest = level / max(1, len(failing))
    for p_value, pattern in failing:
        numbers = scan.members(pattern)
        standing, reason = PatternStanding.SEEN, None
        if pattern in findings:
            standing = PatternStanding.FINDING
        elif pattern in suspects:
            standing = PatternStanding.SUSPECT
        else:
            reason = _explanation(scan, pattern, numbers, explaining, level_of_rest)
            if reason is not None:
                standing = PatternStanding.EXPLAINED
            else:
                explaining.add(pattern)
        fails, trials = scan.counts(numbers)
        usual = min(one.rate for one in scan.usual_of(pattern))
        found.append(PlainFailure(pattern, fails, trials, usual, p_value, standing, reason))
    return found


def _explanation(
    scan: _Scan,
    pattern: ScannedPattern,
    numbers: Sequence[int],
    explaining: _Covering,
    level: float,
) -> ScannedPattern | None:
    """The pattern that holds most of the failures, if nothing unusual is left without all explaining ones."""
    holders: Counter[ScannedPattern] = Counter()
    left: list[int] = []
    for number in numbers:
        trial = scan.trials[number]
        covering = explaining.patterns_of(trial)
        if not covering:
            left.append(number)
        elif trial.failed:
            for one in covering:
                holders[one] += trial.times
    if not holders or scan.p_value(pattern, *scan.counts(left)) <= level:
        return None
    return min(holders, key=lambda one: (-holders[one], one))
