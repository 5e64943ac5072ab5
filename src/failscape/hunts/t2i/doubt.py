"""How sure is it that a node passes? Half of the belief in it comes from the model, half is left open.

Many claims may rest on one ancestor and fall with it. So its own images must say more than the model does.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from scipy import special

if TYPE_CHECKING:
    from failscape.hunts.t2i.outlook import View

TRUST = 0.6
"""How much the model's word weighs against a flat prior, on the scale of log chances."""

SHARED = 0.4
"""At most so many of the claims that rest on one ancestor may be expected to fall with it."""


def sober_doubt(view: View, passes: int, fails: int, bar: float) -> float:
    """The chance that a node fails: between what the model says and what its images say by themselves."""
    return temper(1 - view.passes, passes, fails, bar)


def temper(believed: float, passes: int, fails: int, bar: float) -> float:
    """`believed` is the chance to fail in the model's eyes."""
    alone = _alone(passes, fails, bar)
    return math.exp(TRUST * math.log(max(believed, 1e-9)) + (1 - TRUST) * math.log(alone))


@lru_cache(maxsize=1 << 16)
def _alone(passes: int, fails: int, bar: float) -> float:
    """With every rate equally likely beforehand."""
    return max(float(special.betainc(1 + passes, 1 + fails, bar)), 1e-9)
