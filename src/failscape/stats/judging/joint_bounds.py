"""How low the judged rate of a node at the threshold may be, its checks taken together. Pure.

Bounds of single accuracies, all at their worst at once, leave hardly any room where each was measured by some
fifty labels. Here accuracies are drawn from what the labels leave open, by the distributions behind the exact
(Clopper-Pearson) bounds, and the limit is the quantile of what they make together.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.stats.judging.errors import KindAccuracy, Measured

Floats = NDArray[np.float64]

DRAWS = 4_000
"""The quantile at 5 % is then known to about a third of a percent of probability."""


def lowest_limit(checks: Sequence[KindAccuracy], threshold: float, doubt: float) -> float:
    """Below this, with probability `doubt` at most, lies the judged rate of a node whose true rate is τ."""
    known = {one: _drawn(one) for one in checks}
    hits, slips = (np.array([known[one][part] for one in checks]) for part in (0, 1))
    right = hits.prod(axis=0)
    others = np.minimum(hits, slips)
    # A failed image misses at least one check; which, and what else, is the worst case.
    wrong = np.min(
        [slips[at] * np.delete(others, at, axis=0).prod(axis=0) for at in range(len(checks))], axis=0
    )
    limits = np.minimum(threshold * right + (1 - threshold) * wrong, right)
    return float(np.quantile(limits, doubt, method="lower"))


@lru_cache(maxsize=256)
def _drawn(check: KindAccuracy) -> tuple[Floats, Floats]:
    """How often a check is called true when it holds, and when it does not: cautious draws of both.

    Checks of one kind share their draws: where the judge is bad at one of them it is bad at the other.
    """
    rng = np.random.default_rng(zlib.crc32(str(check).encode()))
    luck = rng.random((2, DRAWS))
    return _low(check.sensitivity, luck[0]), 1 - _high(check.specificity, luck[1])


def _low(measured: Measured, luck: Floats) -> Floats:
    """Draws whose quantiles are the exact lower bounds."""
    if measured.exact:
        return np.full(len(luck), measured.rate)
    hits = measured.rate * measured.of
    return (
        np.asarray(special.betaincinv(hits, measured.of - hits + 1, luck))
        if hits > 0
        else np.zeros(len(luck))
    )


def _high(measured: Measured, luck: Floats) -> Floats:
    if measured.exact:
        return np.full(len(luck), measured.rate)
    misses = (1 - measured.rate) * measured.of
    if misses <= 0:
        return np.ones(len(luck))
    return np.asarray(special.betaincinv(measured.of - misses + 1, misses, luck))
