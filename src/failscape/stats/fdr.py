"""e-BH: which of many e-values to claim so that the expected share of false claims stays below a level.

It needs no independence. It counts over everything tried: pass `total` when some e-values are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from failscape.stats.evalues import Floats


def e_bh(e_values: ArrayLike, level: float, total: int | None = None) -> NDArray[np.bool_]:
    """True for the k largest, k the largest number whose k-th largest e-value is ≥ total / (level·k)."""
    return log_e_bh(_logs(e_values), level, total)


def log_e_bh(log_e_values: ArrayLike, level: float, total: int | None = None) -> NDArray[np.bool_]:
    """`e_bh` for logarithms of e-values, which may be too large for a float."""
    logs = np.asarray(log_e_values, dtype=np.float64)
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    tried = len(logs) if total is None else total
    if tried < len(logs):
        raise ValueError(f"`total >= number of e-values` must hold, but got {tried} and {len(logs)}")
    claimed = np.zeros(len(logs), dtype=np.bool_)
    order = np.argsort(-logs, kind="stable")
    ranks = np.arange(1, len(logs) + 1)
    enough = np.flatnonzero(logs[order] >= np.log(max(tried, 1)) - np.log(level * ranks))
    if len(enough):
        claimed[order[: enough[-1] + 1]] = True
    return claimed


def _logs(e_values: ArrayLike) -> Floats:
    values = np.asarray(e_values, dtype=np.float64)
    if np.any(values < 0):
        raise ValueError("e-values must not be negative")
    with np.errstate(divide="ignore"):
        return np.log(values)
