"""Confidence intervals for a rate from counts: for a number of trials fixed beforehand, and one for any."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]


def clopper_pearson(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """The exact interval: covers the true rate with at least `level`, whatever the rate is."""
    k, n, tail = _checked(hits, trials, level)
    with np.errstate(invalid="ignore"):
        # Counts need not be whole: weighted samples are worth some number of trials.
        low = np.where(k > 0, special.betaincinv(np.where(k > 0, k, 1.0), n - k + 1, tail), 0.0)
        high = np.where(k < n, special.betaincinv(k + 1, np.where(k < n, n - k, 1.0), 1 - tail), 1.0)
    return low, high


@lru_cache(maxsize=65536)
def one_sided(hits: float, trials: float, doubt: float) -> tuple[float, float]:
    """An exact lower and an exact upper bound, each wrong with probability `doubt` at most."""
    low, high = clopper_pearson(hits, trials, 1 - 2 * doubt)
    return float(low), float(high)


def wilson(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """The score interval: shorter, covers `level` on average over rates."""
    k, n, tail = _checked(hits, trials, level)
    z = special.ndtri(1 - tail)
    safe = np.maximum(n, 1)
    rate = k / safe
    centre = (rate + z**2 / (2 * safe)) / (1 + z**2 / safe)
    half = z / (1 + z**2 / safe) * np.sqrt(rate * (1 - rate) / safe + z**2 / (4 * safe**2))
    low = np.where((n > 0) & (k > 0), centre - half, 0.0)
    high = np.where((n > 0) & (k < n), centre + half, 1.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def jeffreys(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """The equal-tailed interval of the Beta(½, ½) posterior, with the usual ends at 0 and 1."""
    k, n, tail = _checked(hits, trials, level)
    low = np.where(k > 0, special.betaincinv(k + 0.5, n - k + 0.5, tail), 0.0)
    high = np.where(k < n, special.betaincinv(k + 0.5, n - k + 0.5, 1 - tail), 1.0)
    return low, high


def _checked(hits: ArrayLike, trials: ArrayLike, level: float) -> tuple[Floats, Floats, float]:
    k, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    if np.any(k < 0) or np.any(k > n):
        raise ValueError("`0 <= hits <= trials` must hold everywhere")
    return k, n, (1 - level) / 2


def anytime_interval(hits: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """An interval of a rate that holds whenever and why ever one stopped counting.

    Rates q that a bet against them (a uniform mixture over all rates) has not refuted: the ratio
    B(1+h, 1+m) / (q^h (1−q)^m) stays below 1 / (1 − level).
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"`0 <= hits <= trials` must hold, but got {hits} and {trials}")
    misses = trials - hits
    most = float(special.betaln(1 + hits, 1 + misses)) + np.log(1 / (1 - level)) * -1

    def refuted(rate: float) -> float:
        return float(most - special.xlogy(hits, rate) - special.xlog1py(misses, -rate))

    centre = hits / trials if trials else 0.5
    low = 0.0 if hits == 0 or refuted(1e-12) <= 0 else optimize.brentq(refuted, 1e-12, centre)
    high = 1.0 if misses == 0 or refuted(1 - 1e-12) <= 0 else optimize.brentq(refuted, centre, 1 - 1e-12)
    return float(low), float(high)
