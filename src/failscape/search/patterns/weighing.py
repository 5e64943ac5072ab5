"""How likely a pattern is a bug, by all trials that show it. Pure.

Odds = prior odds × Bayes factor. The Bayes factor holds "the rate lies above what is to be expected, by more
than the margin" against "it does not". What is to be expected are the rates of accepted patterns, so a part
of an accepted pattern does not look bad because of it, and still can be found if it fails by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from failscape.search.patterns.evidence import EvidenceRule
from failscape.search.patterns.facts import FactSpace, PatternKey
from failscape.search.patterns.rows import (
    EXPLAINED_FAILS,
    EXPLAINED_LOG,
    EXPLAINED_PASSES,
    EXPLAINED_RATE,
    FREE_FAILS,
    FREE_PASSES,
    PLANES,
    ContextRows,
    Floats,
    stacked,
)
from failscape.search.patterns.settings import SearchSettings

#: Log odds of a pattern that no failure speaks for, or that is not worth computing.
NOTHING = -99.0

#: Patterns whose log odds cannot exceed this are not computed: all of them together would change no choice.
_TOO_FAINT = -12.0

#: Shares of contexts in which a pattern that is a bug in general may fail: evenly from few to nearly all.
_GENERAL_SHARES: Floats = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


@dataclass(frozen=True, slots=True)
class PatternScore:
    """What all trials of a context say about a pattern. `log_odds`: that it is a bug."""

    key: PatternKey
    log_odds: float
    log_factor: float


def log_bayes_factors(sums: Floats, usual_rate: float, rule: EvidenceRule, uneven_share: float) -> Floats:
    """log Bayes factors of patterns with these sums: failing by more than expected, against not.

    Under the alternative the rate is anywhere above the rate to beat. Under the null every trial fails as
    expected, or, with probability `uneven_share`, at one rate anywhere below the rate to beat.
    """
    free = sums[FREE_FAILS] + sums[FREE_PASSES]
    fails = np.maximum(sums[FREE_FAILS] + sums[EXPLAINED_FAILS], 0.0)
    passes = np.maximum(sums[FREE_PASSES] + sums[EXPLAINED_PASSES], 0.0)
    trials = np.maximum(fails + passes, 1e-9)
    expected = np.clip((free * usual_rate + sums[EXPLAINED_RATE]) / trials, 0.0, 0.98)
    limit = rule.rate_to_beat(expected)
    as_expected = (
        sums[FREE_FAILS] * np.log(usual_rate)
        + sums[FREE_PASSES] * np.log1p(-usual_rate)
        + sums[EXPLAINED_LOG]
    )
    shape = special.betaln(1 + fails, 1 + passes)
    above = np.maximum(special.betaincc(1 + fails, 1 + passes, limit), 1e-300)
    below = np.maximum(special.betainc(1 + fails, 1 + passes, limit), 1e-300)
    failing = shape + np.log(above) - np.log1p(-limit)
    harmless = shape + np.log(below) - np.log(limit)
    null = np.logaddexp(np.log1p(-uneven_share) + as_expected, np.log(uneven_share) + harmless)
    return np.asarray(failing - null)


def sums_of_counts(fails: Sequence[float], passes: Sequence[float]) -> Floats:
    """Sums of patterns whose trials no accepted pattern explains."""
    sums = np.zeros((PLANES, len(fails)))
    sums[FREE_FAILS] = fails
    sums[FREE_PASSES] = passes
    return sums


def _largest_factors(sums: Floats, usual_rate: float) -> Floats:
    """An upper bound of the log Bayes factors that takes logarithms only: the best single rate."""
    fails = np.maximum(sums[FREE_FAILS] + sums[EXPLAINED_FAILS], 0.0)
    passes = np.maximum(sums[FREE_PASSES] + sums[EXPLAINED_PASSES], 0.0)
    trials = np.maximum(fails + passes, 1e-9)
    expected = np.clip(
        ((sums[FREE_FAILS] + sums[FREE_PASSES]) * usual_rate + sums[EXPLAINED_RATE]) / trials, 1e-3, 0.98
    )
    rate = fails / trials
    bound = special.rel_entr(rate, expected) + special.rel_entr(1 - rate, 1 - expected)
    return np.where(rate > expected, trials * bound, NOTHING)


class GeneralTendency:
    """Pooling over contexts: does a pattern fail in general?

    Half of all bugs are taken to be peculiar to their context. The other half belong to patterns that fail
    in some share of all contexts, from few to nearly all. With a prior probability q of a bug, q/2 for each
    half, the probability of a bug in one context follows from the Bayes factors of all others.
    """

    def __init__(self) -> None:
        self._of_context: dict[PatternKey, dict[str, Floats]] = {}
        self._total: dict[PatternKey, Floats] = {}

    @property
    def patterns(self) -> Iterable[PatternKey]:
        return self._total

    def __contains__(self, key: PatternKey) -> bool:
        return key in self._total

    def tell(self, context: str, factors: Mapping[PatternKey, float]) -> None:
        """Take the log Bayes factors of a context, in place of what it said before."""
        for key, log_factor in factors.items():
            weight = np.expm1(min(log_factor, 50.0))
            support = np.log1p(_GENERAL_SHARES * weight)
            known = self._of_context.setdefault(key, {})
            before = known.get(context, 0.0)
            self._total[key] = self._total.get(key, np.zeros(len(_GENERAL_SHARES))) + support - before
            known[context] = support

    def chance(self, context: str, key: PatternKey, prior: float) -> float:
        """The probability that a pattern is a bug in a context, by what is known of all others."""
        total = self._total.get(key)
        if total is None:
            return prior
        own = self._of_context[key].get(context, 0.0)
        support = total - own
        largest = max(0.0, float(support.max()))
        general = prior * np.exp(support - largest) / len(_GENERAL_SHARES)
        peculiar = (1 - prior) * np.exp(-largest)
        in_general = float((general * _GENERAL_SHARES).sum())
        return float((in_general + peculiar * prior / 2) / (float(general.sum()) + peculiar))


class PatternWeigher:
    """Weighs the patterns of contexts, one context at a time."""

    def __init__(self, space: FactSpace, settings: SearchSettings, rule: EvidenceRule) -> None:
        self._space = space
        self._settings = settings
        self.rule = rule
        self.general = GeneralTendency()
        #: (context, pattern) → probability that somebody gave it beforehand.
        self.proposed: dict[tuple[str, PatternKey], float] = {}

    def prior(self, context: str, key: PatternKey) -> float:
        """Log odds before a look at the context's own trials."""
        base = min(0.5, self._settings.expected_bugs / self._space.pattern_count(context, len(key)))
        if (context, key) not in self.proposed and key not in self.general:
            return math.log(base) - math.log1p(-base)
        chance = max(self.general.chance(context, key, base), self.proposed.get((context, key), 0.0))
        return float(special.logit(min(chance, 0.999)))

    def weigh(self, context: str, rows: ContextRows) -> dict[PatternKey, PatternScore]:
        """Scores of all singles and pairs that may be bugs of a context."""
        sums = rows.sums
        usual = rows.usual_rate
        bounds = _largest_factors(sums, usual)
        faint = self._faintest_prior(context)
        wanted = {int(at) for at in np.flatnonzero(bounds + faint > _TOO_FAINT)}
        for key in (*self.general.patterns, *(key for name, key in self.proposed if name == context)):
            place = rows.place(key)
            if place is not None:
                wanted.add(place)
        places = sorted(at for at in wanted if self._space.is_pattern(rows.patterns[at]))
        keys = [rows.patterns[at] for at in places]
        factors = log_bayes_factors(sums[:, places], usual, self.rule, self._settings.uneven_share)
        self._pool(context, keys, factors)
        return self._scores(context, keys, factors)

    def weigh_triples(
        self, context: str, rows: ContextRows, keys: Sequence[PatternKey]
    ) -> dict[PatternKey, PatternScore]:
        """Scores of patterns of three facts."""
        sums = stacked([rows.sums_of(key) for key in keys])
        factors = log_bayes_factors(sums, rows.usual_rate, self.rule, self._settings.uneven_share)
        return self._scores(context, keys, factors)

    def _scores(
        self, context: str, keys: Sequence[PatternKey], factors: Floats
    ) -> dict[PatternKey, PatternScore]:
        return {
            key: PatternScore(key, self.prior(context, key) + float(factor), float(factor))
            for key, factor in zip(keys, factors, strict=True)
        }

    def _faintest_prior(self, context: str) -> float:
        """The log prior odds of a pair of which nothing is known; no single has less."""
        return float(np.log(self._settings.expected_bugs / self._space.pattern_count(context, 2)))

    def _pool(self, context: str, keys: Sequence[PatternKey], factors: Floats) -> None:
        """Other contexts hear of patterns that speak for a bug here, and then of how they do everywhere."""
        if len(self._space.contexts) < 2:
            return
        known = set(self.general.patterns)
        telling = {
            key: float(factor)
            for key, factor in zip(keys, factors, strict=True)
            if key in known or factor > -self._faintest_prior(context) / 2
        }
        self.general.tell(context, telling)
