"""Many nodes of a lattice as arrays, so that a whole layer can be weighed at once.

A node has a code: one number, equal wherever the node is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]

#: A node as plain numbers: the place of its entity, then its values.
Key = tuple[int, ...]

NO_VALUE = -1

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Nodes:
    """Many nodes as arrays: `entity` is the place among the lattice's entities, `values` is padded by −1."""

    __slots__ = ("entity", "values")

    def __init__(self, entity: Ints, values: Ints) -> None:
        self.entity = entity
        self.values = values

    def __len__(self) -> int:
        return len(self.entity)

    def __getitem__(self, chosen: NDArray[np.bool_] | Ints) -> Nodes:
        return Nodes(self.entity[chosen], self.values[chosen])

    @property
    def codes(self) -> Codes:
        """Numbers that are equal for equal nodes. Two of a million differ but for a chance of 10⁻⁷."""
        code = self.entity.astype(np.uint64)
        with np.errstate(over="ignore"):
            for column in range(self.values.shape[1]):
                code = (code ^ (code >> np.uint64(29))) * _MIX + (self.values[:, column] + 2).astype(
                    np.uint64
                )
        return np.asarray(code ^ (code >> np.uint64(32)))

    def keys(self) -> list[Key]:
        """Those of nodes that are all of one layer."""
        size = int((self.values[0] != NO_VALUE).sum()) if len(self) else 0
        return list(zip(self.entity.tolist(), *self.values[:, :size].T.tolist(), strict=True))

    def without(self, column: int) -> Nodes:
        """The parents that lack the value in `column`."""
        rest = np.delete(self.values, column, axis=1)
        pad = np.full((len(self), 1), NO_VALUE, dtype=np.int64)
        return Nodes(self.entity, np.concatenate([rest, pad], axis=1))


def nodes_of(keys: Sequence[Key], width: int) -> Nodes:
    values = np.full((len(keys), width), NO_VALUE, dtype=np.int64)
    for row, key in enumerate(keys):
        values[row, : len(key) - 1] = key[1:]
    return Nodes(np.array([key[0] for key in keys], dtype=np.int64), values)


def stack(parts: Sequence[Nodes]) -> Nodes:
    return Nodes(
        np.concatenate([part.entity for part in parts]), np.concatenate([part.values for part in parts])
    )


def with_fewer_values(key: Key) -> list[Key]:
    """All nodes of the same entity with some of its values, the entity alone first."""
    found = [key[:1]] if len(key) > 1 else []
    for size in range(1, len(key) - 1):
        found += [(key[0], *chosen) for chosen in combinations(key[1:], size)]
    return found
