"""Which description to try next: the chance that it is a bug, per image that proving it will take. Pure.

The model here only chooses. What is claimed rests on e-values (`stats/differences.py`), which hold however
the choice was made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from failscape.hunts.classifier.tallies import Arm, ClassState
from failscape.stats.evalues import Floats

#: A baseline counts as at most so many images here: descriptions without a bug differ a little as well.
MOST_BASE = 30.0


class BugChances:
    """For each arm: `chance` that it is a bug, `images` that proving it will still take."""

    def __init__(
        self, arms: Sequence[Arm], classes: Sequence[ClassState], margin: float, need: float
    ) -> None:
        fails = np.array([arm.counts.fails + arm.looks.fails for arm in arms], np.float64)
        passes = np.array([arm.counts.passes + arm.looks.passes for arm in arms], np.float64)
        owner = np.array([arm.description.label for arm in arms], np.intp)
        base = _baselines(classes)[owner]
        low = np.minimum(base[:, 0] + margin, 0.98)
        odds = log_factor(fails, passes, low, base[:, 1], base[:, 2])
        prior = special.logit(np.clip([arm.prior for arm in arms], 1e-4, 0.95))
        self.chance = np.asarray(special.expit(prior + odds), np.float64)
        self.mean = mean_above(fails, passes, low)
        spread = np.sqrt(base[:, 0] * (1 - base[:, 0]) / (base[:, 3] + 1))
        limit = np.minimum(low + spread, 0.985)
        gain = np.maximum(_divergence(self.mean, limit), 1e-4)
        known = np.array([arm.log_e for arm in arms])
        drawn = np.array([arm.counts.drawn + arm.looks.drawn for arm in arms], np.float64)
        waste = (drawn + 2) / (fails + passes + 2)  # pictures that do not show the clauses prove nothing
        self.images = np.maximum(1.0, (need - known) / gain) * waste

    @property
    def index(self) -> Floats:
        return np.asarray(self.chance / self.images, dtype=np.float64)


def log_factor(fails: Floats, passes: Floats, low: Floats, a: Floats, b: Floats) -> Floats:
    """log of how much likelier the counts are for a rate anywhere above `low` than for the baseline."""
    above = special.betainc(1 + passes, 1 + fails, 1 - low)
    with np.errstate(divide="ignore"):
        bug = special.betaln(1 + fails, 1 + passes) + np.log(above) - np.log1p(-low)
    usual = special.betaln(a + fails, b + passes) - special.betaln(a, b)
    return np.asarray(np.maximum(bug - usual, -700.0), dtype=np.float64)


def mean_above(fails: Floats, passes: Floats, low: Floats) -> Floats:
    """The expected rate, given that it is above `low`."""
    above = special.betainc(1 + passes, 1 + fails, 1 - low)
    weighted = special.betainc(1 + passes, 2 + fails, 1 - low)
    plain = (1 + fails) / (2 + fails + passes)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(above > 1e-200, plain * weighted / above, 0.0)
    return np.asarray(np.clip(np.maximum(mean, low + (1 - low) * 0.02), 0.0, 0.999), dtype=np.float64)


def _baselines(classes: Sequence[ClassState]) -> Floats:
    """Per class: mean, Beta parameters of what its descriptions are usually like, and images behind it."""
    rows = []
    for state in classes:
        fails, valid = state.base.fails + 0.5, state.base.valid + 1.0
        scale = min(1.0, MOST_BASE / valid)
        rows.append((fails / valid, fails * scale, (valid - fails) * scale, valid))
    return np.array(rows, np.float64).reshape(-1, 4)


def _divergence(p: Floats, q: Floats) -> Floats:
    """Bernoulli Kullback-Leibler divergence: evidence per image when the truth is p and the null allows q."""
    lower = special.xlogy(1 - p, (1 - p) / (1 - q))
    return np.asarray(np.where(p > q, special.xlogy(p, p / q) + lower, 0.0), dtype=np.float64)
