"""Spearman's rank correlation with ties, and an interval for it. Pure; nothing here is anytime-valid.

The interval lives on Fisher's z scale and takes the wider of two standard errors: Bonett and Wright's, which
holds for few observations, and a jackknife over units, which holds when observations of one unit are alike.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from failscape.stats.intervals import Floats

#: More units than this are left out in blocks of whole units: the standard error is as good, and cheaper.
MOST_BLOCKS = 100

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """`rho` is not a number, and the interval says nothing, when one side has no two different values."""

    rho: float
    low: float
    high: float
    observations: int
    units: int

    @property
    def defined(self) -> bool:
        return bool(np.isfinite(self.rho))


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks from 1; equal values share the mean of their ranks."""
    codes = _codes(values)
    return _ranks(codes, int(codes.max(initial=-1)) + 1)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of average ranks; NaN when one side is constant."""
    first, second = _paired(x, y)
    return _correlation(average_ranks(first), average_ranks(second))


def rank_correlation(
    x: ArrayLike, y: ArrayLike, units: ArrayLike | None = None, level: float = 0.95
) -> RankCorrelation:
    """Spearman's rho with its interval. `units[i]` names what observation i belongs to; itself unless told.

    Four observations and two units are the least that says anything: below, the interval is (-1, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    first, second = (_codes(side) for side in _paired(x, y))
    n = len(first)
    groups = np.arange(n) if units is None else _codes(units)
    if len(groups) != n:
        raise ValueError(f"`len(units) == len(x)` must hold, but got {len(groups)} and {n}")
    count = int(groups.max(initial=-1)) + 1
    rho = spearman(first, second)
    if not np.isfinite(rho) or n < 4 or count < 2:
        return RankCorrelation(rho, -1.0, 1.0, n, count)
    half = max(_bonett_wright(rho, n, level), _jackknife(first, second, groups, level))
    centre = float(np.arctanh(_inside(rho, n)))
    low, high = np.tanh(centre - half), np.tanh(centre + half)
    # The centre was pulled inside for a perfect rho; the interval still has to reach it.
    return RankCorrelation(rho, min(float(low), rho), max(float(high), rho), n, count)


def _bonett_wright(rho: float, n: int, level: float) -> float:
    """Half the width on the z scale, from their variance (1 + rho²/2) / (n - 3)."""
    return float(special.ndtri((1 + level) / 2) * np.sqrt((1 + rho**2 / 2) / (n - 3)))


def _jackknife(x: Codes, y: Codes, groups: Codes, level: float) -> float:
    """The same from leaving out one unit (or block of units) at a time, with Student's t."""
    blocks = groups % MOST_BLOCKS
    count = int(blocks.max()) + 1
    widths = int(x.max()) + 1, int(y.max()) + 1
    zs = np.zeros(count)
    for block in range(count):
        kept = blocks != block
        rho = _correlation(_ranks(x[kept], widths[0]), _ranks(y[kept], widths[1]))
        zs[block] = np.arctanh(_inside(rho, len(x))) if np.isfinite(rho) else 0.0
    error = np.sqrt((count - 1) / count * np.sum((zs - zs.mean()) ** 2))
    return float(special.stdtrit(count - 1, (1 + level) / 2) * error)


def _inside(rho: float, n: int) -> float:
    """Half a step (one swap of neighbours changes rho by 12 / (n³ - n)) away from ±1, where z is infinite."""
    most = 1 - 6 / (n**3 - n)
    return min(most, max(-most, rho))


def _paired(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"x and y must be two rows of one length, but got {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("x and y must be finite everywhere")
    return first, second


def _codes(values: ArrayLike) -> Codes:
    """The number of each value among the different values, in order."""
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64)


def _ranks(codes: Codes, width: int) -> Floats:
    counts = np.bincount(codes, minlength=width)
    means = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(means[codes], dtype=np.float64)


def _correlation(x: Floats, y: Floats) -> float:
    if len(x) < 2:
        return float("nan")
    first, second = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(np.clip(first @ second / spread, -1.0, 1.0)) if spread > 0 else float("nan")
