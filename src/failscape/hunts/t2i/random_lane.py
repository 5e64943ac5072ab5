"""Random search as a lane: nodes drawn uniformly over the whole space, in no other order.

A failing node has its ancestors tested next, because without them nothing could be called minimal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from failscape.errors import ConfigError
from failscape.spaces.lattice import Lattice, Node

LARGEST = 50_000_000
"""The order of all nodes is kept in memory, four bytes each."""


class RandomLane:
    """Has the same face as `Lane`: `take`, `exhausted`, `waiting`, `finished`, `layer`, `total`."""

    def __init__(self, lattice: Lattice, entities: tuple[int, ...], seed: int) -> None:
        self.waiting = 0
        self.layer = lattice.depth
        self.finished = not entities
        self.total = sum(lattice.layer_sizes)
        if self.total > LARGEST:
            raise ConfigError(
                f"random search takes at most {LARGEST:,} nodes, but there are {self.total:,}",
                "choose fewer entities or families, or a smaller depth",
            )
        self._lattice = lattice
        self._entities = frozenset(entities)
        self._seed = seed
        self._opened: set[Node] = set()
        self._asked_for: deque[Node] = deque()
        self._nodes = self._draw()

    def take(self, count: int) -> list[Node]:
        """The next nodes to open: ancestors of failures first. Empty when all that is left is in flight."""
        taken: list[Node] = []
        while len(taken) < count:
            node = self._asked_for.popleft() if self._asked_for else next(self._nodes, None)
            if node is None:
                break
            if node not in self._opened:
                self._opened.add(node)
                taken.append(node)
        self.finished = not taken and not self.waiting
        return taken

    def exhausted(self) -> bool:
        return self.finished

    def explain(self, node: Node) -> None:
        """The node failed: its ancestors are wanted, the smallest first."""
        for size in range(len(node.values)):
            self._asked_for += (Node(node.entity, values) for values in combinations(node.values, size))

    def _draw(self) -> Iterator[Node]:
        order = np.random.default_rng([self._seed, 11]).permutation(np.arange(self.total, dtype=np.uint32))
        for number in order:
            node = self._lattice.node(int(number))
            if node.entity in self._entities:
                yield node
