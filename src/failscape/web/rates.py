"""Rates as every screen writes them: the numbers, and the same words as in the report and the terminal."""

from __future__ import annotations

from typing import Any

from failscape.report.figures.basic import percent, spread
from failscape.stats.intervals import clopper_pearson


def rate_data(rate: float, interval: tuple[float, float]) -> dict[str, Any]:
    """A rate with its interval, and both as they are written everywhere."""
    low, high = interval
    return {
        "rate": rate,
        "low": low,
        "high": high,
        "rate_text": percent(rate),
        "spread_text": spread((low, high)),
    }


def counted_rate(failures: int, valid: int) -> dict[str, Any]:
    """The same from counts."""
    low, high = clopper_pearson(failures, valid)
    share = failures / valid if valid else float("nan")
    return {**rate_data(share, (float(low), float(high))), "failures": failures, "trials": valid}
