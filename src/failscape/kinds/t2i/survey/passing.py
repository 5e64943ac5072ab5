"""A space that passes: how often its requests fail at the most, by images that the search did not choose.

Nodes of the panel are uniform in each layer, so their mean bounds that of the layer. Entities are bounded one
by one, by all of their images: these bounds hold however often and why one looked. Single values and pairs
have too few images each, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Collection

from failscape.kinds.t2i.survey.judge_view import NodeTally, tried
from failscape.kinds.t2i.survey.survey import PassingSpace
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.intervals import anytime_interval, mean_interval

#: One half for the requests, one for the entities: both hold together with 95 %.
_DOUBT = 0.05 / 2


def passing_space(
    lattice: Lattice, panel: NodeTally, search: NodeTally, threshold: float
) -> PassingSpace | None:
    """None where it would say little: where random requests may fail more often than the threshold allows,
    or entities were never tried, as in one shard of a space.

    Args:
        panel: images of nodes drawn at random in each layer before the search.
        search: images of all nodes that the search opened.
    """
    requests = _requests(lattice, panel)
    worst = _worst_entity(lattice.entities, search)
    if worst is None or requests > 1 - threshold:
        return None
    return PassingSpace(
        nodes=len(lattice),
        images=sum(counts.images for counts in tried(panel).values()),
        requests_at_most=requests,
        # Each failing node has more than 1 − threshold of its requests failing (Markov).
        nodes_at_most=min(1.0, requests / (1 - threshold)),
        entities=len(lattice.entities),
        entity_at_most=worst,
    )


def _requests(lattice: Lattice, panel: NodeTally) -> float:
    """The share of requests that fail at the most. A layer without panel nodes may fail altogether.

    Layers share the doubt by their size, for what matters is the sum.
    """
    counts = tried(panel)
    most = 0.0
    for layer, size in enumerate(lattice.layer_sizes):
        share = size / len(lattice)
        rates = [one.fails / one.images for node, one in counts.items() if len(node.values) == layer]
        # The interval has two ends with half of the doubt each; only the upper one is used.
        upper = mean_interval(rates, 0.0, 1.0, 1 - 2 * _DOUBT * share)[1][1] if rates and share else 1.0
        most += share * upper
    return float(most)


def _worst_entity(entities: Collection[int], search: NodeTally) -> float | None:
    """The largest upper bound of all entities; None where one was not tried."""
    known = tried(search)
    level = 1 - _DOUBT / max(len(entities), 1)
    worst = 0.0
    for entity in entities:
        counts = known.get(Node(entity))
        if counts is None:
            return None
        worst = max(worst, float(anytime_interval(counts.fails, counts.images, level)[1]))
    return worst
