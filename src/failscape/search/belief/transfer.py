"""How much of what an earlier hunt saw holds for another model, learned from its own trials. Pure."""

import contextlib
from collections import deque
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError
from failscape.spaces.earlier import Earlier
from failscape.spaces.lattice import Lattice, Node

Floats = NDArray[np.float64]

_ROUNDS = 12
#: Nodes differ by themselves: many images of one count as few of many, as `stats.effects` begins.
_SPREAD = 0.6

#: How much the expected share weighs against the trials: about as much as a dozen nodes with three images
#: each, whose old rates differ as those of planted worlds do.
_STIFFNESS = 6.0


#: So many nodes are tried before any choice goes by the old hunt, and at most this share of the budget. Half
#: are old findings, half never failed there: nodes that differ in what it says of them tell how much of it
#: holds, even where they mislead.
FIRST, FIRST_SHARE = 24, 0.05


def to_try_first(
    lattice: Lattice, earlier: Earlier, entities: Collection[int], images: int | None
) -> deque[Node]:
    """Old findings and, in turn with them, as many nodes of their layers that never failed in that hunt."""
    number = FIRST if images is None else min(FIRST, int(FIRST_SHARE * images))
    found = _nodes(lattice, earlier.findings, entities)
    layers = {len(node.values) for node in found}
    surest = sorted(
        (subject for subject, (_, fails) in earlier.counts.items() if not fails),
        key=lambda subject: (-earlier.counts[subject][0], subject),
    )
    passed = [node for node in _nodes(lattice, surest, entities) if len(node.values) in layers]
    pairs = zip(_spread(found, number // 2), _spread(passed[: 4 * number], number // 2), strict=False)
    return deque(node for pair in pairs for node in pair)


def _nodes(lattice: Lattice, subjects: Iterable[str], entities: Collection[int]) -> list[Node]:
    """Those above entities that are in this space: entities are tried first anyway."""
    found = []
    for subject in subjects:
        with contextlib.suppress(ConfigError):
            node = lattice.parse(subject)
            if node.values and node.entity in entities:
                found.append(node)
    return found


def _spread(nodes: Sequence[Node], number: int) -> list[Node]:
    """So many of them, from the first to the last."""
    step = max(len(nodes) / max(number, 1), 1.0)
    return [nodes[int(at * step)] for at in range(min(number, len(nodes)))]


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
