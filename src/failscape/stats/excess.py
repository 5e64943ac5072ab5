"""Evidence that one failure rate exceeds another by more than a margin, valid at any moment of looking.

Both rates are estimated: `p` of a description, `b` of its baseline. The null says p ≤ b + margin. Pure.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.evalues import Floats
from failscape.stats.intervals import clopper_pearson

CELLS = 96
#: Possible baselines, closer together near 0, where most baselines are.
GRID: Floats = np.linspace(0.0, 1.0, CELLS + 1) ** 1.5


def log_excess_grid(fails: ArrayLike, passes: ArrayLike) -> Floats:
    """For the baseline: log evidence that b lies below each grid point, one row per count.

    `log_excess` multiplies it with the description's own evidence.
    """
    f, s = np.atleast_1d(np.asarray(fails, np.float64)), np.atleast_1d(np.asarray(passes, np.float64))
    return log_below(f[:, None], s[:, None], GRID[None, :-1])


def log_excess(
    base: Floats, fails: ArrayLike, passes: ArrayLike, margin: ArrayLike, absent: ArrayLike = 0.0
) -> Floats:
    """log e that p > b + margin, one per row. `base` holds the rows of `log_excess_grid` of their baselines.

    For every possible baseline q the evidence against "b ≥ q" times the evidence against "p ≤ q + margin" is
    an e-process when q is the truth, for both start at 1 and each image multiplies one of them by a factor
    of mean at most 1. The smallest product over all q is therefore an e-value whatever the baseline is. Both
    factors are monotone in q, so each cell of the grid is bounded by its worse ends: nothing is lost between
    grid points.

    `absent` bounds the share of counted images that do not show the object (a presence check errs): in the
    worst case all of those fail, rightly, so the description has to beat `absent` on top.
    """
    f = np.asarray(fails, np.float64)[:, None]
    s = np.asarray(passes, np.float64)[:, None]
    gone = np.broadcast_to(np.asarray(absent, np.float64), f[:, 0].shape)[:, None]
    extra = np.broadcast_to(np.asarray(margin, np.float64), f[:, 0].shape)[:, None]
    limit = np.minimum(1.0, GRID[None, 1:] + extra)
    limit = limit * (1 - gone) + gone
    return np.asarray(np.min(base + log_below(s, f, 1 - limit), axis=1), dtype=np.float64)


def log_below(hits: ArrayLike, misses: ArrayLike, limit: ArrayLike) -> Floats:
    """log e that the rate of hits is below `limit`: `log_e_value` with its ends 0 and 1, and fast.

    e = ∫₀¹ uʰ·((1 − u·τ)/(1 − τ))ᵐ du: it rises with τ, from 1/(h + 1) at τ = 0.
    """
    h, m, tau = np.broadcast_arrays(
        np.asarray(hits, np.float64), np.asarray(misses, np.float64), np.asarray(limit, np.float64)
    )
    inner = np.clip(tau, 1e-12, 1 - 1e-12)
    share = special.betainc(1 + h, 1 + m, inner)
    with np.errstate(divide="ignore"):
        rest = -(1 + h) * np.log(inner) - m * np.log1p(-inner)
        found = np.array(special.betaln(1 + h, 1 + m) + np.log(share) + rest)
    weak = np.asarray(share < 1e-250)
    if weak.any():
        series = special.hyp2f1(2 + h[weak] + m[weak], 1.0, 2 + h[weak], inner[weak])
        found[weak] = np.log1p(-inner[weak]) - np.log1p(h[weak]) + np.log(series)
    # At τ = 0 no evidence is possible, at τ = 1 a single miss is proof.
    return np.asarray(np.where(tau <= 1e-12, -np.log1p(h), found), dtype=np.float64)


def absent_share(accepted: ArrayLike, tried: ArrayLike, sensitivity: float, slip: float) -> Floats:
    """The largest plausible share, among accepted images, of images that do not show the object.

    `slip` is how often the presence check accepts an image without it, `sensitivity` how often one with it:
    upper bounds both, for a check that misses little makes rejected images speak of absent objects. The rate
    of acceptance enters with its lower bound: a few accepted images promise nothing.
    """
    a, n = np.asarray(accepted, np.float64), np.asarray(tried, np.float64)
    rate = np.maximum(clopper_pearson(a, n)[0], 1e-9)
    shown = np.clip((rate - slip) / max(sensitivity - slip, 1e-9), 0.0, 1.0)
    return np.asarray(np.clip((1 - shown) * slip / rate, 0.0, 1.0), dtype=np.float64)


def paired_difference(
    only_first: int, only_second: int, pairs: int, level: float = 0.95
) -> tuple[float, tuple[float, float]]:
    """How much more often the first of two paired outcomes happens, with Bonett and Price's interval (2012).

    `only_first` pairs have the first alone, `only_second` the second alone.
    """
    if pairs <= 0:
        return 0.0, (-1.0, 1.0)
    if only_first < 0 or only_second < 0 or only_first + only_second > pairs:
        raise ValueError(
            f"`only_first + only_second <= pairs` must hold, but got {only_first}, {only_second}, {pairs}"
        )
    first, second = (only_first + 1) / (pairs + 2), (only_second + 1) / (pairs + 2)
    centre = first - second
    error = np.sqrt((first + second - centre**2) / (pairs + 2))
    half = float(special.ndtri((1 + level) / 2) * error)
    observed = (only_first - only_second) / pairs
    return observed, (max(-1.0, centre - half), min(1.0, centre + half))
