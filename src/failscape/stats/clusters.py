"""A share over trials that come in groups, with an interval that knows it. Pure; not anytime-valid.

Trials of one subject, and subjects of one entity, are alike: counting them as independent would promise too
much. Korn and Graubard (1998): Clopper-Pearson on the number of independent trials worth as much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import clopper_pearson

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
