"""Images that do not follow the search: a panel drawn at random beforehand, and findings tried again.

Both are plain lists of tries, each node a fixed number of times. They say what the search cannot say of
itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from failscape.hunts.t2i.survey.judge_view import TriedCounts
from failscape.spaces.lattice import Lattice, Node
from failscape.trials import Trial, Verdict

PANEL_IMAGES = 4
"""Per panel node. Fewer would do for means, but not to tell failing nodes from passing ones."""

REPLICATED_IMAGES = 8
MOST_REPLICATED = 120
"""Nodes tried again at most: findings, and the simpler nodes inside them."""


class Draws:
    """Nodes that each get `images` tries, whatever comes of them. `mark` starts the label of its keys."""

    def __init__(self, mark: str, images: int) -> None:
        self.mark = mark
        self.images = images
        self.asked = 0
        self._order: list[str] = []
        self._node: dict[str, Node] = {}
        self._told: dict[str, int] = {}
        self._flying: dict[str, int] = {}
        self._counts: dict[str, list[int]] = {}
        self._next = 0

    def add(self, subject: str, node: Node) -> None:
        """Adding a node again changes nothing."""
        if subject not in self._node:
            self._order.append(subject)
            self._node[subject] = node
            self._told[subject] = self._flying[subject] = 0
            self._counts[subject] = [0, 0]

    def __len__(self) -> int:
        return len(self._order)

    @property
    def subjects(self) -> Sequence[str]:
        return self._order

    def next_try(self) -> tuple[str, Node, int] | None:
        """The next try, taking all nodes in turn so that all are tried a little before one is tried a lot."""
        for _ in range(len(self._order)):
            subject = self._order[self._next % len(self._order)]
            self._next += 1
            taken = self._told[subject] | self._flying[subject]
            number = (~taken & (taken + 1)).bit_length() - 1
            if number < self.images:
                self._flying[subject] |= 1 << number
                self.asked += 1
                return subject, self._node[subject], number
        return None

    def tell(self, trial: Trial, number: int) -> bool:
        """Count a trial; false if it was told before."""
        bit = 1 << number
        if self._told[trial.subject] & bit:
            return False
        if self._flying[trial.subject] & bit:
            self._flying[trial.subject] &= ~bit
        else:
            self.asked += 1
        self._told[trial.subject] |= bit
        if trial.verdict in (Verdict.PASS, Verdict.FAIL):
            self._counts[trial.subject][trial.verdict is Verdict.FAIL] += 1
        return True

    @property
    def in_flight(self) -> int:
        return sum(bits.bit_count() for bits in self._flying.values())

    @property
    def complete(self) -> bool:
        return self.asked >= self.images * len(self._order)

    @property
    def counts(self) -> dict[Node, TriedCounts]:
        return {self._node[subject]: TriedCounts(*self._counts[subject]) for subject in self._order}


def draw_panel(lattice: Lattice, entities: Sequence[int], images: int, seed: int) -> Draws:
    """A panel of about `images` images: nodes uniform in each layer, more of them in larger layers.

    With shards, a node belongs to the shard of its entity, so that the panels of all shards make one panel.
    """
    panel, mine = Draws("p", PANEL_IMAGES), frozenset(entities)
    sizes = np.array([lattice.layer_size(layer) for layer in range(lattice.depth + 1)], dtype=np.float64)
    weights = np.sqrt(sizes) / max(np.sqrt(sizes).sum(), 1.0)
    wanted = images // PANEL_IMAGES * len(lattice.entities) / max(len(entities), 1)
    for layer, weight in enumerate(weights.tolist()):
        # One stream of chance per layer: a larger panel contains the smaller one.
        rng = np.random.default_rng([seed, 2001, layer])
        for node in lattice.sample(layer, round(weight * wanted), rng):
            if node.entity in mine:
                panel.add(lattice.subject(node), node)
    return panel
