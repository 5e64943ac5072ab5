"""Does one of two models fail more often on the same cases? Evidence and intervals for pairs. Pure.

A pair counts +1 where only the second fails, -1 where only the first does, 0 where both do the same. A
gambler bets that the mean lies above m; in a fair game nobody grows rich, whenever one looks (Waudby-Smith
and Ramdas, 2023). Stakes are a mixture fixed beforehand, so that the evidence depends on counts alone and
stays valid when the number of pairs of a subject was chosen by how earlier ones went.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import STAKES, Floats, mean_interval

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
