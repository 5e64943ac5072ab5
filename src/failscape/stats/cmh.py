"""Does a treatment change a pass rate when strata differ? The generalised Cochran-Mantel-Haenszel test. Pure.

Each stratum is compared with itself only, so strata may differ in level and in how often they were tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import Floats

LEAST_VARIANCE = 5.0
"""Below this the chi-square approximation is not trusted, and tables are shuffled instead."""
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
