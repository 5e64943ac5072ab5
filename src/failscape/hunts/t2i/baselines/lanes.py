"""Lanes order the work: each walks its entities layer by layer and waits at the end of every layer.

Layer-major search is one lane with all entities; entity-major search is one lane per entity. Inside a layer
nodes come in the order of their numbers, unless an `Ordering` says which come first.

Which nodes may be opened next: a node waits until all its parents are tested and have passed.

What is known is kept as sets of value indices (bits of an integer) per entity and prefix of values, so
that candidates come from a few AND operations and half a million decided nodes need little memory.

Random search as a lane: nodes drawn uniformly over the whole space, in no other order.

A failing node has its ancestors tested next, because without them nothing could be called minimal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np

from failscape.errors import ConfigError
from failscape.hunts.t2i.baselines.ordering import Ordering
from failscape.spaces.lattice import Bits, Lattice, Node, bits_of

Prefix = tuple[int, ...]


class Frontier:
    """The verdicts so far, and the candidates that follow from them."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._roots: dict[int, bool] = {}
        self._passed: dict[tuple[int, Prefix], Bits] = {}
        self._decided: dict[tuple[int, Prefix], Bits] = {}

    def decide(self, node: Node, passed: bool) -> None:
        """A node is settled; only `passed` ones let their children be opened."""
        if not node.values:
            self._roots[node.entity] = passed
            return
        key, bit = (node.entity, node.values[:-1]), 1 << node.values[-1]
        self._decided[key] = self._decided.get(key, 0) | bit
        if passed:
            self._passed[key] = self._passed.get(key, 0) | bit

    def has_passed(self, node: Node) -> bool:
        if not node.values:
            return self._roots.get(node.entity, False)
        return bool(self._passed.get((node.entity, node.values[:-1]), 0) >> node.values[-1] & 1)

    def ancestors_passed(self, node: Node) -> bool:
        """Of every node with fewer of its values."""
        sizes = range(len(node.values) - 1, -1, -1)
        smaller = chain.from_iterable(combinations(node.values, size) for size in sizes)
        return all(self.has_passed(Node(node.entity, values)) for values in smaller)

    def undecided(self, entity: int, layer: int) -> Iterator[Node]:
        """Candidates of one layer that are not settled yet, in the order of their numbers."""
        if layer == 0:
            if entity not in self._roots:
                yield Node(entity)
            return
        for prefix, bits in self._candidates(entity, layer):
            for value in bits_of(bits & ~self._decided.get((entity, prefix), 0)):
                yield Node(entity, (*prefix, value))

    def count(self, entity: int, layer: int) -> int:
        """How many candidates a layer has, settled or not."""
        if layer == 0:
            return 1
        return sum(bits.bit_count() for _, bits in self._candidates(entity, layer))

    def _candidates(self, entity: int, layer: int) -> Iterator[tuple[Prefix, Bits]]:
        """Per passing prefix, the last values for which every other parent passed as well."""
        if not self._roots.get(entity, False):
            return
        if layer == 1:
            yield (), self._lattice.plausible[entity]
            return
        for prefix in self._passing(entity, layer - 1):
            bits = self._lattice.later[prefix[-1]]
            for place in range(len(prefix)):
                bits &= self._passed.get((entity, prefix[:place] + prefix[place + 1 :]), 0)
                if not bits:
                    break
            else:
                yield prefix, bits

    def _passing(self, entity: int, layer: int) -> Iterator[Prefix]:
        """Passing nodes of a layer as tuples of values, ascending."""
        for prefix in self._passing(entity, layer - 1) if layer > 1 else ((),):
            for value in bits_of(self._passed.get((entity, prefix), 0)):
                yield (*prefix, value)


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
