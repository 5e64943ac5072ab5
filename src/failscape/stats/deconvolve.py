"""How rates are spread over many subjects of which each was tried only a few times. Pure.

Counting subjects whose observed share is below a threshold is biased, for luck moves shares across it. The
spread of the true rates is fitted instead (nonparametric maximum likelihood by EM, stopped early).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from failscape.stats.intervals import Floats
from failscape.stats.stratified_mean import worth_interval

CELLS = 50
GRID: Floats = (np.arange(CELLS) + 0.5) / CELLS
#: EM from a flat start. More steps follow the noise of small samples, fewer stay near the flat start.
STEPS = 60

REPEATS = 100


@dataclass(frozen=True)
class Mixing:
    """`weights[i]` of the subjects have about the success rate `GRID[i]`."""

    weights: Floats

    def share_below(self, threshold: float) -> float:
        """The share of subjects whose true rate is below the threshold."""
        return float(self.weights @ _below(threshold))

    def chance_below(
        self, passes: ArrayLike, fails: ArrayLike, threshold: float, seen: ArrayLike = ()
    ) -> Floats:
        """For each subject, how likely its true rate is below the threshold given its counts."""
        logs = _log_likelihood(*_columns(passes, fails, seen)) + np.log(self.weights)
        return np.asarray(special.softmax(logs, axis=1) @ _below(threshold))


def fit_mixing(
    passes: ArrayLike, fails: ArrayLike, seen: ArrayLike = (), weights: ArrayLike | None = None
) -> Mixing:
    """`seen` has a row per subject: how often a good and a bad image pass the judge, (1, 0) unless told.

    `weights` say how much each subject belongs to what is described. Stopping a subject early because of its
    own counts does no harm: the likelihood stays what it is.
    """
    rows, counts = _distinct(*_columns(passes, fails, seen), weights)
    return Mixing(_fit(_likelihood(rows), counts))


def share_below(
    passes: ArrayLike,
    fails: ArrayLike,
    threshold: float,
    seen: ArrayLike = (),
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, tuple[float, float]]:
    """The share of subjects with a true rate below the threshold, with an interval.

    Its standard error comes from refitting to resampled subjects; the interval is Clopper-Pearson's for as
    many subjects as would give that error if their rates were known, and never more than there are.
    """
    rows, counts = _distinct(*_columns(passes, fails, seen))
    subjects = int(counts.sum())
    if not subjects:
        return float("nan"), (0.0, 1.0)
    likelihood, below = _likelihood(rows), _below(threshold)
    share = min(1.0, float(_fit(likelihood, counts) @ below))
    rng = np.random.default_rng(seed)
    resampled = rng.multinomial(subjects, counts / subjects, size=REPEATS).astype(np.float64)
    spread = float(np.var(_fit(likelihood, resampled) @ below))
    certain = share * (1 - share)  # the variance of one subject whose rate is known
    worth = certain / spread if spread * subjects > max(certain, 1e-9) else float(subjects)
    return share, worth_interval(share, worth, level)


def _fit(likelihood: Floats, counts: Floats) -> Floats:
    """EM for one row of counts, or for many at once."""
    weights: Floats = np.full((*counts.shape[:-1], CELLS), 1 / CELLS)
    for _ in range(STEPS):
        mixed = weights @ likelihood.T
        weights = weights * ((counts / np.maximum(mixed, 1e-300)) @ likelihood)
        weights = weights / weights.sum(axis=-1, keepdims=True)
    weights = np.maximum(weights, 1e-12)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _columns(passes: ArrayLike, fails: ArrayLike, seen: ArrayLike) -> tuple[Floats, Floats, Floats]:
    s, f = np.atleast_1d(np.asarray(passes, np.float64)), np.atleast_1d(np.asarray(fails, np.float64))
    if s.shape != f.shape or np.any(s < 0) or np.any(f < 0):
        raise ValueError("`passes` and `fails` must be equally many, and none negative")
    through = np.asarray(seen, np.float64)
    return s, f, through if through.size else np.tile([1.0, 0.0], (len(s), 1))


def _distinct(
    passes: Floats, fails: Floats, seen: Floats, weights: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Most subjects share their counts with others: work is done once per distinct row."""
    known = passes + fails > 0
    rows = np.column_stack([passes, fails, seen])[known]
    each = np.ones(len(passes)) if weights is None else np.asarray(weights, np.float64)
    distinct, places = np.unique(rows, axis=0, return_inverse=True)
    counts = np.bincount(np.ravel(places), weights=each[known], minlength=len(distinct))
    return np.asarray(distinct, np.float64), np.asarray(counts, np.float64)


def _likelihood(rows: Floats) -> Floats:
    logs = _log_likelihood(rows[:, 0], rows[:, 1], rows[:, 2:])
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf)))


def _log_likelihood(passes: Floats, fails: Floats, seen: Floats) -> Floats:
    judged = seen[:, 1:] + (seen[:, :1] - seen[:, 1:]) * GRID
    judged = np.clip(judged, 1e-9, 1 - 1e-9)
    return np.asarray(passes[:, None] * np.log(judged) + fails[:, None] * np.log1p(-judged))


def _below(threshold: float) -> Floats:
    """How much of each cell lies below the threshold."""
    return np.asarray(np.clip((threshold - (GRID - 0.5 / CELLS)) * CELLS, 0.0, 1.0))
