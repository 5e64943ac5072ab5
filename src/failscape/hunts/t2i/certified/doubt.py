"""How likely is it that a node which should pass fails after all?

Many claims may rest on one ancestor and fall with it. So the model's word is not taken whole: on the scale of
log chances it weighs `tuning.TRUST`, and a flat prior with the node's own images weighs the rest.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import special

from failscape.hunts.t2i.certified import tuning


def temper(believed: float, passes: int, fails: int, bar: float) -> float:
    """`believed` is the chance to fail in the model's eyes."""
    alone = _alone(passes, fails, bar)
    return math.exp(tuning.TRUST * math.log(max(believed, 1e-9)) + (1 - tuning.TRUST) * math.log(alone))


@lru_cache(maxsize=1 << 16)
def _alone(passes: int, fails: int, bar: float) -> float:
    """With every rate equally likely beforehand."""
    return max(float(special.betainc(1 + passes, 1 + fails, bar)), 1e-9)
