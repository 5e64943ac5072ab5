"""From predicted log-odds to a whole distribution: how the true rates spread around a prediction.

Nonparametric empirical Bayes: predictions are binned, and in every bin the distribution of the true rate over
a grid is estimated by EM from the counts of the nodes in it. Nothing is assumed about its shape.
"""

from __future__ import annotations

from typing import NamedTuple

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
_FEWEST = 2 * _NODES_PER_BIN // 3
_MOST_BINS = 14
_EM_STEPS, _WARY_STEPS = 40, 12

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


class Edge(NamedTuple):
    """A threshold on rates, and how much is taken to lie above it: at least the share `barely` of that just
    above it, and, in log-odds, `more` than the counts alone make likeliest."""

    threshold: float
    barely: float = 0.0
    more: float = 0.0

    @property
    def first(self) -> int:
        """The first grid point that is not below."""
        return int(np.searchsorted(RATES, self.threshold))

    def hold(self, weights: Floats) -> Floats:
        """The weights ([…, grid point]), with what is missing just above the threshold moved there."""
        near, far = slice(self.first, self.first + _NEAR), slice(self.first + _NEAR, None)
        beyond = weights[..., far].sum(axis=-1)
        missing = np.maximum(self.barely * (weights[..., near].sum(axis=-1) + beyond), 0.0)
        missing = np.clip(missing - weights[..., near].sum(axis=-1), 0.0, beyond)
        held = weights.copy()
        held[..., near] += (missing / _NEAR)[..., None]
        held[..., far] *= (1 - missing / np.maximum(beyond, 1e-300))[..., None]
        return held

    def raised(self, weights: Floats) -> Floats:
        """How much is to be above, where the weights are the usual ones."""
        usual = np.clip(weights[..., self.first :].sum(axis=-1), 1e-6, 1 - 1e-6)
        return np.asarray(special.expit(special.logit(usual) + self.more))

    def fill(self, weights: Floats, above: Floats) -> Floats:
        """The weights with so much of them above, shared out as before."""
        now = np.clip(weights[..., self.first :].sum(axis=-1), 1e-9, 1 - 1e-9)
        factors = np.empty_like(weights)
        factors[..., : self.first] = ((1 - above) / (1 - now))[..., None]
        factors[..., self.first :] = (above / now)[..., None]
        return weights * factors


#: Grid points from a threshold on that are just above it: rates of .8 to .87 at .8.
_NEAR = 2

#: What an edge may hold; more is tried while the counts allow it.
BARELY, MORE = (0.25, 0.5, 0.75, 1.0), (0.4, 0.8, 1.2, 1.6)

#: The counts allow what fits them at most so many nats worse than the best: the usual 95 % of likelihood.
ALLOWED = 1.0


def mix_priors(predicted: Floats, successes: Floats, failures: Floats, spread: float) -> Floats:
    """[row, grid point]: a prior for every row, learned from nodes with these predictions and counts."""
    base, anywhere = bell_priors(spread), Edge(1.0)
    if len(predicted) < _FEWEST:
        return base
    mixture = _Mixture(predicted, successes, failures, base)
    return mixture.table(mixture.climb(anywhere), anywhere)


def wary_priors(
    predicted: Floats, successes: Floats, failures: Floats, spread: float, threshold: float
) -> tuple[Floats, Floats]:
    """Two tables like that of `mix_priors`: for who would claim that a rate is below a threshold, and for who
    would claim that it is not. Each reckons with the case that is the hardest to tell from its claim."""
    below = _wary(predicted, successes, failures, spread, threshold)
    # Seen from the other side: what fails is what passes, and the grid is symmetrical.
    above = _wary(-predicted, failures, successes, spread, 1 - threshold)
    return below, above[::-1, ::-1]


def _wary(predicted: Floats, successes: Floats, failures: Floats, spread: float, threshold: float) -> Floats:
    """For claims that a rate is below a threshold.

    A few images per node cannot tell rates just above a `threshold` from a mixture of better and worse ones,
    nor how many there are. So as much as the counts allow is taken to be just above the threshold, and then
    to be above it at all.
    """
    base, edge = bell_priors(spread), Edge(threshold)
    if len(predicted) < _FEWEST:
        return base
    mixture = _Mixture(predicted, successes, failures, base)
    shapes = mixture.climb(edge)
    table = mixture.table(shapes, edge)
    if edge.first + _NEAR > len(GRID):
        return table
    best = mixture.fit(table)
    usual = shapes
    for way in ([Edge(threshold, one) for one in BARELY], [Edge(threshold, 0.0, one) for one in MORE]):
        for step in way:
            tried = step._replace(barely=max(step.barely, edge.barely))
            shapes = mixture.climb(tried, shapes, usual)
            wary = mixture.table(shapes, tried)
            fit = mixture.fit(wary)
            best = max(best, fit)
            if fit < best - ALLOWED:
                break
            edge, table = tried, wary
            usual = usual if tried.more else shapes
        shapes = usual
    return table


