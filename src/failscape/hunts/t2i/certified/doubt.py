"""How sure is it that a node passes? The model's word counts for `TRUST`, its own images for the rest.

Many claims may rest on one ancestor and fall with it. So its images must say more than the model does.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import special

TRUST = 0.6
"""How much the model's word weighs against a flat prior, on the scale of log chances."""

SHARED = 0.4
"""At most so many of the claims that rest on one ancestor may be expected to fall with it."""


def temper(believed: float, passes: int, fails: int, bar: float) -> float:
    """`believed` is the chance to fail in the model's eyes."""
    alone = _alone(passes, fails, bar)
    return math.exp(TRUST * math.log(max(believed, 1e-9)) + (1 - TRUST) * math.log(alone))


@lru_cache(maxsize=1 << 16)
def _alone(passes: int, fails: int, bar: float) -> float:
    """With every rate equally likely beforehand."""
    return max(float(special.betainc(1 + passes, 1 + fails, bar)), 1e-9)
