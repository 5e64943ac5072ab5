"""Lanes order the work: each walks its entities layer by layer and waits at the end of every layer.

Layer-major search is one lane with all entities; entity-major search is one lane per entity. Inside a layer
nodes come in the order of their numbers, unless an `Ordering` says which come first.
"""

from __future__ import annotations

from collections.abc import Iterator

from failscape.hunts.t2i.frontier import Frontier
from failscape.hunts.t2i.ordering import Ordering
from failscape.spaces.lattice import Node


class Lane:
    """`waiting` counts its opened nodes that are not settled; the next layer starts when it is zero."""

    def __init__(
        self, entities: tuple[int, ...], frontier: Frontier, depth: int, order: Ordering | None = None
    ) -> None:
        self.waiting = 0
        self.layer = 0
        self.finished = not entities
        self._entities = entities
        self._frontier = frontier
        self._depth = depth
        self._order = order
        self._version = 0
        self._taken: set[Node] = set()
        self._candidates = self._walk()
        self._earlier = 0
        self._size: int | None = None

    def take(self, count: int) -> list[Node]:
        """The next nodes to open, at most `count`; empty while a layer waits for its last verdicts."""
        taken: list[Node] = []
        if self._order and self._order.version != self._version:
            self._reorder(self._order)
        while len(taken) < count and not self.finished:
            node = next(self._candidates, None)
            if node is not None:
                taken.append(node)
            elif self.waiting or taken:
                break
            else:
                self._next_layer()
        if self._order:
            self._taken.update(taken)
        return taken

    def exhausted(self) -> bool:
        """Nothing is left to open, now that nothing waits. Looks without choosing what comes first."""
        while not self.finished and not self.waiting and next(self._undecided(), None) is None:
            self._next_layer()
        return self.finished

    @property
    def total(self) -> int:
        """Nodes of the layers so far and of this one: what is known to be worth testing."""
        return self._earlier + self._layer_size()

    def _layer_size(self) -> int:
        if self._size is None:
            self._size = sum(self._frontier.count(entity, self.layer) for entity in self._entities)
        return self._size

    def _next_layer(self) -> None:
        if self.layer == self._depth:
            self.finished = True
            return
        self._earlier += self._layer_size()
        self._size = None
        self.layer += 1
        self._taken.clear()
        self._candidates = self._walk()

    def _reorder(self, order: Ordering) -> None:
        """The predictor has learnt more: rank anew what is not opened yet."""
        self._version = order.version
        self._taken.intersection_update(self._undecided())
        self._candidates = self._walk()

    def _walk(self) -> Iterator[Node]:
        if self._order is None:
            return self._undecided()
        return self._order.sort(node for node in self._undecided() if node not in self._taken)

    def _undecided(self) -> Iterator[Node]:
        for entity in self._entities:
            yield from self._frontier.undecided(entity, self.layer)
