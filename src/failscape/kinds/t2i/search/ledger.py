"""The counts of every node that was opened, in columns, so that a whole search can be weighed at once.

A node's slot is its place in the columns.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.search.belief.nodes import NO_VALUE, Ints, Key, Nodes, with_fewer_values
from failscape.spaces.lattice import Lattice, Node


class Ledger:
    """Grows as nodes are opened. `told` and `failed` are sets of try numbers, as bits of an integer."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.width = max(lattice.depth, 1)
        self.reflection = lattice.reflection
        self.place_of = {entity: place for place, entity in enumerate(lattice.entities)}
        self.slot_of: dict[str, int] = {}
        self.slot_by_key: dict[tuple[int, ...], int] = {}
        self.keys: list[tuple[int, ...]] = []
        self.subjects: list[str] = []
        self.told: list[int] = []
        self.failed: list[int] = []
        self.flying: list[int] = []
        self.invalid: list[int] = []
        #: (passes, fails) of all images of a slot, then of its evidence: for who asks about one at a time.
        self.tallies: list[tuple[int, int, int, int]] = []
        #: Slots with an image that is evidence, told or in flight: the tests that are counted.
        self.adopted: set[int] = set()
        self._counts = np.zeros((1024, 2), dtype=np.int64)
        self._bets = np.zeros((1024, 2), dtype=np.int64)
        self._dropped = np.zeros((1024, self.width + 1), dtype=np.int32)
        self._entity = np.zeros(1024, dtype=np.int64)
        self._values = np.full((1024, self.width), NO_VALUE, dtype=np.int64)
        size, values = len(lattice.entities), len(lattice.corpus.values)
        #: What images of larger nodes show of an entity, and of an entity with one value: held, looked at.
        self.seen = (np.zeros((size, 2), dtype=np.int32), np.zeros((size, values, 2), dtype=np.int32))
        #: [entity, (held, asked)] and [entity, value, (held, asked)]: what the judge said of single words.
        self.entity_checks = np.zeros((size, 2), dtype=np.int32)
        self.value_checks = np.zeros((size, values, 2), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def passes(self) -> Ints:
        return self._counts[: len(self), 0]

    @property
    def fails(self) -> Ints:
        return self._counts[: len(self), 1]

    @property
    def bets(self) -> Ints:
        """[slot, (passes, fails)] of the images that count as evidence; scouts do not."""
        return self._bets[: len(self)]

    @property
    def dropped(self) -> NDArray[np.int32]:
        """[slot, check]: in how many failed images a check did not hold; the entity's comes first."""
        return self._dropped[: len(self)]

    @property
    def nodes(self) -> Nodes:
        return Nodes(self._entity[: len(self)], self._values[: len(self)])

    @property
    def layers(self) -> Ints:
        return np.asarray((self._values[: len(self)] != NO_VALUE).sum(axis=1))

    def node(self, slot: int) -> Node:
        values = self._values[slot]
        entity = self.lattice.entities[int(self._entity[slot])]
        return Node(entity, tuple(int(value) for value in values if value != NO_VALUE))

    def ancestors_of(self, key: Key) -> list[Key]:
        """All nodes that a node rests on: those with fewer values, the entity first; then, where it has two
        things, the second alone with what is said of it."""
        found = with_fewer_values(key)
        alone = None if self.reflection is None else self.reflection.of(key)
        return found if alone is None else [*found, *with_fewer_values(alone), alone]

    def open(self, subject: str, node: Node) -> int:
        """The slot of a node, a new one if it has none."""
        slot = self.slot_of.get(subject)
        if slot is not None:
            return slot
        slot = len(self.subjects)
        if slot == len(self._entity):
            self._grow()
        self.slot_of[subject] = slot
        self.subjects.append(subject)
        key = (self.place_of[node.entity], *node.values)
        self.keys.append(key)
        self.slot_by_key[key] = slot
        for column in (self.told, self.failed, self.flying, self.invalid):
            column.append(0)
        self.tallies.append((0, 0, 0, 0))
        self._entity[slot] = self.place_of[node.entity]
        self._values[slot, : len(node.values)] = node.values
        return slot

    def _grow(self) -> None:
        def twice(column: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.concatenate([column, np.zeros_like(column)])

        self._counts, self._bets, self._entity = twice(self._counts), twice(self._bets), twice(self._entity)
        self._dropped = np.concatenate([self._dropped, np.zeros_like(self._dropped)])
        self._values = np.concatenate([self._values, np.full_like(self._values, NO_VALUE)])

    def count(self, slot: int, number: int, passed: bool, bet: bool, dropped: Sequence[int] = ()) -> None:
        """Add one valid image; `dropped` are the places of the checks that did not hold."""
        self.told[slot] |= 1 << number
        if bet:
            self._bets[slot, 0 if passed else 1] += 1
        passes, fails, bets_passed, bets_failed = self.tallies[slot]
        self.tallies[slot] = (
            passes + passed,
            fails + (not passed),
            bets_passed + (bet and passed),
            bets_failed + (bet and not passed),
        )
        self._see(self.keys[slot], dropped)
        if passed:
            self._counts[slot, 0] += 1
            return
        self._counts[slot, 1] += 1
        self.failed[slot] |= 1 << number
        for check in dropped:
            self._dropped[slot, check] += 1

    def _see(self, key: tuple[int, ...], dropped: Sequence[int]) -> None:
        """Note for the smaller nodes inside this one whether their checks held in its image."""
        held = 0 not in dropped
        self.entity_checks[key[0]] += (held, 1)
        for place, value in enumerate(key[1:], 1):
            self.value_checks[key[0], value] += (place not in dropped, 1)
        if len(key) == 1:
            return
        entity, singles = self.seen
        entity[key[0]] += (held, 1)
        if len(key) > 2:
            for place, value in enumerate(key[1:], 1):
                singles[key[0], value] += (held and place not in dropped, 1)

    def images(self, slot: int) -> int:
        """All valid ones."""
        return self.tallies[slot][0] + self.tallies[slot][1]

    def unjudgeable(self, slot: int) -> bool:
        """Has it had many images, of which hardly any could be judged?"""
        invalid, valid = self.invalid[slot], self.images(slot)
        return invalid >= tuning.MOST_INVALID and invalid > 2 * valid

    def next_try(self, slot: int) -> int:
        """The lowest number that is neither told nor in flight."""
        taken = self.told[slot] | self.flying[slot]
        return (~taken & (taken + 1)).bit_length() - 1
