"""How much of what an earlier hunt saw holds for another model, learned from its own trials. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 12
_SPREAD = 0.6
"""Nodes differ by themselves: many images of one count as few of many, as `stats.effects` begins."""

_STIFFNESS = 6.0
"""How much the expected share weighs against the trials: about as much as a dozen nodes with three images
each, whose old rates differ as those of planted worlds do."""


def learn_share(beyond: Floats, offset: Floats, passes: Floats, trials: Floats, expected: float) -> float:
    """The share of `beyond` that, on top of `offset`, explains the trials best: 0 to 1.

    A penalised logistic regression with an intercept: a model that is better or worse all over is no reason
    to distrust what the old one says of which nodes are worse than others.
    """
    level, share = 0.0, expected
    for _ in range(_ROUNDS):
        eta = offset + level + share * beyond
        # A quadratic that the likelihood never falls below (Jaakkola and Jordan): no step overshoots.
        curve = np.where(np.abs(eta) < 1e-4, 0.25, np.tanh(eta / 2) / (2 * np.where(eta == 0, 1.0, eta)))
        weight = trials * curve / (1 + trials * curve * _SPREAD)
        wanted = (passes / np.maximum(trials, 1) - 0.5) / curve - offset
        rows = np.stack([np.ones_like(beyond), beyond])
        matrix = (rows * weight) @ rows.T + np.diag([1e-3, _STIFFNESS])
        level, share = np.linalg.solve(matrix, (rows * weight) @ wanted + [0.0, _STIFFNESS * expected])
        share = min(max(float(share), 0.0), 1.0)
    return float(share)
