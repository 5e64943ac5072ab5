"""Exact tests that a slice of a fixed collection fails more often than the rest of it. Pure.

Every item of the collection is tried once, and every item has a class. Given how many items of a class fail
and how many of them are in the slice, the failures inside the slice are hypergeometric if the slice does not
matter. A slice of one class is tested by that (Fisher's exact test). For a slice of several classes the
failures are added up, each class compared with itself only, so that a slice cannot look bad because it holds
more of the hard classes.

`holm_tarone` chooses which of many tests to claim. With small numbers most tests cannot reach a small
p-value whatever happens; Tarone (1990) showed that those need not be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from failscape.stats.intervals import Floats

#: Probabilities below this are told as this: smaller ones may be rounding.
SMALLEST_P = 1e-300


class SliceTable(NamedTuple):
    """Items of one class: `fails` of `items` inside the slice, `rest_fails` of `rest` outside."""

    fails: int
    items: int
    rest_fails: int
    rest: int

    @property
    def is_informative(self) -> bool:
        """Whether the number of failures inside could have been another one."""
        total_fails = self.fails + self.rest_fails
        return self.items > 0 and self.rest > 0 and 0 < total_fails < self.items + self.rest


class SlicePValue(NamedTuple):
    """`p_value` of what was seen, and `least`, the smallest one that these totals allow."""

    p_value: float
    least: float


class _FailureCounts(NamedTuple):
    """The chance of each number of failures inside the slice, from `offset` on, if the slice is idle."""

    offset: int
    chances: Floats

    def beside(self, other: _FailureCounts) -> _FailureCounts:
        return _FailureCounts(self.offset + other.offset, np.convolve(self.chances, other.chances))

    def test(self, fails: int) -> SlicePValue:
        tail = float(self.chances[max(0, fails - self.offset) :].sum())
        return SlicePValue(min(1.0, max(SMALLEST_P, tail)), max(SMALLEST_P, float(self.chances[-1])))


_NOTHING = _FailureCounts(0, np.ones(1))


def slice_p_value(tables: Sequence[SliceTable]) -> SlicePValue:
    """One-sided exact p-value for "in no class does the slice fail more often"."""
    together = _NOTHING
    for table in tables:
        together = together.beside(_counts_if_idle(table))
    return together.test(sum(table.fails for table in tables))


def several_classes_p_value(tables: Sequence[SliceTable]) -> SlicePValue:
    """One-sided p-value for "in at most one class does the slice fail more often".

    If one class at most is affected, the test without that class is valid. Nobody knows which one it is, so
    the largest p-value over all classes left out is taken (a partial conjunction, Benjamini and Heller 2008).
    """
    telling = [table for table in tables if table.is_informative]
    if len(telling) < 2:
        return SlicePValue(1.0, 1.0)
    parts = [_counts_if_idle(table) for table in telling]
    before = [_NOTHING]
    for part in parts[:-1]:
        before.append(before[-1].beside(part))
    total = sum(table.fails for table in telling)
    after, found = _NOTHING, []
    for place in reversed(range(len(parts))):
        found.append(before[place].beside(after).test(total - telling[place].fails))
        after = parts[place].beside(after)
    return SlicePValue(max(one.p_value for one in found), max(one.least for one in found))


def _counts_if_idle(table: SliceTable) -> _FailureCounts:
    total, fails = table.items + table.rest, table.fails + table.rest_fails
    low, high = max(0, table.items - (total - fails)), min(table.items, fails)
    inside = np.arange(low, high + 1, dtype=np.float64)
    logs = (
        _log_choose(fails, inside)
        + _log_choose(total - fails, table.items - inside)
        - _log_choose(total, table.items)
    )
    return _FailureCounts(low, np.exp(logs))


def _log_choose(total: ArrayLike, chosen: ArrayLike) -> Floats:
    n, k = np.asarray(total, np.float64), np.asarray(chosen, np.float64)
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def counted_tests(least: ArrayLike, level: float) -> int:
    """Tarone's number: the smallest k such that at most k tests can reach level / k at all."""
    reachable = np.sort(np.asarray(least, np.float64))
    for number in range(1, len(reachable) + 1):
        if int(np.searchsorted(reachable, level / number, side="right")) <= number:
            return number
    return max(1, len(reachable))


def holm_tarone(p_values: ArrayLike, least: ArrayLike, level: float) -> NDArray[np.bool_]:
    """True for tests whose claims hold together: the chance that any is false is at most `level`.

    Holm's steps, in which tests that cannot reach the level of a step are not counted. It needs no
    independence of the tests, and `least` must not depend on how the items went beyond their totals.
    """
    if not 0 < level < 1:
        raise ValueError(f"`0 < level < 1` must hold, but got level={level}")
    values, reachable = np.asarray(p_values, np.float64), np.asarray(least, np.float64)
    claimed = np.zeros(len(values), np.bool_)
    while not claimed.all():
        left = ~claimed
        limit = level / counted_tests(reachable[left], level)
        found = left & (values <= limit)
        if not found.any():
            break
        claimed |= found
    return claimed


def least_by_size(items: int, rest: int) -> float:
    """The smallest p-value that a table of these sizes allows, whatever the number of failures is."""
    return max(SMALLEST_P, float(np.exp(-_log_choose(items + rest, items))))
