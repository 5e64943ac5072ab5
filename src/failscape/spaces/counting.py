"""How many nodes of a lattice have a value, a family or a set of values: by arithmetic, not by walking.

Rows are the lattice's entities in their order. Entities that allow the same values are counted once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.spaces.lattice import Bits, Lattice

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


class NodeCounts:
    """Counts of one lattice, each made when it is first asked for."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        width = len(lattice.corpus.values)
        rows = _to_mask([lattice.plausible[entity] for entity in lattice.entities], width)
        self._compatible = _to_mask(lattice.compatible, width)
        self._rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        self._row_of = np.asarray(inverse).ravel()
        self._with_value: dict[int, Counts] = {}

    def per_entity(self, layer: int) -> Counts:
        """[entity]: nodes of the layer."""
        return _sets(self._rows, self._compatible, layer)[self._row_of]

    def with_value(self, layer: int) -> Counts:
        """[entity, value]: nodes of the layer that have the value."""
        if layer not in self._with_value:
            self._with_value[layer] = self._count_with_value(layer)
        return self._with_value[layer][self._row_of]

    def without(self, values: Collection[int], layer: int) -> Counts:
        """[entity]: nodes of the layer that have none of the values."""
        rows = self._rows.copy()
        rows[:, list(values)] = False
        return _sets(rows, self._compatible, layer)[self._row_of]

    def with_all(self, values: Sequence[int], layer: int) -> Counts:
        """[entity]: nodes of the layer that have all of the values, which must be compatible."""
        if len(values) > layer:
            return np.zeros(len(self._row_of), np.int64)
        if len(values) == 1:
            return self.with_value(layer)[:, values[0]]
        beside = (
            np.all(self._compatible[list(values)], axis=0) if values else np.ones(self._rows.shape[1], bool)
        )
        has = np.all(self._rows[:, list(values)], axis=1)
        columns = np.flatnonzero(beside)
        part = self._rows[:, columns], self._compatible[np.ix_(columns, columns)]
        return np.asarray(_sets(*part, layer - len(values)) * has)[self._row_of]

    def _count_with_value(self, layer: int) -> Counts:
        counts = np.zeros(self._rows.shape, np.int64)
        if layer == 0:
            return counts
        if layer == 1:
            return self._rows.astype(np.int64)
        if layer == 2:
            partners = self._rows.astype(np.float64) @ self._compatible.astype(np.float64)
            return np.asarray(np.rint(partners), np.int64) * self._rows
        for value in range(self._rows.shape[1]):
            rows = np.flatnonzero(self._rows[:, value])
            columns = np.flatnonzero(self._compatible[value])
            part = self._rows[np.ix_(rows, columns)], self._compatible[np.ix_(columns, columns)]
            counts[rows, value] = _sets(*part, layer - 1)
        return counts


def _sets(rows: Mask, compatible: Mask, size: int) -> Counts:
    """[row]: how many sets of `size` pairwise compatible values can be chosen from each row."""
    if size == 0:
        return np.ones(len(rows), np.int64)
    if size == 1:
        return np.asarray(rows.sum(axis=1), np.int64)
    if size == 2:
        allowed = rows.astype(np.float64)
        pairs = ((allowed @ compatible.astype(np.float64)) * allowed).sum(axis=1) / 2
        return np.asarray(np.rint(pairs), np.int64)
    total = np.zeros(len(rows), np.int64)
    for first in range(rows.shape[1]):
        chosen, later = (
            np.flatnonzero(rows[:, first]),
            np.flatnonzero(compatible[first, first + 1 :]) + first + 1,
        )
        if len(chosen) and len(later):
            part = rows[np.ix_(chosen, later)], compatible[np.ix_(later, later)]
            total[chosen] += _sets(*part, size - 1)
    return total


def _to_mask(sets: Sequence[Bits], width: int) -> Mask:
    size = (width + 7) // 8
    packed = np.array([np.frombuffer(bits.to_bytes(size, "little"), np.uint8) for bits in sets])
    return np.unpackbits(packed.reshape(len(sets), size), axis=1, count=width, bitorder="little").astype(
        np.bool_
    )
