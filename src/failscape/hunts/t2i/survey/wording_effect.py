"""Does a failure belong to the concept or to the words? Compares wordings of the same nodes.

Nodes differ in how hard they are, so wordings are compared within nodes only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from failscape.hunts.t2i.survey.judge_view import TriedCounts
from failscape.hunts.t2i.survey.survey import Share, WordingEffect
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.intervals import clopper_pearson
from failscape.stats.nuisance import same_in_all

LEVEL = 0.05
MOST_NAMED = 20

Variants = Mapping[Node, Sequence[TriedCounts]]
"""Per node the counts of each wording variant, in the order of `Wording.caption`'s `variant`."""


def wording_effect(lattice: Lattice, variants: Variants, threshold: float) -> WordingEffect | None:
    """Over the nodes that were tried in several wordings; None when there is none."""
    nodes = [node for node in sorted(variants) if sum(sum(one) > 0 for one in variants[node]) > 1]
    if not nodes:
        return None
    width = max(len(variants[node]) for node in nodes)
    passes = np.array([_row(variants[node], 0, width) for node in nodes])
    trials = passes + np.array([_row(variants[node], 1, width) for node in nodes])
    shares = tuple(
        Share(hits, of, _interval(hits, of))
        for hits, of in zip(passes.sum(axis=0).tolist(), trials.sum(axis=0).tolist(), strict=True)
    )
    p_value = same_in_all(list(passes), list(trials))
    worst = [lattice.subject(nodes[place]) for place in _due_to_one(passes, trials, threshold)]
    return WordingEffect(len(nodes), shares, p_value, tuple(worst[:MOST_NAMED]))


def _row(counts: Sequence[TriedCounts], column: int, width: int) -> list[int]:
    return [one[column] for one in counts] + [0] * (width - len(counts))


def _interval(hits: int, of: int) -> tuple[float, float]:
    low, high = clopper_pearson(hits, of)
    return float(low), float(high)


def _due_to_one(passes: np.ndarray, trials: np.ndarray, threshold: float) -> list[int]:
    """Nodes that fail in one wording and pass in the others, clearest first.

    Fisher's exact test of each wording against the node's others, over all nodes and wordings at a false
    discovery rate of 5 % (Benjamini and Hochberg).
    """
    found: list[tuple[float, int, bool]] = []
    for place, (hits, of) in enumerate(zip(passes, trials, strict=True)):
        for variant in np.flatnonzero(of):
            rest, rest_of = int(hits.sum() - hits[variant]), int(of.sum() - of[variant])
            if not rest_of:
                continue
            chance = stats.hypergeom.cdf(hits[variant], of.sum(), hits.sum(), of[variant])
            apart = hits[variant] < threshold * of[variant] and rest >= threshold * rest_of
            found.append((float(chance), place, bool(apart)))
    found.sort()
    limits = [LEVEL * rank / len(found) for rank in range(1, len(found) + 1)]
    kept = max((rank for rank, limit in enumerate(limits, 1) if found[rank - 1][0] <= limit), default=0)
    return list(dict.fromkeys(place for _, place, apart in found[:kept] if apart))
