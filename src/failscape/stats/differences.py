"""Evidence that one failure rate exceeds another, valid at any moment of looking, and intervals. Pure.

`log_excess`: both rates are estimated, `p` of a description, `b` of its baseline; the null is p ≤ b + margin.
`log_e_more`: two models on the same cases. A pair counts +1 where only the second fails, -1 where only the
first does, 0 where both do the same. A gambler bets that the mean lies above m; in a fair game nobody grows
rich, whenever one looks (Waudby-Smith and Ramdas, 2023). Stakes are a mixture fixed beforehand, so that the
evidence depends on counts alone and stays valid when the number of pairs of a subject was chosen by how
earlier ones went.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import STAKES, Floats, clopper_pearson, mean_interval

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
    base: Floats,
    fails: ArrayLike,
    passes: ArrayLike,
    margin: ArrayLike,
    absent: ArrayLike = 0.0,
    *,
    small: bool = True,
) -> Floats:
    """log e that p > b + margin, one per row. `base` holds the rows of `log_excess_grid` of their baselines.

    For every possible baseline q the evidence against "b ≥ q" times the evidence against "p ≤ q + margin" is
    an e-process when q is the truth, for both start at 1 and each image multiplies one of them by a factor
    of mean at most 1. The smallest product over all q is therefore an e-value whatever the baseline is. Both
    factors are monotone in q, so each cell of the grid is bounded by its worse ends: nothing is lost between
    grid points.

    `absent` bounds the share of counted images that do not show the object (a presence check errs): in the
    worst case all of those fail, rightly, so the description has to beat `absent` on top. `small`: half of
    the stake is on small excesses; where images are too few to prove those, it is better off elsewhere.
    """
    f = np.asarray(fails, np.float64)[:, None]
    s = np.asarray(passes, np.float64)[:, None]
    gone = np.broadcast_to(np.asarray(absent, np.float64), f[:, 0].shape)[:, None]
    extra = np.broadcast_to(np.asarray(margin, np.float64), f[:, 0].shape)[:, None]
    limit = np.minimum(1.0, GRID[None, 1:] + extra)
    limit = limit * (1 - gone) + gone
    own = log_above(f, s, limit) if small else log_below(s, f, 1 - limit)
    return np.asarray(np.min(base + own, axis=1), dtype=np.float64)


#: Half of a description's stake is on rates of passes above this share of what the null allows: small effects
#: are the ones that take many images to prove. Measured: bugs of 20 points take a tenth fewer images, those
#: of 50 points the same number. Fixed before the first image, so any choice is valid.
NEAR = 0.75


def log_above(hits: ArrayLike, misses: ArrayLike, limit: ArrayLike) -> Floats:
    """log e that the rate of hits is above `limit`, with half of the stake on rates near to it.

    `log_below` of misses has u uniform on (0, 1); here half of it is uniform on (`NEAR`, 1). It still falls
    as the limit rises, for it does so at every u.
    """
    m, h = np.asarray(misses, np.float64), np.asarray(hits, np.float64)
    tau = np.clip(1 - np.asarray(limit, np.float64), 0.0, 1 - 1e-12)
    whole, part = log_below(m, h, tau), log_below(m, h, NEAR * tau)
    scale = (1 + m) * np.log(NEAR) + h * (np.log1p(-NEAR * tau) - np.log1p(-tau))
    far = np.minimum(1.0, np.exp(np.minimum(0.0, part - whole + scale)))
    return np.asarray(whole + np.log(0.5 + 0.5 * (1 - far) / (1 - NEAR)), dtype=np.float64)


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
        # Of thousands of images the series overflows; there u near 1 decides alone, by its slope.
        slope = np.maximum(h[weak] + 1 - m[weak] * inner[weak] / (1 - inner[weak]), 1.0)
        exact = np.isfinite(series) & (series > 0)
        whole = np.log1p(-inner[weak]) - np.log1p(h[weak]) + np.log(np.where(exact, series, 1.0))
        found[weak] = np.where(exact, whole, -np.log(slope))
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


#: Halvings of an interval of length 2: bounds are exact to 1e-10.
_STEPS = 34

_CLOSE = 1e-9


def log_e_more(more: ArrayLike, less: ArrayLike, pairs: ArrayLike, margin: ArrayLike = 0.0) -> Floats:
    """log e that the mean difference exceeds `margin`: `more` pairs count +1, `less` count -1, of `pairs`.

    A stake s pays 1 + s·(x − m)/(1 + m): never negative, and 1 on average when the mean is m.
    """
    plus, minus, total, limit = (
        np.asarray(one, np.float64)[..., None] for one in (more, less, pairs, margin)
    )
    if np.any(plus < 0) or np.any(minus < 0) or np.any(plus + minus > total):
        raise ValueError("`more >= 0`, `less >= 0` and `more + less <= pairs` must hold everywhere")
    if np.any(limit <= -1) or np.any(limit >= 1):
        raise ValueError("`-1 < margin < 1` must hold everywhere")
    stake = STAKES / (1 + limit)  # one row per margin: with one margin for all, logarithms are few
    won = plus * np.log1p(stake * (1 - limit)) + minus * np.log1p(-stake * (1 + limit))
    logs = won + (total - plus - minus) * np.log1p(-stake * limit)
    most = logs.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.mean(np.exp(logs - most), axis=-1)) + most[..., 0], dtype=np.float64)


def anytime_difference(
    more: ArrayLike, less: ArrayLike, pairs: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """An interval of the mean difference that holds whenever and why ever one stopped; (-1, 1) without pairs.

    It has every m that neither gambler has ruled out, each with half of the doubt.
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    plus, minus, total = (np.asarray(one, np.float64) for one in (more, less, pairs))
    needed = np.log(2 / (1 - level))
    low = _lower_end(plus, minus, total, needed)
    return low, -_lower_end(minus, plus, total, needed)


