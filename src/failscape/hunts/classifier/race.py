"""Which description to try next: the chance that it is a bug, per image that proving it will take. Pure.

The model here only chooses. What is claimed rests on e-values (`stats/excess.py`), which hold however the
choice was made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from failscape.hunts.classifier.tallies import Arm, ClassState
from failscape.stats.evalues import Floats

PRIOR_SHARE = 0.05
"""Bugs among untried descriptions before anything is known."""

STRENGTH = 6.0
"""A value or class with so many tried descriptions has its own share of bugs count as much as all others."""

MOST_BASE = 30.0
"""A baseline counts as at most so many images here: descriptions without a bug differ a little as well."""

STEPS = 4


class BugChances:
    """For each arm: `chance` that it is a bug, `images` that proving it will still take."""

    def __init__(
        self, arms: Sequence[Arm], classes: Sequence[ClassState], margin: float, need: float
    ) -> None:
        fails = np.array([arm.counts.fails for arm in arms], np.float64)
        passes = np.array([arm.counts.passes for arm in arms], np.float64)
        owner = np.array([arm.description.label for arm in arms], np.intp)
        base = _baselines(classes)[owner]
        low = np.minimum(base[:, 0] + margin, 0.98)
        odds = log_factor(fails, passes, low, base[:, 1], base[:, 2])
        hinted = np.array([arm.hinted for arm in arms], np.intp)
        self.chance = _chances(odds, (owner, _groups(arms), hinted), fails + passes > 0)
        self.mean = mean_above(fails, passes, low)
        spread = np.sqrt(base[:, 0] * (1 - base[:, 0]) / (base[:, 3] + 1))
        limit = np.minimum(low + spread, 0.985)
        gain = np.maximum(_divergence(self.mean, limit), 1e-4)
        known = np.array([arm.log_e for arm in arms])
        self.images = np.maximum(1.0, (need - known) / gain)

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


def _groups(arms: Sequence[Arm]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Arms with the same clauses, in whatever class, are of one group: what fools once often fools twice."""
    numbers: dict[tuple[str, ...], int] = {}
    keys = [tuple(clause.label for clause in arm.clauses) for arm in arms]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)


def _chances(
    odds: Floats,
    members: Sequence[np.ndarray[tuple[int], np.dtype[np.intp]]],
    tried: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Floats:
    """Posterior chances by a few steps of EM: the share of bugs overall, and in every group of each kind."""
    if not len(odds):
        return np.zeros(0)
    share = np.full(len(odds), PRIOR_SHARE)
    chance = special.expit(special.logit(share) + odds)
    for _ in range(STEPS):
        overall = (chance[tried].sum() + PRIOR_SHARE * STRENGTH) / (tried.sum() + STRENGTH)
        logits = special.logit(overall) + sum(_ratio(chance, tried, one, overall) for one in members)
        chance = special.expit(np.clip(logits, -5.0, 4.0) + odds)
    return np.asarray(chance, dtype=np.float64)


def _ratio(
    chance: Floats,
    tried: np.ndarray[tuple[int], np.dtype[np.bool_]],
    member: np.ndarray[tuple[int], np.dtype[np.intp]],
    overall: float,
) -> Floats:
    """For each arm: how much likelier bugs are in its class (or with its value) than overall, as log odds."""
    size = int(member.max()) + 1
    found = np.bincount(member, weights=chance * tried, minlength=size)
    count = np.bincount(member, weights=tried, minlength=size)
    share = (found + STRENGTH * overall) / (count + STRENGTH)
    return np.asarray((special.logit(np.clip(share, 1e-4, 0.9)) - special.logit(overall))[member], np.float64)


def _divergence(p: Floats, q: Floats) -> Floats:
    """Bernoulli Kullback-Leibler divergence: evidence per image when the truth is p and the null allows q."""
    lower = special.xlogy(1 - p, (1 - p) / (1 - q))
    return np.asarray(np.where(p > q, special.xlogy(p, p / q) + lower, 0.0), dtype=np.float64)
