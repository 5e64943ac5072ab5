"""From predicted log-odds to a whole distribution: how the true rates spread around a prediction.

Nonparametric empirical Bayes: predictions are binned, and in every bin the distribution of the true rate over
a grid is estimated by EM from the counts of the nodes in it. Nothing is assumed about its shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

STEP = 0.25
#: The grid of true log-odds.
GRID: Floats = np.arange(-5.5, 5.5 + STEP / 2, STEP)
RATES: Floats = special.expit(GRID)
#: Log-sigmoids, in a form that cannot overflow.
_LOG_PASS, _LOG_FAIL = special.log_expit(GRID), special.log_expit(-GRID)
#: Predictions for which a prior is tabulated; a prediction takes the nearest row.
ROWS: Floats = np.arange(-6.0, 6.0 + STEP / 2, STEP)

#: A bin starts with as much belief in the bell curve around its predictions as this many nodes would give.
_BASE_WEIGHT = 8.0

_NODES_PER_BIN = 60
_MOST_BINS = 14
_EM_STEPS = 25

_SURPRISE_SPREAD = 6.0
_FIRST_SURPRISE, _LEAST_SURPRISE = 0.03, 0.001
#: Every prior keeps a little room for rates far from the prediction, so that images can overrule it. How much
#: is learned from the nodes themselves: at first it is taken for 3 %, as if so many nodes had shown it. A
#: share that was fixed made a list of failures too sure of itself where nothing is surprising: three failures
#: in a row by luck looked like one of the surprises.
_SURPRISE_NODES = 60.0


def row_of(log_odds: Floats) -> NDArray[np.int64]:
    """The nearest row of a table of priors."""
    nearest = np.rint((np.asarray(log_odds) - ROWS[0]) / STEP)
    return np.asarray(np.clip(nearest, 0, len(ROWS) - 1), dtype=np.int64)


def log_likelihoods(successes: Floats | float, failures: Floats | float) -> Floats:
    """[row, grid point], up to what does not depend on the grid."""
    return np.asarray(np.multiply.outer(successes, _LOG_PASS) + np.multiply.outer(failures, _LOG_FAIL))


def bell_priors(spread: float) -> Floats:
    """[row, grid point]: a normal distribution of the true log-odds around every prediction."""
    return _normalised(np.exp(-0.5 * (GRID[None, :] - ROWS[:, None]) ** 2 / max(spread, STEP**2)))


def mix_priors(predicted: Floats, successes: Floats, failures: Floats, spread: float) -> Floats:
    """[row, grid point]: a prior for every row, learned from nodes with these predictions and counts."""
    base = bell_priors(spread)
    if len(predicted) < 2 * _NODES_PER_BIN // 3:
        return base
    bins = min(_MOST_BINS, max(1, len(predicted) // _NODES_PER_BIN))
    order = np.argsort(predicted, kind="stable")
    shapes, centres = [], []
    for members in np.array_split(order, bins):
        centre = float(np.mean(predicted[members]))
        prior = base[row_of(np.array([centre]))[0]]
        shapes.append(_estimate(successes[members], failures[members], prior))
        centres.append(centre)
    table = _spread_over_rows(np.array(shapes), np.array(centres), base)
    wide = bell_priors(_SURPRISE_SPREAD)
    surprise = _share_of_surprises(table, wide, row_of(predicted), successes, failures)
    return (1 - surprise) * table + surprise * wide


def _share_of_surprises(
    table: Floats, wide: Floats, rows: NDArray[np.int64], successes: Floats, failures: Floats
) -> float:
    """By EM: how many nodes are better explained by the wide prior around their prediction?"""
    distinct, counts = np.unique(np.stack([rows, successes, failures], axis=1), axis=0, return_counts=True)
    logs = log_likelihoods(distinct[:, 1], distinct[:, 2])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    place = distinct[:, 0].astype(np.int64)
    expected, surprising = ((likelihood * part[place]).sum(axis=1) for part in (table, wide))
    share = _FIRST_SURPRISE
    for _ in range(_EM_STEPS):
        chance = share * surprising / (share * surprising + (1 - share) * expected)
        seen = float(counts @ chance)
        share = (seen + _SURPRISE_NODES * _FIRST_SURPRISE) / (float(counts.sum()) + _SURPRISE_NODES)
    return max(share, _LEAST_SURPRISE)


def _estimate(successes: Floats, failures: Floats, base: Floats) -> Floats:
    """EM for the distribution of one bin. Nodes with equal counts are taken together."""
    pairs, counts = np.unique(np.stack([successes, failures], axis=1), axis=0, return_counts=True)
    logs = log_likelihoods(pairs[:, 0], pairs[:, 1])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = base.copy()
    for _ in range(_EM_STEPS):
        posterior = likelihood * weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        weights = counts @ posterior + _BASE_WEIGHT * base
        weights /= weights.sum()
        weights = _smooth(weights)
    return weights


def _smooth(weights: Floats) -> Floats:
    """A little of each point goes to its neighbours: EM alone ends in a few spikes."""
    padded = np.concatenate([weights[:1], weights, weights[-1:]])
    return np.asarray(0.1 * padded[:-2] + 0.8 * padded[1:-1] + 0.1 * padded[2:])


def _spread_over_rows(shapes: Floats, centres: Floats, base: Floats) -> Floats:
    """Between two bins their shapes are mixed; each is moved along with the prediction."""
    table = np.empty_like(base)
    for number, row in enumerate(ROWS):
        right = int(np.searchsorted(centres, row))
        left = max(right - 1, 0)
        right = min(right, len(centres) - 1)
        gap = centres[right] - centres[left]
        share = float((row - centres[left]) / gap) if gap > 1e-9 else 0.0
        share = min(max(share, 0.0), 1.0)
        first = _moved(shapes[left], row - centres[left])
        second = _moved(shapes[right], row - centres[right])
        table[number] = (1 - share) * first + share * second
    return _normalised(table)


def _moved(shape: Floats, by: float) -> Floats:
    """The distribution moved along the grid; what leaves it stays at its end."""
    steps = round(by / STEP)
    if steps == 0:
        return shape
    moved = np.zeros_like(shape)
    places = np.clip(np.arange(len(shape)) + steps, 0, len(shape) - 1)
    np.add.at(moved, places, shape)
    return moved


def _normalised(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def relative_entropy(rates: Floats, threshold: float) -> Floats:
    """KL(q, τ) of a coin with chance q against one with chance τ, in nats."""
    return np.asarray(special.rel_entr(rates, threshold) + special.rel_entr(1 - rates, 1 - threshold))


def mean_above(weights: Floats, threshold: float) -> Floats:
    """The mean log-odds of distributions over the grid ([row, point]), given that the rate is not below."""
    kept = weights * (threshold <= RATES)
    total = kept.sum(axis=1)
    barely = float(special.logit(threshold))
    return np.asarray(np.where(total > 1e-12, (kept @ GRID) / np.maximum(total, 1e-12), barely))


#: Grid points from a threshold on that are just above it: rates of .8 to .87 at .8.
_NEAR = 2


def barely_passing(table: Floats, threshold: float) -> Floats:
    """Distributions ([row, grid point]) for who would claim that a rate is below a threshold.

    A few images per node cannot tell rates just above a threshold from a mixture of better and worse ones. So
    whatever passes is taken to pass just so: that is the hardest to tell from what fails.
    """
    return _gathered(table, int(np.searchsorted(RATES, threshold)))


def barely_failing(table: Floats, threshold: float) -> Floats:
    """The same for who would claim that a rate is not below it: whatever fails is taken to fail just so."""
    return _gathered(table[:, ::-1], len(GRID) - int(np.searchsorted(RATES, threshold)))[:, ::-1]


def _gathered(table: Floats, first: int) -> Floats:
    """With all from the point `first` on gathered in that point and the next."""
    if first + _NEAR > len(GRID):
        return table
    gathered = table.copy()
    beyond = table[:, first + _NEAR :].sum(axis=1)
    gathered[:, first : first + _NEAR] += (beyond / _NEAR)[:, None]
    gathered[:, first + _NEAR :] = 0.0
    return gathered


#: Shares that may be mixed in, and how many nats worse than the best the counts may fit a share that they
#: still allow: the one-sided 95 %.
_SHARES: Floats = np.linspace(0.0, 1.0, 41)
_ALLOWED = 1.35


class Seen:
    """Nodes with their predictions and counts, to hold tables of priors against them."""

    def __init__(self, predicted: Floats, successes: Floats, failures: Floats) -> None:
        rows = np.stack([row_of(predicted), successes, failures], axis=1)
        distinct, self._times = np.unique(rows, axis=0, return_counts=True)
        self._rows = distinct[:, 0].astype(np.int64)
        logs = log_likelihoods(distinct[:, 1], distinct[:, 2])
        self._likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))

    def mixed(self, table: Floats, other: Floats, shifts: Sequence[float] = (0.0,)) -> Floats:
        """The table with as much of the other mixed in as the counts allow, if it is moved by one of these
        shifts: where some rates are lower than was thought, the rest are higher."""
        moved = [np.array([_moved(row, by) for row in table]) for by in shifts]
        fits = np.array([self._fits(one, other) for one in moved])
        allowed = fits >= fits.max() - _ALLOWED
        most = int(np.flatnonzero(allowed.any(axis=0)).max())
        best = int(fits[:, most].argmax())
        return np.asarray((1 - _SHARES[most]) * moved[best] + _SHARES[most] * other)

    def _fits(self, table: Floats, other: Floats) -> Floats:
        """The log-likelihood of the counts by the share of the other table."""
        one, two = ((self._likelihood * part[self._rows]).sum(axis=1) for part in (table, other))
        chances = np.multiply.outer(1 - _SHARES, one) + np.multiply.outer(_SHARES, two)
        return np.asarray(np.log(np.maximum(chances, 1e-300)) @ self._times)


def wary_priors(table: Floats, seen: Seen, threshold: float) -> tuple[Floats, Floats]:
    """Two tables in place of one: for who would claim that a rate is below a threshold, and for who would
    claim that it is not. Each has as much as the counts allow of what is hardest to tell from its claim."""
    below = seen.mixed(table, barely_passing(table, threshold))
    return below, seen.mixed(table, barely_failing(table, threshold))


def by_a_hair(threshold: float) -> Floats:
    """A table in which everything fails, by a hair."""
    first = max(int(np.searchsorted(RATES, threshold)), _NEAR)
    table = np.zeros((len(ROWS), len(GRID)))
    table[:, first - _NEAR : first] = 1 / _NEAR
    return table