def _lower_end(plus: Floats, minus: Floats, total: Floats, needed: float) -> Floats:
    """The smallest mean that is not ruled out: evidence falls as m rises, so bisection finds it."""
    low = np.full(np.broadcast(plus, minus, total).shape, -1 + _CLOSE)
    high = np.asarray((plus - minus) / np.maximum(total, 1), np.float64) + np.zeros_like(low)
    high = np.where(total > 0, np.maximum(high, low), low)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        out = log_e_more(plus, minus, total, np.minimum(middle, 1 - _CLOSE)) >= needed
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return np.where(low <= -1 + 2 * _CLOSE, -1.0, low)


def grouped_difference(
    differences: ArrayLike, groups: ArrayLike, level: float = 0.95
) -> tuple[float, tuple[float, float]]:
    """The mean of paired differences (each between -1 and 1), for a number of pairs fixed beforehand.

    The interval is the wider of two at each end: Student's with the spread between groups, for pairs of one
    group are alike; and one that holds for every distribution, for where hardly anything differs there is no
    spread to see.
    """
    values, names = np.asarray(differences, np.float64), np.asarray(groups)
    mean, (low, high) = mean_interval(values, -1.0, 1.0, level)
    _, places = np.unique(names, return_inverse=True)
    number = int(places.max()) + 1 if len(values) else 0
    if number < 2:
        return (mean, (low, high)) if not number else (mean, (-1.0, 1.0))
    residuals = np.bincount(places, weights=values - mean) / len(values)
    error = float(np.sqrt(residuals @ residuals * number / (number - 1)))
    half = float(special.stdtrit(number - 1, (1 + level) / 2)) * error
    return mean, (max(-1.0, min(low, mean - half)), min(1.0, max(high, mean + half)))


def pairs_needed(
    change: float, discordant: float, needed: float, power: float = 0.8, draws: int = 1_000
) -> int:
    """Pairs after which a change of the failure rate is proven (log e ≥ `needed`) with chance `power`.

    `discordant` is the share of pairs that differ where nothing changed; a change adds to it by its size, at
    most. Counted over `draws` made-up sets of pairs from one fixed stream: the answer is always the same.
    """
    if not 0 < abs(change) <= 1 or not 0 < power < 1:
        raise ValueError(f"`0 < |change| <= 1` and `0 < power < 1` must hold, but got {change} and {power}")
    differ = min(1.0, discordant + abs(change))
    shares = [(differ + abs(change)) / 2, (differ - abs(change)) / 2, 1 - differ]

    def reached(pairs: int) -> bool:
        made = np.random.default_rng(5).multinomial(pairs, shares, draws)
        logs = log_e_more(made[:, 0], made[:, 1], pairs)
        return bool(np.mean(logs >= needed) >= power)

    low, high = 1, 16
    while not reached(high) and high < 1 << 24:
        low, high = high, high * 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
