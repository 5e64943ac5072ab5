"""Nodes that could be opened next: all of a small layer, a fresh random share of a large one.

Sampling is vectorised and uniform over the layer; the lattice itself is never enumerated when it is large.
"""

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.search import tuning
from failscape.search.belief.nodes import NO_VALUE, Codes, Nodes, stack
from failscape.spaces.lattice import Lattice


class _Pool:
    """Nodes, each to be given once however often it is there, and where each is by its code."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._codes, self._first = np.unique(nodes.codes, return_index=True)

    def without(self, taken: Codes) -> Nodes:
        """Those whose codes are not among these, in their order."""
        at = np.searchsorted(self._codes, taken)
        inside = at < len(self._codes)
        at = at[inside]
        free = np.zeros(len(self._nodes), dtype=np.bool_)
        free[self._first] = True
        free[self._first[at[self._codes[at] == taken[inside]]]] = False
        return self._nodes[free]


class Candidates:
    """Candidates of the layers above 0, for some places among the lattice's entities."""

    def __init__(self, lattice: Lattice, places: NDArray[np.int64], seed: int) -> None:
        self._lattice = lattice
        self.places = places
        self._seed = seed
        corpus = lattice.corpus
        count = len(corpus.values)
        rows = [lattice.plausible[lattice.entities[place]] for place in places.tolist()]
        self.allowed = np.array([_bits_to_row(bits, count) for bits in rows], dtype=np.bool_).reshape(
            len(rows), count
        )
        self._together = np.array([_bits_to_row(bits, count) for bits in lattice.compatible], dtype=np.bool_)
        self._together = self._together.reshape(count, count)
        self._numbers = self.allowed.sum(axis=1)
        self._listed = np.argsort(~self.allowed, axis=1, kind="stable")
        self._small = [self._is_small(layer) for layer in range(lattice.depth + 1)]
        self._kept: dict[int, _Pool] = {}

    def of_layer(self, layer: int, refit: int, taken: Codes) -> Nodes:
        """Nodes of one layer, but for those with codes that are taken (ascending). Of a large one half are
        the same at every refit, half are new."""
        small = self._small[layer]
        if layer not in self._kept:
            self._kept[layer] = self._enumerate(layer) if small else self._sample(layer, 0)
        kept = self._kept[layer].without(taken)
        return kept if small else stack([kept, self._sample(layer, refit + 1).without(taken)])

    @property
    def size(self) -> int:
        """About how many candidates there are at a refit."""
        return int(self.allowed.sum()) + tuning.SAMPLED * self._small.count(False)

    def _is_small(self, layer: int) -> bool:
        if layer <= 1:
            return True
        most = np.array([_choose(int(number), layer) for number in self._numbers], dtype=np.float64)
        return bool(most.sum() <= tuning.MOST_ENUMERATED)

    def _enumerate(self, layer: int) -> _Pool:
        if layer == 0:
            return _Pool(self._pad(self.places, np.zeros((len(self.places), 0), dtype=np.int64)))
        rows, columns = np.nonzero(self.allowed)
        entities, values = rows, columns[:, None]
        for _ in range(layer - 1):
            grown_entities, grown_values = (
                [entities[:0]],
                [np.zeros((0, values.shape[1] + 1), dtype=np.int64)],
            )
            fits = self.allowed[entities]
            for column in range(values.shape[1]):
                fits = fits & self._together[values[:, column]]
            fits &= np.arange(self.allowed.shape[1])[None, :] > values[:, -1:]
            at, value = np.nonzero(fits)
            grown_entities.append(entities[at])
            grown_values.append(np.concatenate([values[at], value[:, None]], axis=1))
            entities, values = np.concatenate(grown_entities), np.concatenate(grown_values)
        return _Pool(self._pad(self.places[entities], values))

    def _sample(self, layer: int, refit: int) -> _Pool:
        """Uniform over the layer: entities by their number of tuples, then tuples, invalid ones dropped."""
        count = tuning.SAMPLED // 2
        rng = np.random.default_rng([self._seed, 101, layer, refit])
        weights = self._numbers.astype(np.float64) ** layer
        if weights.sum() == 0:
            return _Pool(self._pad(self.places[:0], np.zeros((0, layer), dtype=np.int64)))
        entities = rng.choice(len(self.places), count, p=weights / weights.sum())
        draws = (rng.random((count, layer)) * self._numbers[entities][:, None]).astype(np.int64)
        values = np.sort(self._listed[entities[:, None], draws], axis=1)
        fits = np.ones(count, dtype=np.bool_)
        for first in range(layer):
            for second in range(first + 1, layer):
                fits &= self._together[values[:, first], values[:, second]]
        return _Pool(self._pad(self.places[entities[fits]], values[fits]))

    def _pad(self, places: NDArray[np.int64], values: NDArray[np.int64]) -> Nodes:
        width = max(self._lattice.depth, 1)
        padded = np.full((len(places), width), NO_VALUE, dtype=np.int64)
        padded[:, : values.shape[1]] = values
        return Nodes(places.astype(np.int64), padded)


def _bits_to_row(bits: int, count: int) -> NDArray[np.bool_]:
    data = np.frombuffer(bits.to_bytes(max(1, (count + 7) // 8), "little"), dtype=np.uint8)
    return np.unpackbits(data, bitorder="little")[:count].astype(np.bool_)


def _choose(number: int, size: int) -> float:
    total = 1.0
    for step in range(size):
        total *= max(number - step, 0) / (step + 1)
    return total
