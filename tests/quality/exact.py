"""Probabilities of tests that look after every image, by enumeration instead of simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LogEvidence = Callable[[Ints, Ints], Floats]
"""log e after so many successes and failures, for arrays of both."""


def chance_to_cross(log_evidence: LogEvidence, rate: float, images: int, line: float) -> float:
    """The chance that evidence reaches `line` at any of the first `images`, each a success at `rate`.

    Walks through all pairs of counts; paths that have crossed are taken out.
    """
    alive = np.ones(1)
    crossed = 0.0
    for told in range(1, images + 1):
        grown = np.zeros(told + 1)
        grown[1:] += rate * alive
        grown[:-1] += (1 - rate) * alive
        successes = np.arange(told + 1)
        over = log_evidence(successes, told - successes) >= line
        crossed += float(grown[over].sum())
        alive = np.where(over, 0.0, grown)
    return crossed
