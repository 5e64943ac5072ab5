"""Does a rate depend on something that should not matter, such as the wording of a prompt? Pure functions.

`same_in_all` is the generalised Cochran-Mantel-Haenszel test: each stratum is compared with itself only, so
strata may differ in level and in how often they were tried. `nuisance` asks the same of units (nodes) with
passes and failures under several levels (their wordings): under the null the failures of a unit fall on its
levels like cards dealt at random, whatever its own rate is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from failscape.stats.intervals import Floats

#: Below this the chi-square approximation is not trusted, and tables are shuffled instead.
LEAST_VARIANCE = 5.0
SHUFFLES = 1999


def same_in_all(passes: Sequence[ArrayLike], trials: Sequence[ArrayLike], seed: int = 0) -> float:
    """p-value for "the treatment makes no difference"; one row per stratum, one column per treatment.

    Given its margins, a stratum's table is multivariate hypergeometric if the treatment is idle. With few
    data the p-value comes from drawing such tables, with a fixed seed.
    """
    hits, tries = np.asarray(passes, np.int64), np.asarray(trials, np.int64)
    if hits.shape != tries.shape or hits.ndim != 2 or np.any(hits < 0) or np.any(hits > tries):
        raise ValueError("`0 <= passes <= trials` must hold in tables of one shape, a row per stratum")
    total, passed = tries.sum(axis=1), hits.sum(axis=1)
    telling = (passed > 0) & (passed < total) & ((tries > 0).sum(axis=1) > 1)
    hits, tries, total, passed = hits[telling], tries[telling], total[telling], passed[telling]
    if not len(hits):
        return 1.0
    covariance = _covariance(tries, total, passed)
    used = np.diag(covariance) > 0
    inverse = np.asarray(np.linalg.pinv(covariance[np.ix_(used, used)]), np.float64)
    expected = tries * (passed / total)[:, None]
    statistic = _statistic((hits - expected).sum(axis=0)[used], inverse)
    if np.diag(covariance)[used].min() >= LEAST_VARIANCE:
        return float(special.chdtrc(max(1, int(used.sum()) - 1), statistic))
    rng = np.random.default_rng(seed)
    drawn = np.zeros((SHUFFLES, hits.shape[1]))
    for row, draws in zip(tries, passed, strict=True):
        drawn += rng.multivariate_hypergeometric(row, int(draws), size=SHUFFLES)
    shuffled = _statistic((drawn - expected.sum(axis=0))[:, used], inverse)
    return float((1 + (shuffled >= statistic - 1e-9).sum()) / (1 + SHUFFLES))


def _statistic(differences: Floats, inverse: Floats) -> Floats:
    return np.asarray(np.einsum("...i,ij,...j->...", differences, inverse, differences))


def _covariance(tries: ArrayLike, total: ArrayLike, passed: ArrayLike) -> Floats:
    """Summed over strata, of the numbers of passes per treatment, given all margins."""
    n, of, k = (np.asarray(part, np.float64) for part in (tries, total, passed))
    factor = k * (of - k) / (of**2 * np.maximum(of - 1, 1))
    spread = np.diag((factor * of) @ n)
    return np.asarray(spread - n.T @ (n * factor[:, None]))


#: Passes and failures of one unit, level by level.
Levels = Sequence[tuple[int, int]]

DEALS = 399
MOST_UNITS = 5_000


@dataclass(frozen=True, slots=True)
class Nuisance:
    """`spread` is the standard deviation of the rate between the levels of one unit, beyond chance.

    `p_value` tests that it is 0 everywhere.
    """

    units: int
    trials: int
    spread: float
    interval: tuple[float, float]
    p_value: float


def nuisance_effect(units: Sequence[Levels], seed: int = 0) -> Nuisance | None:
    """The effect over all units with two levels or more; `None` when there are none to tell from."""
    usable = [levels for each in units if len(levels := [one for one in each if sum(one)]) > 1]
    usable = [levels for levels in usable if sum(map(sum, levels)) > len(levels)]
    if len(usable) > MOST_UNITS:
        usable = [usable[place * len(usable) // MOST_UNITS] for place in range(MOST_UNITS)]
    if len(usable) < 2:
        return None
    rng = np.random.default_rng(seed)
    excess, weight = np.array([_components(levels) for levels in usable]).T
    # An estimate below 0 is as good as 0; the interval starts there, so that it never shrinks to nothing.
    variance = max(0.0, float(excess.sum() / weight.sum()))
    error = 1.96 * _standard_error(excess, weight, rng)
    interval = (_root(variance - error), _root(variance + error))
    trials = sum(sum(map(sum, levels)) for levels in usable)
    return Nuisance(len(usable), trials, _root(variance), interval, _p_value(usable, rng))


def _components(levels: Levels) -> tuple[float, float]:
    """Squares between levels beyond what those within them explain, and what they weigh (ANOVA)."""
    counts = np.array(levels, dtype=np.float64)
    sizes, fails = counts.sum(axis=1), counts[:, 1]
    total, rates = sizes.sum(), fails / sizes
    between = float((sizes * (rates - fails.sum() / total) ** 2).sum())
    within = float((sizes * rates * (1 - rates)).sum()) / (total - len(levels))
    return between - (len(levels) - 1) * within, float(total - (sizes**2).sum() / total)


def _standard_error(
    excess: NDArray[np.float64], weight: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Of the variance between levels, by drawing units anew."""
    drawn = rng.integers(len(excess), size=(DEALS, len(excess)))
    variances = excess[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    return float(variances.std())


def _root(variance: float) -> float:
    return math.sqrt(max(0.0, variance))


def _p_value(units: Sequence[Levels], rng: np.random.Generator) -> float:
    """Deals the failures of each unit anew and counts how often they look as uneven as they are."""
    seen, dealt = 0.0, np.zeros(DEALS)
    for levels in units:
        counts = np.array(levels, dtype=np.int64)
        sizes, fails = counts.sum(axis=1), counts[:, 1]
        total, failed = int(sizes.sum()), int(fails.sum())
        if 0 < failed < total:
            expected = sizes * failed / total
            deals = rng.multivariate_hypergeometric(sizes, failed, size=DEALS, method="marginals")
            rate = failed / total
            scale = sizes * rate * (1 - rate)
            seen += float((((fails - expected) ** 2) / scale).sum())
            dealt += (((deals - expected) ** 2) / scale).sum(axis=1)
    return float((1 + (dealt >= seen - 1e-9).sum()) / (DEALS + 1))
