"""How every node stands as an ancestor: does it pass, is that settled, is it certified to fail, who waits?

Entities and entities with one value are kept densely, for all of them are asked about at every refit; larger
nodes are kept by key, and unknown ones count as likely to pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.hunts.belief.nodes import NO_VALUE, Nodes
from failscape.hunts.t2i.certified import tuning

Floats = NDArray[np.float64]
Key = tuple[int, ...]
"""A node as plain numbers: the place of its entity, then its values."""


class State(NamedTuple):
    """`passes`: the chance that it can be shown to pass; `price`: the images that this takes; `settled`: it
    is sure enough; `dead`: certified to fail; `waiting`: so many certified failures wait for it."""

    passes: float
    price: float
    settled: bool
    dead: bool
    waiting: int


def ancestors_of(key: Key) -> Iterator[Key]:
    """All nodes with fewer values, the entity first."""
    place, values = key[0], key[1:]
    for size in range(len(values)):
        for chosen in combinations(values, size):
            yield (place, *chosen)


def suspect(passes: Floats | float, waiting: NDArray[np.int64] | int) -> Floats:
    """The chance that an ancestor passes, now that so many failures wait for it: each speaks against it.

    Without this, failures pile up below one ancestor that had luck with its first images.
    """
    odds = (1 - np.asarray(passes)) / np.maximum(passes, 1e-9) * tuning.SUSPICION ** np.minimum(waiting, 20)
    return np.asarray(1 / (1 + odds))


def suspect_one(passes: float, waiting: int) -> float:
    """`suspect` of one ancestor: asked for at every image, where arrays are slow."""
    odds: float = (1 - passes) / max(passes, 1e-9) * tuning.SUSPICION ** min(waiting, 20)
    return 1 / (1 + odds)


class Standing:
    def __init__(self, passes: tuple[Floats, Floats], prices: tuple[Floats, Floats]) -> None:
        """Starts from predictions for all entities and all entities with one value."""
        self._passes = passes
        self._price = prices
        self._settled = tuple(np.zeros(part.shape, dtype=np.bool_) for part in self._passes)
        self._dead = tuple(np.zeros(part.shape, dtype=np.bool_) for part in self._passes)
        self._waiting = tuple(np.zeros(part.shape, dtype=np.int64) for part in self._passes)
        self._larger: dict[Key, State] = {}

    def get(self, key: Key) -> State:
        layer = len(key) - 1
        if layer > 1:
            return self._larger.get(key) or State(*tuning.UNKNOWN, False, False, 0)
        return State(
            float(self._passes[layer][key]),
            float(self._price[layer][key]),
            bool(self._settled[layer][key]),
            bool(self._dead[layer][key]),
            int(self._waiting[layer][key]),
        )

    def put(self, key: Key, passes: float, price: float, settled: bool, dead: bool) -> None:
        layer = len(key) - 1
        if layer > 1:
            self._larger[key] = State(passes, price, settled, dead, self.get(key).waiting)
            return
        self._passes[layer][key] = passes
        self._price[layer][key] = price
        self._settled[layer][key] = settled
        self._dead[layer][key] = dead

    def wait(self, key: Key, by: int) -> None:
        """One more (or less) certified failure waits to learn whether this node passes."""
        layer = len(key) - 1
        if layer > 1:
            state = self.get(key)
            self._larger[key] = state._replace(waiting=state.waiting + by)
        else:
            self._waiting[layer][key] += by

    def weigh(self, key: Key) -> tuple[float, float, bool]:
        """For one node: the chance that all its ancestors pass, the images to settle them, is one dead?"""
        chance, cost = 1.0, 0.0
        for ancestor in ancestors_of(key):
            state = self.get(ancestor)
            if state.dead:
                return 0.0, 0.0, True
            chance *= state.passes if state.settled else suspect_one(state.passes, state.waiting)
            if not state.settled:
                cost += state.price / (tuning.SHARERS + state.waiting)
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
        for level, at in places:
            settled, passes = self._settled[level][at], self._passes[level][at]
            chance *= np.where(settled, passes, suspect(passes, self._waiting[level][at]))
            dead |= self._dead[level][at]
            price = self._price[level][at] / (tuning.SHARERS + self._waiting[level][at])
            cost += np.where(self._settled[level][at], 0.0, price)
        if layer > 2:
            self._weigh_larger(layer, nodes, chance, cost, dead)
        return chance, cost, dead

    def _weigh_larger(
        self, layer: int, nodes: Nodes, chance: Floats, cost: Floats, dead: NDArray[np.bool_]
    ) -> None:
        """Ancestors with several values: those that nobody has looked at are as such nodes are in general."""
        width = nodes.values.shape[1]
        codes, passes, prices, dead_ones = self._table(width)
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

    def _table(self, width: int) -> tuple[NDArray[np.uint64], Floats, Floats, NDArray[np.bool_]]:
        """The larger nodes that are known, by code: chance to pass, price that is left, dead. Never empty."""
        keys, states = list(self._larger) or [(-1,)], list(self._larger.values())
        states = states or [State(*tuning.UNKNOWN, False, False, 0)]
        values = np.full((len(keys), width), NO_VALUE, dtype=np.int64)
        for row, key in enumerate(keys):
            values[row, : len(key) - 1] = key[1:]
        codes = Nodes(np.array([key[0] for key in keys], dtype=np.int64), values).codes
        prices = [0.0 if one.settled else one.price / (tuning.SHARERS + one.waiting) for one in states]
        passes = [one.passes if one.settled else suspect_one(one.passes, one.waiting) for one in states]
        order = np.argsort(codes, kind="stable")
        return (
            codes[order],
            np.array(passes)[order],
            np.array(prices)[order],
            np.array([one.dead for one in states], dtype=np.bool_)[order],
        )
