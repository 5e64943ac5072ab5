"""How far off is the belief? The hunt measures it on its own later images, and the list corrects just that.

At every refit the nodes that decide the list are *watched*: those that are claimed, and their ancestors. What
is believed of each is written down. The images drawn until the next refit are fresh given that, so they show
by how much the odds were wrong: one offset in log-odds for every role that a node has in a claim. Offsets
only ever make the list more careful.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from failscape.stats.rate_priors import log_likelihoods

Floats = NDArray[np.float64]


class Role(IntEnum):
    """What a node does in a claim. The claimed node may pass after all; entities and larger ancestors may
    fail after all."""

    CLAIMED = 0
    ENTITY = 1
    ANCESTOR = 2


#: Offsets by role, in log-odds of the case that makes a claim wrong.
Offsets = tuple[float, float, float]
NO_OFFSETS: Offsets = (0.0, 0.0, 0.0)

#: Offsets that are reckoned with. The largest is a factor of 20 in the odds.
_GRID: Floats = np.linspace(-3.0, 3.0, 61)

#: The quantile of what is known of an offset that the list goes by. It is a choice, not a measurement: two
#: thirds is the best answer to somebody to whom a false finding costs twice as much as a missed one.
_QUANTILE = 2 / 3

#: Standard deviation of an offset before anything was seen: the odds of a belief are taken to be right within
#: a factor of four (two standard deviations).
_PRIOR_DEVIATION = 0.7


@dataclass(frozen=True, slots=True)
class WatchedNode:
    """A node as it was believed to be: `wrong` and `right` are its densities over the grid of rates, on the
    side that makes a claim wrong and on the other. Both sum to 1 together."""

    role: Role
    wrong: Floats
    right: Floats
    passes: int
    fails: int


class Calibration:
    """Learns one offset for each role. Changes by `learn` alone, so replaying trials gives the same."""

    def __init__(self) -> None:
        self._watched: dict[tuple[Role, int], WatchedNode] = {}
        start = -0.5 * (_GRID / _PRIOR_DEVIATION) ** 2
        self._log_posterior = np.tile(start, (len(Role), 1))

    def watch(self, nodes: Mapping[tuple[Role, int], WatchedNode]) -> None:
        """Write down what is believed of these nodes (by role and slot) until the next refit."""
        self._watched = dict(nodes)

    def learn(self, counts: Sequence[tuple[int, ...]]) -> None:
        """Hold the images that came since against what was believed; `counts` are (passes, fails, …) now."""
        for (role, slot), one in self._watched.items():
            passes = counts[slot][0] - one.passes
            fails = counts[slot][1] - one.fails
            if passes + fails:
                self._log_posterior[role] += _surprise(one, passes, fails)

    @property
    def offsets(self) -> Offsets:
        """By role, and never below 0: a belief that was too careful is left as it is."""
        found = []
        for row in self._log_posterior:
            weights = np.exp(row - row.max())
            below = np.cumsum(weights) / weights.sum()
            found.append(max(0.0, float(np.interp(_QUANTILE, below, _GRID))))
        return found[0], found[1], found[2]


def _surprise(one: WatchedNode, passes: int, fails: int) -> Floats:
    """Log-likelihood of new images for every offset on the grid, if the odds of being wrong are shifted."""
    logs = log_likelihoods(float(passes), float(fails))
    likelihood = np.exp(logs - logs.max())
    odds = np.exp(_GRID)
    seen = float(one.right @ likelihood) + odds * float(one.wrong @ likelihood)
    believed = float(one.right.sum()) + odds * float(one.wrong.sum())
    return np.asarray(np.log(np.maximum(seen, 1e-300)) - np.log(believed))
