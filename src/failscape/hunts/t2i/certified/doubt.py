"""How likely is it that a node which should pass fails after all?

Many claims may rest on one ancestor and fall with it. So the model's word is not taken whole: on the scale of
log chances it weighs `tuning.TRUST`, and a flat prior with the node's own images weighs the rest.
"""

import math
from functools import lru_cache

from scipy import special

from failscape.hunts.t2i.certified import tuning


def temper(believed: float, passes: int, fails: int, bar: float, trust: float = tuning.TRUST) -> float:
    """`believed` is the chance to fail in the model's eyes."""
    alone = _alone(passes, fails, bar)
    return math.exp(trust * math.log(max(believed, 1e-9)) + (1 - trust) * math.log(alone))


def trust_in(layer: int, resting: int) -> float:
    """How much the model's word weighs for a node that so many claims rest on."""
    return tuning.TRUST if layer else tuning.TRUST / max(1.0, resting / tuning.TRUSTED_CLAIMS)


@lru_cache(maxsize=1 << 16)
def _alone(passes: int, fails: int, bar: float) -> float:
    """With every rate equally likely beforehand."""
    return max(float(special.betainc(1 + passes, 1 + fails, bar)), 1e-9)