class _Mixture:
    """Nodes in bins of like predictions. Nodes of a bin with equal counts are taken together."""

    def __init__(self, predicted: Floats, successes: Floats, failures: Floats, base: Floats) -> None:
        self._base = base
        bins = min(_MOST_BINS, max(1, len(predicted) // _NODES_PER_BIN))
        places = np.empty(len(predicted), dtype=np.int64)
        places[np.argsort(predicted, kind="stable")] = np.arange(len(predicted)) * bins // len(predicted)
        self._centres = np.bincount(places, predicted, bins) / np.bincount(places, minlength=bins)
        self._starts = base[row_of(self._centres)]
        rows = np.stack([places, successes, failures], axis=1)
        self._pairs, self._counts = _padded(*np.unique(rows, axis=0, return_counts=True), bins)
        rows[:, 0] = row_of(predicted)
        self._rows, self._times = np.unique(rows, axis=0, return_counts=True)
        self._likelihood = _likelihood(self._rows[:, 1], self._rows[:, 2])

    def climb(self, edge: Edge, start: Floats | None = None, usual: Floats | None = None) -> Floats:
        """By EM: the distribution of every bin, [bin, grid point]. What is above the edge is `edge.more` than
        in the `usual` ones."""
        weights = edge.hold(self._starts if start is None else start)
        base = edge.hold(self._starts)
        above = None if usual is None or not edge.more else edge.raised(usual)
        for _ in range(_EM_STEPS if start is None else _WARY_STEPS):
            posterior = self._pairs * weights[:, None, :]
            posterior *= (self._counts / np.maximum(posterior.sum(axis=2), 1e-300))[:, :, None]
            weights = posterior.sum(axis=1) + _BASE_WEIGHT * base
            weights = edge.hold(_smooth(_normalised(weights), edge.first))
            weights = weights if above is None else edge.fill(weights, above)
        return weights

    def table(self, shapes: Floats, edge: Edge) -> Floats:
        """The prior of every row, with room for surprises."""
        table = edge.hold(_spread_over_rows(shapes, self._centres, self._base))
        wide = edge.hold(bell_priors(_SURPRISE_SPREAD))
        surprise = self._share_of_surprises(table, wide)
        return np.asarray((1 - surprise) * table + surprise * wide)

    def fit(self, table: Floats) -> float:
        """How well a table of priors explains the counts: the log-likelihood."""
        return float(self._times @ np.log(np.maximum(self._chances(table), 1e-300)))

    def _chances(self, table: Floats) -> Floats:
        return np.asarray((self._likelihood * table[self._rows[:, 0].astype(np.int64)]).sum(axis=1))

    def _share_of_surprises(self, table: Floats, wide: Floats) -> float:
        """By EM: how many nodes are better explained by the wide prior around their prediction?"""
        expected, surprising = self._chances(table), self._chances(wide)
        share = _FIRST_SURPRISE
        for _ in range(_EM_STEPS):
            chance = share * surprising / (share * surprising + (1 - share) * expected)
            seen = float(self._times @ chance)
            share = (seen + _SURPRISE_NODES * _FIRST_SURPRISE) / (float(self._times.sum()) + _SURPRISE_NODES)
        return max(share, _LEAST_SURPRISE)


def _padded(rows: Floats, times: NDArray[np.int64], bins: int) -> tuple[Floats, Floats]:
    """Likelihoods [bin, row, grid point] and counts [bin, row] of rows (bin, successes, failures)."""
    bin_of = rows[:, 0].astype(np.int64)
    sizes = np.bincount(bin_of, minlength=bins)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    likelihood, counts = np.ones((bins, sizes.max(), len(GRID))), np.zeros((bins, sizes.max()))
    likelihood[bin_of, place] = _likelihood(rows[:, 1], rows[:, 2])
    counts[bin_of, place] = times
    return likelihood, counts


def _likelihood(successes: Floats, failures: Floats) -> Floats:
    """[row, grid point], each row up to a factor."""
    logs = log_likelihoods(successes, failures)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _smooth(weights: Floats, first: int) -> Floats:
    """A little of each point goes to its neighbours: EM alone ends in a few spikes. Nothing crosses the edge:
    what barely passes must not make it look as if as much failed."""
    smooth = weights * 0.8
    for side in (slice(0, first), slice(first, None)):
        part = weights[..., side]
        if part.shape[-1]:
            smooth[..., side] += 0.1 * np.concatenate([part[..., :1], part[..., :-1]], axis=-1)
            smooth[..., side] += 0.1 * np.concatenate([part[..., 1:], part[..., -1:]], axis=-1)
    return smooth


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
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def relative_entropy(rates: Floats, threshold: float) -> Floats:
    """KL(q, τ) of a coin with chance q against one with chance τ, in nats."""
    return np.asarray(special.rel_entr(rates, threshold) + special.rel_entr(1 - rates, 1 - threshold))


def mean_above(weights: Floats, threshold: float) -> Floats:
    """The mean log-odds of distributions over the grid ([row, point]), given that the rate is not below."""
    kept = weights * (threshold <= RATES)
    total = kept.sum(axis=1)
    barely = float(special.logit(threshold))
    return np.asarray(np.where(total > 1e-12, (kept @ GRID) / np.maximum(total, 1e-12), barely))
