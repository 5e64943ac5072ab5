"""How every node stands as an ancestor: does it pass, is that settled, is it certified to fail, who waits?

Entities and entities with one value are kept densely, for all of them are asked about at every refit; larger
nodes are kept by key, and unknown ones count as likely to pass.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.search.belief.nodes import NO_VALUE, Key, Nodes, nodes_of
from failscape.spaces.pairs import Reflection

Floats = NDArray[np.float64]


class State(NamedTuple):
    """`passes`: the chance that it can be shown to pass; `price`: the images that this takes; `settled`: it
    is sure enough for most that wait; `dead`: certified to fail; `waiting`: so many certified failures wait
    for it; `doubt`: the chance that it fails, 1 where too little is known."""

    passes: float
    price: float
    settled: bool
    dead: bool
    waiting: int
    doubt: float = 1.0


_UNKNOWN = State(*tuning.UNKNOWN, False, False, 0)


#: By the number of failures that wait; more than the last say no more.
_SUSPICION = [tuning.SUSPICION**waiting for waiting in range(21)]


def suspect(passes: float, waiting: int) -> float:
    """The chance that an ancestor passes, now that so many failures wait for it: each speaks against it.

    Without this, failures pile up below one ancestor that had luck with its first images.
    """
    return 1 / (1 + (1 - passes) / max(passes, 1e-9) * _SUSPICION[min(waiting, 20)])


class Standing:
    def __init__(
        self,
        passes: tuple[Floats, Floats],
        prices: tuple[Floats, Floats],
        ancestors_of: Callable[[Key], list[Key]],
        reflection: Reflection | None = None,
    ) -> None:
        """Starts from predictions for all entities and all entities with one value."""
        self._passes = passes
        self._price = prices
        self._ancestors_of = ancestors_of
        self._reflection = reflection
        #: Nodes that were put here, or waited for; small ones also once they were asked about.
        self._known: dict[Key, State] = {}

    def get(self, key: Key) -> State:
        state = self._known.get(key)
        if state is not None:
            return state
        layer = len(key) - 1
        if layer > 1:
            return _UNKNOWN
        passes, price = float(self._passes[layer][key]), float(self._price[layer][key])
        state = self._known[key] = State(passes, price, False, False, 0)
        return state

    def put(
        self, key: Key, passes: float, price: float, settled: bool, dead: bool, doubt: float = 1.0
    ) -> None:
        self._known[key] = State(passes, price, settled, dead, self.get(key).waiting, doubt)

    def wait(self, key: Key, by: int) -> None:
        """One more (or less) certified failure waits to learn whether this node passes."""
        state = self.get(key)
        self._known[key] = state._replace(waiting=state.waiting + by)

    def weigh(self, key: Key) -> tuple[float, float, bool]:
        """For one node: the chance that all its ancestors pass, the images to settle them, is one dead?"""
        chance, cost = 1.0, 0.0
        for ancestor in self._ancestors_of(key):
            passes, price, settled, dead, waiting, _ = self.get(ancestor)
            if dead:
                return 0.0, 0.0, True
            chance *= passes if settled else suspect(passes, waiting)
            if not settled:
                cost += price / (tuning.SHARERS + waiting)
        return chance, cost, False

    def weigh_all(self, layer: int, nodes: Nodes) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """`weigh` for many nodes of one layer."""
        chance, cost = np.ones(len(nodes)), np.zeros(len(nodes))
        dead = np.zeros(len(nodes), dtype=np.bool_)
        if layer == 0:
            return chance, cost, dead
        places: list[tuple[int, tuple[NDArray[np.int64], ...]]] = [(0, (nodes.entity,))]
        if layer > 1:
            places += [(1, (nodes.entity, nodes.values[:, column])) for column in range(layer)]
        dense = [self._dense(level) for level in range(min(layer, 2))]
        for level, at in places:
            passes, prices, dead_ones = dense[level]
            chance *= passes[at]
            cost += prices[at]
            dead |= dead_ones[at]
        if self._reflection is not None:
            self._weigh_second_things(layer, nodes, chance, cost, dead, dense)
        if layer > 2:
            self._weigh_larger(layer, nodes, chance, cost, dead)
        return chance, cost, dead

    def _weigh_second_things(
        self,
        layer: int,
        nodes: Nodes,
        chance: Floats,
        cost: Floats,
        dead: NDArray[np.bool_],
        dense: Sequence[tuple[Floats, Floats, NDArray[np.bool_]]],
    ) -> None:
        """The second thing alone, and with one of its values. Larger ancestors of it wait until a node is
        opened: `weigh` knows them all."""
        assert self._reflection is not None
        second = np.full(len(nodes), NO_VALUE, dtype=np.int64)
        for column in range(layer):
            second = np.maximum(second, self._reflection.places[nodes.values[:, column]])
        for column in range(NO_VALUE, layer if layer > 1 else 0):
            if column == NO_VALUE:
                rows = np.flatnonzero(second != NO_VALUE)
                at: tuple[NDArray[np.int64], ...] = (second[rows],)
            else:
                values = self._reflection.values[nodes.values[:, column]]
                rows = np.flatnonzero((second != NO_VALUE) & (values != NO_VALUE))
                at = (second[rows], values[rows])
            passes, prices, dead_ones = dense[len(at) - 1]
            chance[rows] *= passes[at]
            cost[rows] += prices[at]
            dead[rows] |= dead_ones[at]

    def _dense(self, level: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Of all nodes with so many values: chance to pass, price that is left, dead."""
        expected = self._passes[level]
        passes = 1 / (1 + (1 - expected) / np.maximum(expected, 1e-9))  # `suspect`, where nobody waits
        prices = self._price[level] / tuning.SHARERS
        dead = np.zeros(passes.shape, dtype=np.bool_)
        keys = [key for key in self._known if len(key) == level + 1]
        if keys:
            at = tuple(np.array(keys, dtype=np.int64).T)
            passes[at], prices[at], dead[at] = self._columns(keys)
        return passes, prices, dead

    def _columns(self, keys: Sequence[Key]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Of known nodes: chance to pass, price that is left, dead."""
        states = [self._known.get(key, _UNKNOWN) for key in keys]
        passes = [one.passes if one.settled else suspect(one.passes, one.waiting) for one in states]
        prices = [0.0 if one.settled else one.price / (tuning.SHARERS + one.waiting) for one in states]
        return np.array(passes), np.array(prices), np.array([one.dead for one in states], dtype=np.bool_)

    def _weigh_larger(
        self, layer: int, nodes: Nodes, chance: Floats, cost: Floats, dead: NDArray[np.bool_]
    ) -> None:
        """Ancestors with several values: those that nobody has looked at are as such nodes are in general."""
        keys = [key for key in self._known if len(key) > 2] or [(-1,)]  # which no node is
        codes = nodes_of(keys, nodes.values.shape[1]).codes
        order = np.argsort(codes, kind="stable")
        passes, prices, dead_ones = (column[order] for column in self._columns(keys))
        codes = codes[order]
        for size in range(2, layer):
            for columns in combinations(range(layer), size):
                values = np.full_like(nodes.values, NO_VALUE)
                values[:, :size] = nodes.values[:, columns]
                wanted = Nodes(nodes.entity, values).codes
                place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
                known = codes[place] == wanted
                chance *= np.where(known, passes[place], tuning.UNKNOWN[0])
                cost += np.where(known, prices[place], tuning.UNKNOWN[1] / tuning.SHARERS)
                dead |= known & dead_ones[place]
