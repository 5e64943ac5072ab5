"""A mean over strata of known weight, with an interval that stays honest for few observations. Pure.

Korn and Graubard (1998): Clopper-Pearson's interval for the number of independent yes/no trials that would
have the same variance, reduced further by Student's t. It covers about as promised from few observations on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from failscape.stats.intervals import Floats

Estimate = tuple[float, tuple[float, float]]


@dataclass(frozen=True)
class Stratum:
    """`weight` of the whole; `values` are independent unbiased observations of its mean.

    `shift` is added to their mean, and has the variance `shift_variance`: what a model predicts for the
    stratum, when `values` are what was seen less what it predicted.
    """

    weight: float
    values: Floats
    shift: float = 0.0
    shift_variance: float = 0.0


def stratified_mean(strata: Sequence[Stratum], most: float = np.inf, level: float = 0.95) -> Estimate:
    """The mean of a whole that lies between 0 and 1, from its strata. `most` caps what it may be worth.

    Strata without observations may be anything from 0 to 1: they widen the interval by their weight, and the
    mean is that of the others.
    """
    total = sum(stratum.weight for stratum in strata)
    seen = [stratum for stratum in strata if len(stratum.values) and stratum.weight > 0]
    known = sum(stratum.weight for stratum in seen)
    if not seen or total <= 0:
        return float("nan"), (0.0, 1.0)
    shares = [stratum.weight / known for stratum in seen]
    raw = sum(share * (one.shift + one.values.mean()) for share, one in zip(shares, seen, strict=True))
    mean = float(min(1.0, max(0.0, raw)))
    units = sum(len(stratum.values) for stratum in seen)
    low, high = worth_interval(mean, min(most, _worth(seen, shares, mean, units, level)), level)
    unknown = 1 - known / total
    return mean, (low * (1 - unknown), high * (1 - unknown) + unknown)


def worth_interval(share: float, worth: float, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson for a share of any number of trials, whole or not; one trial at least."""
    trials, tail = max(worth, 1.0), (1 - level) / 2
    hits = share * trials
    low = float(special.betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return min(low, share), max(high, share)


def _worth(seen: list[Stratum], shares: list[float], mean: float, units: int, level: float) -> float:
    """How many independent yes/no trials tell as much. Each observation counts once when none differ."""
    pooled = _pooled_variance(seen, mean)
    parts = []
    for share, stratum in zip(shares, seen, strict=True):
        n = len(stratum.values)
        spread = float(stratum.values.var(ddof=1)) if n > 1 else pooled
        parts.append((share**2 * spread / n, max(n - 1, 1), share**2 * stratum.shift_variance))
    sampling = sum(part for part, _, _ in parts)
    variance = sampling + sum(extra for _, _, extra in parts)
    if units < 2:
        return 1.0
    if mean in (0.0, 1.0) or variance <= 0:
        return float(units)
    freedom = sampling**2 / sum(part**2 / n for part, n, _ in parts) if sampling > 0 else 1.0
    tail = (1 + level) / 2
    few = float(special.ndtri(tail) / special.stdtrit(max(freedom, 1.0), tail)) ** 2
    return mean * (1 - mean) / variance * few


def _pooled_variance(seen: list[Stratum], mean: float) -> float:
    """For strata with one observation: the spread inside the others, or that of a coin."""
    several = [stratum.values for stratum in seen if len(stratum.values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    if not freedom:
        return max(mean * (1 - mean), 0.05)
    return float(sum(((values - values.mean()) ** 2).sum() for values in several) / freedom)
