"""Which nodes may be opened next: a node waits until all its parents are tested and have passed.

What is known is kept as sets of value indices (bits of an integer) per entity and prefix of values, so
that candidates come from a few AND operations and half a million decided nodes need little memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

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
