"""Which description to try next: the chance that it is a bug, per image that proving it will take. Pure.

The model here only chooses. What is claimed rests on e-values (`stats/differences.py`), which hold however
the choice was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.hunts.classifier.tallies import Arm, ClassState
from failscape.stats.differences import NEAR
from failscape.stats.evalues import Floats

#: A baseline counts as at most so many images here: descriptions without a bug differ a little as well.
MOST_BASE = 30.0


#: What it costs to bet without knowing the rate, in log e, of a description and of its baseline: with these a
#: proof takes as many images as reckoned, within a tenth (rates of 24 to 60 %, baselines of 200 and more).
BET = 1.5

#: Steps in which a baseline may grow.
MORE_BASELINE = (25, 50, 100, 200)

#: Baselines to reckon with: parts of the way from what was seen to where the bug would be none.
POSSIBLE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)


class BugChances:
    """For each arm: `chance` that it is a bug, its rate if so, `images` that proving it will still take."""

    def __init__(
        self, arms: Sequence[Arm], classes: Sequence[ClassState], margin: float, need: float
    ) -> None:
        fails = np.array([arm.counts.fails + arm.looks.fails for arm in arms], np.float64)
        passes = np.array([arm.counts.passes + arm.looks.passes for arm in arms], np.float64)
        owner = np.array([arm.description.label for arm in arms], np.intp)
        base = _baselines(classes)[owner]
        low = np.minimum(base[:, 0] + margin, 0.98)
        odds, self.mean = log_factor(fails, passes, low, base[:, 1], base[:, 2])
        prior = special.logit(np.clip([arm.prior for arm in arms], 1e-4, 0.95))
        self.chance = np.asarray(special.expit(prior + odds), np.float64)
        known = np.array([arm.log_e for arm in arms])
        drawn = np.array([arm.counts.drawn + arm.looks.drawn for arm in arms], np.float64)
        self._waste = (drawn + 2) / (
            fails + passes + 2
        )  # pictures that do not show the clauses prove nothing
        self._base, self._margin, self._need = base, margin, need
        self._lacking = np.clip(1 - known / need, 0.0, 1.0)
        self._counted = np.array([arm.counts.valid for arm in arms], np.float64)
        self.images = self._still(slice(None), base[:, 3])

    def _still(self, chosen: Any, baseline: Floats) -> Floats:
        """Images that a proof still takes of chosen arms, with so many images of their baselines."""
        usual = self._base[chosen, 0]
        whole = proof_images(self.mean[chosen], usual, baseline, self._margin, self._need)
        rest = np.maximum(self._lacking[chosen] * whole, whole - self._counted[chosen])
        return np.asarray(np.maximum(1.0, rest) * self._waste[chosen], dtype=np.float64)

    def at_best(self, at: NDArray[np.intp]) -> Floats:
        """The same if the class gets as many more baseline images as are best, and the arm pays for them."""
        rows = [self._still(at, self._base[at, 3] + more) + more for more in (0, *MORE_BASELINE)]
        return np.asarray(np.min(rows, axis=0), dtype=np.float64)

    def saved(self, at: NDArray[np.intp], more: int, most: float) -> Floats:
        """Images that chosen arms are expected to save when their classes get so many more baseline images.

        No arm takes more than `most`.
        """
        now, then = (np.minimum(most, self._still(at, self._base[at, 3] + extra)) for extra in (0, more))
        return np.asarray(self.chance[at] * (now - then), dtype=np.float64)

    @property
    def index(self) -> Floats:
        return np.asarray(self.chance / self.images, dtype=np.float64)


def proof_images(rate: Floats, base: Floats, baseline: Floats, margin: float, need: float) -> Floats:
    """Images of a description that fails at `rate` until it is proven, given `baseline` images of its class.

    Evidence is the smallest product over all baselines q (`stats/differences.py`): what the baseline's images
    say against q, the description's own need not say.
    """
    room = np.maximum(rate - margin - base, 1e-3)
    most: Floats = np.zeros_like(rate)
    for part in POSSIBLE:
        q = base + part * room
        own = need + BET - np.maximum(0.0, baseline * _divergence(base, q, below=True) - BET)
        gain = np.maximum(_divergence(rate, np.minimum(q + margin, 0.985)), 1e-4)
        most = np.maximum(most, np.maximum(own, 0.0) / gain)
    return most


def log_factor(fails: Floats, passes: Floats, low: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """log of how much likelier the counts are for a bug, a rate above `low`, than for a usual one below.

    And the expected rate of a bug. Usual rates are Beta(a, b), bugs uniform above `low`, half of them where
    passes are at least `NEAR` of what `low` leaves: most bugs are small.
    """
    mass, weighted = (_mass_above(fails, passes, low, more) for more in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        bug = special.betaln(1 + fails, 1 + passes) + np.log(mass) - np.log1p(-low)
        fits = np.log(special.betainc(a + fails, b + passes, low) / special.betainc(a, b, low))
        mean = np.where(mass > 1e-200, (1 + fails) / (2 + fails + passes) * weighted / mass, 0.0)
    usual = special.betaln(a + fails, b + passes) - special.betaln(a, b) + np.maximum(fits, -300.0)
    mean = np.clip(np.maximum(mean, low + (1 - low) * 0.02), 0.0, 0.999)
    return np.asarray(np.clip(bug - usual, -700.0, 700.0), np.float64), np.asarray(mean, np.float64)


def _mass_above(fails: Floats, passes: Floats, low: Floats, more: int) -> Floats:
    """The counts' likelihood, times the rate where there is one fail `more`, summed over bugs."""
    whole = special.betainc(1 + passes, 1 + more + fails, 1 - low)
    far = special.betainc(1 + passes, 1 + more + fails, NEAR * (1 - low))
    return np.asarray(0.5 * whole + 0.5 * (whole - far) / (1 - NEAR), np.float64)


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
