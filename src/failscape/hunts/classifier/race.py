"""Which description to try next: the chance that it is a bug, per image that proving it will take. Pure.

The model here only chooses. What is claimed rests on e-values (`stats/differences.py`), which hold however
the choice was made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from failscape.hunts.classifier.tallies import Arm, ClassState
from failscape.stats.differences import NEAR
from failscape.stats.evalues import Floats

#: A baseline counts as at most so many images here: descriptions without a bug differ a little as well.
MOST_BASE = 30.0


#: What it costs to bet without knowing the rate, in log e, of a description and of its baseline: with these a
#: proof takes as many images as reckoned, within a tenth (rates of 24 to 60 %, baselines of 200 and more).
BET = 1.5

#: Baselines to reckon with: parts of the way from what was seen to where the bug would be none.
POSSIBLE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)


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
        known = np.array([arm.log_e for arm in arms])
        drawn = np.array([arm.counts.drawn + arm.looks.drawn for arm in arms], np.float64)
        self._waste = (drawn + 2) / (
            fails + passes + 2
        )  # pictures that do not show the clauses prove nothing
        self._base, self._margin, self._need = base, margin, need
        self._lacking = np.clip(1 - known / need, 0.0, 1.0)
        self._counted = np.array([arm.counts.valid for arm in arms], np.float64)
        self.images = self._still(0)

    def _still(self, more: Floats | int) -> Floats:
        """Images that a proof still takes, with so many more images of the baseline."""
        base = self._base
        whole = proof_images(self.mean, base[:, 0], base[:, 3] + more, self._margin, self._need)
        rest = np.maximum(self._lacking * whole, whole - self._counted)
        return np.asarray(np.maximum(1.0, rest) * self._waste, dtype=np.float64)

    def at_best(self, baseline: int) -> Floats:
        """The same once every class has so many baseline images."""
        return self._still(np.maximum(0.0, baseline - self._base[:, 3]))

    def saved(self, more: int, most: float) -> Floats:
        """Images that each arm is expected to save when its class has so many more baseline images.

        No arm takes more than `most`.
        """
        now, then = (np.minimum(most, self._still(extra)) for extra in (0, more))
        return np.asarray(self.chance * (now - then), dtype=np.float64)

    @property
    def index(self) -> Floats:
        return np.asarray(self.chance / self.images, dtype=np.float64)


def proof_images(rate: Floats, base: Floats, baseline: Floats, margin: float, need: float) -> Floats:
    """Images of a description that fails at `rate` until it is proven, given `baseline` images of its class.

    Evidence is the smallest product over all baselines q (`stats/excess.py`): what the baseline's images say
    against q, the description's own need not say.
    """
    room = np.maximum(rate - margin - base, 1e-3)
    most: Floats = np.zeros_like(rate)
    for part in POSSIBLE:
        q = base + part * room
        own = need + BET - np.maximum(0.0, baseline * _divergence(base, q, below=True) - BET)
        gain = np.maximum(_divergence(rate, np.minimum(q + margin, 0.985)), 1e-4)
        most = np.maximum(most, np.maximum(own, 0.0) / gain)
    return most


def log_factor(fails: Floats, passes: Floats, low: Floats, a: Floats, b: Floats) -> Floats:
    """log of how much likelier the counts are for a bug, a rate above `low`, than for a usual rate below it."""
    with np.errstate(divide="ignore"):
        mass, _ = _above(fails, passes, low)
        bug = special.betaln(1 + fails, 1 + passes) + np.log(mass) - np.log1p(-low)
        fits = np.log(special.betainc(a + fails, b + passes, low) / special.betainc(a, b, low))
    usual = special.betaln(a + fails, b + passes) - special.betaln(a, b) + np.maximum(fits, -300.0)
    return np.asarray(np.clip(bug - usual, -700.0, 700.0), dtype=np.float64)


def _above(fails: Floats, passes: Floats, low: Floats) -> tuple[Floats, Floats]:
    """Mass and mean of the counts' likelihood over rates above `low`, half of which are near to it.

    The prior is uniform above `low`, with half of it on rates whose passes are at least `NEAR` of the limit's.
    """
    most, least = 1 - low, NEAR * (1 - low)
    mass, weighted = (
        0.5 * special.betainc(1 + passes, 1 + more + fails, most)
        + 0.5
        * (
            special.betainc(1 + passes, 1 + more + fails, most)
            - special.betainc(1 + passes, 1 + more + fails, least)
        )
        / (1 - NEAR)
        for more in (0, 1)
    )
    plain = (1 + fails) / (2 + fails + passes)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(mass > 1e-200, plain * weighted / mass, 0.0)
    return mass, mean


def mean_above(fails: Floats, passes: Floats, low: Floats) -> Floats:
    """The expected rate, given that it is above `low`."""
    _, mean = _above(fails, passes, low)
    return np.asarray(np.clip(np.maximum(mean, low + (1 - low) * 0.02), 0.0, 0.999), dtype=np.float64)


def _baselines(classes: Sequence[ClassState]) -> Floats:
    """Per class: mean, Beta parameters of what its descriptions are usually like, and images behind it."""
    rows = []
    for state in classes:
        fails, valid = state.base.fails + 0.5, state.base.valid + 1.0
        scale = min(1.0, MOST_BASE / valid)
        rows.append((fails / valid, fails * scale, (valid - fails) * scale, valid))
    return np.array(rows, np.float64).reshape(-1, 4)


def _divergence(p: Floats, q: Floats, below: bool = False) -> Floats:
    """Bernoulli Kullback-Leibler divergence: evidence per image when the truth is p and the null allows q.

    The null is that the rate is at most q, or at least q when the truth is `below` it.
    """
    counts = p < q if below else p > q
    lower = special.xlogy(1 - p, (1 - p) / (1 - q))
    return np.asarray(np.where(counts, special.xlogy(p, p / q) + lower, 0.0), dtype=np.float64)
