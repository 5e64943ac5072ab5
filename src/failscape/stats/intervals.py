"""Confidence intervals for a rate from counts: for a number of trials fixed beforehand, and one for any.

An interval for the mean of bounded numbers that covers for every sample size and every distribution. Pure.

A gambler bets that the mean is above m. A fair game makes nobody rich, so every m that made the gambler rich
is ruled out (Waudby-Smith and Ramdas, 2023). Stakes are a fixed mixture: the order does not matter.

A share over trials that come in groups, with an interval that knows it. Pure; not anytime-valid.

Trials of one subject, and subjects of one entity, are alike: counting them as independent would promise too
much. Korn and Graubard (1998): Clopper-Pearson on the number of independent trials worth as much.
"""

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
def exact_interval(hits: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """The same for one pair of counts, as plain numbers. Few counts are distinct: most are looked up."""
    low, high = clopper_pearson(hits, trials, level)
    return float(low), float(high)


def one_sided(hits: float, trials: float, error_probability: float) -> tuple[float, float]:
    """An exact lower and an exact upper bound, each wrong with probability `error_probability` at most."""
    return exact_interval(hits, trials, 1 - 2 * error_probability)


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


#: Shares of the capital that are bet; small ones win with many observations, large ones with few.
STAKES: Floats = np.concatenate([np.geomspace(0.004, 0.5, 16), 1 - np.geomspace(0.004, 0.4, 8)])

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


def _lower_bound(values: Floats, counts: Floats, error_probability: float) -> float:
    """The smallest mean that is not ruled out. Capital falls as m rises, so bisection finds it."""
    needed = -np.log(error_probability)
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


Share = tuple[float, tuple[float, float]]


def grouped_share(hits: ArrayLike, trials: ArrayLike, units: ArrayLike, level: float = 0.95) -> Share:
    """All hits over all trials, and the interval. `units[i]` names the group of row i."""
    k, n = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    names, groups = np.unique(np.asarray(units), return_inverse=True)
    total = float(n.sum())
    if not len(names) or total <= 0:
        return float("nan"), (0.0, 1.0)
    share = float(k.sum()) / total
    residuals = np.bincount(groups, weights=k - share * n) / total
    worth = _worth(share, total, len(names), float(residuals @ residuals), level)
    low, high = clopper_pearson(share * worth, worth, level)
    return share, (float(low), float(high))


def _worth(share: float, total: float, units: int, squares: float, level: float) -> float:
    """How many independent trials tell as much."""
    if units < 2:
        return 1.0
    if share in (0.0, 1.0):
        return float(units)  # no spread to see: each unit counts once, which is the cautious end
    tail = (1 + level) / 2
    few = float(special.stdtrit(total - 1, tail) / special.stdtrit(units - 1, tail)) ** 2
    variance = squares * units / (units - 1)
    worth = share * (1 - share) / variance if variance > 0 else total
    return max(1.0, min(worth, total) * few)
