"""A second opinion: a plain scan of all recorded trials for whatever plainly fails. Pure.

It counts every context, every single fact and every pair of facts with enough trials, holds each against the
context's usual failure rate by an exact tail probability, and keeps what Benjamini and Yekutieli's procedure
keeps (it needs no independence). Each of these patterns then has a standing: it is a finding, a suspect,
explained by one of those, or *seen*: it plainly fails, and the search has not dealt with it.

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
from scipy import stats


@dataclass(frozen=True, slots=True)
class ScannedTrial:
    """One usable trial. `facts` is what it was asked to show, or is known to show.

    `context` is the class of a classifier, or the same word for all trials of a hunt without classes. For
    text to image, facts are the entity and the attribute values.
    """

    context: str
    facts: frozenset[str]
    failed: bool


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
    usual_rates: Mapping[str, float] | None = None,
    margin: float = 0.0,
    level: float = 0.05,
    least_trials: int = 10,
) -> list[PlainFailure]:
    """Everything that plainly fails in these trials, the surest first, with its standing.

    Args:
        trials: All usable trials of a hunt, whatever they were for.
        findings: What the hunt claims. A pattern whose context is "" holds for every context.
        suspects: What the hunt lists as suspects.
        usual_rates: Context → usual failure rate, from plain trials. Contexts that are missing are estimated
            by their trials that show no finding and no suspect.
        margin: Excess over the usual rate that is too small to matter.
        level: False discovery rate of the scan.
        least_trials: Patterns with fewer trials are not looked at.

    Raises:
        ValueError: If `level` is not between 0 and 1, or `least_trials` below 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    if least_trials < 1:
        raise ValueError(f"`least_trials >= 1` must hold, but got least_trials={least_trials}")
    listed = [*findings, *suspects]
    usual = _usual_rates(trials, listed, usual_rates or {})
    scan = _Scan(trials, usual, margin, least_trials)
    failing = scan.failing(level)
    return _with_standings(scan, failing, tuple(findings), tuple(suspects), level)


def unaccounted(opinion: Iterable[PlainFailure]) -> list[PlainFailure]:
    """What has to be listed under "seen, not tested"."""
    return [one for one in opinion if one.standing is PatternStanding.SEEN]


def _usual_rates(
    trials: Sequence[ScannedTrial], listed: Collection[ScannedPattern], given: Mapping[str, float]
) -> dict[str, float]:
    """The usual rate of every context, and of all together under the name ""."""
    fails: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for trial in trials:
        if not any(pattern.facts and pattern.covers(trial) for pattern in listed):
            for name in (trial.context, ""):
                fails[name] += trial.failed
                total[name] += 1
    names = {"", *(trial.context for trial in trials)}
    estimated = {name: (fails[name] + 0.5) / (total[name] + 1) for name in names}
    return estimated | dict(given)


class _Scan:
    """Counts and tail probabilities of all patterns with enough trials."""

    def __init__(
        self, trials: Sequence[ScannedTrial], usual: Mapping[str, float], margin: float, least: int
    ) -> None:
        self.trials = trials
        self.usual = usual
        self.margin = margin
        self._members: dict[ScannedPattern, list[int]] = {}
        by_context: dict[str, list[int]] = {}
        for number, trial in enumerate(trials):
            by_context.setdefault(trial.context, []).append(number)
        for context, numbers in by_context.items():
            self._count_context(context, numbers, least)
        if len(by_context) > 1:
            self._count_context("", list(range(len(trials))), least)

    def _count_context(self, context: str, numbers: Sequence[int], least: int) -> None:
        frequent = Counter(fact for number in numbers for fact in self.trials[number].facts)
        members: dict[tuple[str, ...], list[int]] = {}
        for number in numbers:
            facts = sorted(fact for fact in self.trials[number].facts if frequent[fact] >= least)
            for pattern in [*((fact,) for fact in facts), *combinations(facts, 2)]:
                members.setdefault(pattern, []).append(number)
        if context:
            members[()] = list(numbers)
        for pattern, found in members.items():
            if len(found) >= least:
                self._members[ScannedPattern(context, pattern)] = found

    def members(self, pattern: ScannedPattern) -> list[int]:
        return self._members[pattern]

    def expected_rate(self, pattern: ScannedPattern) -> float:
        """The usual rate: of the context for its patterns, of all contexts together for a whole context."""
        return self.usual[pattern.context if pattern.facts else ""]

    def p_value(self, pattern: ScannedPattern, numbers: Sequence[int]) -> float:
        """How likely so many failures, or more, are at the usual rate."""
        fails = sum(self.trials[number].failed for number in numbers)
        rate = min(1.0, self.expected_rate(pattern) + self.margin)
        return float(stats.binom.sf(fails - 1, len(numbers), rate)) if numbers else 1.0

    def failing(self, level: float) -> list[tuple[float, ScannedPattern]]:
        """Patterns that survive Benjamini–Yekutieli, the surest first, shorter ones before longer ones."""
        patterns = sorted(self._members)
        fails = [sum(self.trials[at].failed for at in self._members[one]) for one in patterns]
        sizes = [len(self._members[one]) for one in patterns]
        rates = [min(1.0, self.expected_rate(one) + self.margin) for one in patterns]
        tails = np.asarray(stats.binom.sf(np.array(fails) - 1, sizes, rates), np.float64)
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
    findings: tuple[ScannedPattern, ...],
    suspects: tuple[ScannedPattern, ...],
    level: float,
) -> list[PlainFailure]:
    """The surest pattern that nothing explains counts as seen, and then explains others in turn."""
    explaining = [*findings, *suspects]
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
                explaining.append(pattern)
        fails = sum(scan.trials[number].failed for number in numbers)
        usual = scan.expected_rate(pattern)
        found.append(PlainFailure(pattern, fails, len(numbers), usual, p_value, standing, reason))
    return found


def _explanation(
    scan: _Scan,
    pattern: ScannedPattern,
    numbers: Sequence[int],
    explaining: Sequence[ScannedPattern],
    level: float,
) -> ScannedPattern | None:
    """The pattern that holds most of the failures, if nothing unusual is left without all explaining ones."""
    holders: Counter[ScannedPattern] = Counter()
    left: list[int] = []
    for number in numbers:
        trial = scan.trials[number]
        covering = [one for one in explaining if one.covers(trial)]
        if covering:
            holders.update(one for one in covering if trial.failed)
        else:
            left.append(number)
    if not holders or scan.p_value(pattern, left) <= level:
        return None
    return min(holders, key=lambda one: (-holders[one], one))
