"""Contrasts: does a combination fail more than its parts explain, and which check is to blame? Pure.

Intervals are for fixed numbers of images; nothing here is anytime-valid. Counts are (passes, fails).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from failscape.shown_numbers import percent
from failscape.stats.intervals import exact_interval, wilson

Counts = tuple[int, int]
Interval = tuple[float, float]

#: Rates are kept above this where they divide or enter a logarithm.
FLOOR = 1e-3


@dataclass(frozen=True, slots=True)
class Interaction:
    """`rate` is the combination's failure rate, `predicted` what its parents predict, `excess` is between.

    `sentence` says it in words.
    """

    rate: float
    predicted: float
    excess: float
    interval: Interval
    sentence: str


@dataclass(frozen=True, slots=True)
class Blame:
    """The check that dropped most often: in `share` of the failed images."""

    check: str
    share: float
    interval: Interval
    sentence: str


def interaction(
    own: Counts, parents: Sequence[Counts], entity: Counts, level: float = 0.95
) -> Interaction | None:
    """Excess of the failure rate of an entity with k values over what its k parents predict.

    If each value cost the same share of successes whatever else is asked for, the success rate would be
    (Π parents / entity) ^ (1 / (k − 1)); for two values that is p_ea · p_eb / p_e. For one value it is the
    entity's own rate: the excess is what the value costs. None when counts are missing.

    The interval recovers variances from Wilson's intervals of the rates (MOVER, Zou and Donner 2008).
    """
    known = [own, *parents, entity]
    if not parents or any(sum(counts) == 0 for counts in known):
        return None
    rate = own[1] / sum(own)
    expected, (worst, best) = _expected(parents, entity, level)
    predicted = 1 - expected
    low_own, high_own = _wilson(own[1], sum(own), level)
    excess = rate - predicted
    low = excess - float(np.hypot(rate - low_own, expected - worst))
    high = excess + float(np.hypot(high_own - rate, best - expected))
    interval = max(-1.0, low), min(1.0, high)
    return Interaction(rate, predicted, excess, interval, _say_excess(excess, interval, len(parents)))


def _expected(parents: Sequence[Counts], entity: Counts, level: float) -> tuple[float, Interval]:
    """The success rate under independence; sums and differences of logarithms, each with its own error."""
    if len(parents) == 1:
        rate, (low, high) = _success(entity, level)
        return rate, (low, high)
    power = 1 / (len(parents) - 1)
    terms = [(1.0, _success(parent, level)) for parent in parents] + [(-1.0, _success(entity, level))]
    centre = sum(sign * np.log(rate) for sign, (rate, _) in terms)
    below = above = 0.0
    for sign, (rate, (low, high)) in terms:
        down, up = np.log(rate) - np.log(low), np.log(high) - np.log(rate)
        below += (down if sign > 0 else up) ** 2
        above += (up if sign > 0 else down) ** 2
    ends = centre - np.sqrt(below), centre, centre + np.sqrt(above)
    low, middle, high = (float(min(1.0, np.exp(power * end))) for end in ends)
    return middle, (low, high)


def _success(counts: Counts, level: float) -> tuple[float, Interval]:
    total = sum(counts)
    low, high = _wilson(counts[0], total, level)
    return max(counts[0] / total, FLOOR), (max(low, FLOOR), max(high, FLOOR))


@lru_cache(maxsize=65536)
def _wilson(hits: int, trials: int, level: float) -> Interval:
    low, high = wilson(hits, trials, level)
    return float(low), float(high)


def _say_excess(excess: float, interval: Interval, values: int) -> str:
    parts = "its entity alone" if values == 1 else "its parts predict"
    than = f"than {parts}"
    span = f"({_points(interval[0])} to {_points(interval[1])} points)"
    if interval[0] > 0:
        return f"Fails {_points(excess)} points more often {than} {span}."
    if interval[1] < 0:
        return f"Fails {_points(-excess)} points less often {than} {span}."
    return f"Fails about as often as {parts} {span}."


def _points(share: float) -> str:
    return f"{100 * share:.0f}"


def blame(dropped: Mapping[str, int], failures: int, level: float = 0.95) -> Blame | None:
    """Which check dropped in most of the failed images. Several may drop in one image.

    Names another check as well when the data cannot tell which of the two drops more often.
    """
    if failures <= 0 or not dropped or max(dropped.values()) <= 0:
        return None
    ranked = sorted(dropped.items(), key=lambda one: (-one[1], list(dropped).index(one[0])))
    check, count = ranked[0]
    interval = exact_interval(min(count, failures), failures, level)
    share = min(count, failures) / failures
    rivals = [
        name for name, other in ranked[1:] if other and exact_interval(other, failures, level)[1] > share
    ]
    sentence = f"{check} is missing in {percent(share)} of failures ({count} of {failures})"
    also = f"; {rivals[0][0].lower()}{rivals[0][1:]} about as often." if rivals else "."
    return Blame(check, share, interval, sentence + also)
