"""An interval for the mean of bounded numbers that covers for every sample size and every distribution. Pure.

A gambler bets that the mean is above m. A fair game makes nobody rich, so every m that made the gambler rich
is ruled out (Waudby-Smith and Ramdas, 2023). Stakes are a fixed mixture: the order does not matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import Floats

STAKES: Floats = np.concatenate([np.geomspace(0.004, 0.5, 16), 1 - np.geomspace(0.004, 0.4, 8)])
"""Shares of the capital that are bet; small ones win with many observations, large ones with few."""

_STEPS = 40


def mean_interval(
    values: ArrayLike, low: float = 0.0, high: float = 1.0, level: float = 0.95
) -> tuple[float, tuple[float, float]]:
    """The mean of numbers between `low` and `high`, and its interval; `(low, high)` when there are none.

    Holds for independent draws, and for draws without replacement: the product of what n draws pay is then
    smaller on average (Maclaurin's inequality). Each number may itself be an unbiased guess of what is meant,
    such as the share of a few images that failed.
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    if not low < high:
        raise ValueError(f"`low < high` must hold, but got {low} and {high}")
    x = np.asarray(values, np.float64).ravel()
    if not len(x):
        return (low + high) / 2, (low, high)
    if x.min() < low - 1e-9 or x.max() > high + 1e-9:
        raise ValueError(f"values must lie between {low} and {high}, but go from {x.min()} to {x.max()}")
    distinct, copies = np.unique(np.clip((x - low) / (high - low), 0.0, 1.0), return_counts=True)
    counts = copies.astype(np.float64)
    bottom = _lower_bound(distinct, counts, (1 - level) / 2)
    top = 1 - _lower_bound(1 - distinct, counts, (1 - level) / 2)
    return float(x.mean()), (low + (high - low) * bottom, low + (high - low) * top)


def _lower_bound(values: Floats, counts: Floats, doubt: float) -> float:
    """The smallest mean that is not ruled out. Capital falls as m rises, so bisection finds it."""
    needed = -np.log(doubt)
    low, high = 0.0, float(np.average(values, weights=counts))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle > 0 and _log_capital(values, counts, middle) < needed:
            high = middle
        else:
            low = middle
    return low


def _log_capital(values: Floats, counts: Floats, mean: float) -> float:
    pays = 1 + STAKES[:, None] * (values[None, :] / mean - 1)
    return float(special.logsumexp(np.log(pays) @ counts) - np.log(len(STAKES)))
