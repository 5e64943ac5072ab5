"""The lattice of nodes over a corpus: an entity with zero or more attribute values. Nothing is stored.

A node takes at most one value per sub-category, only values plausible for its entity, and no two values
that contradict each other. Every subset of a node's values is therefore a node too. Nodes are numbered
layer by layer, entity by entity; numbers come from per-entity prefix counts. `NodeCounts` counts nodes with a
value, a family or a set of values by arithmetic, not by walking. A node's text, its subject, can be taken
apart without a corpus: `split_subject`.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError
from failscape.spaces.corpus import FAMILIES, Corpus
from failscape.trials import Subject, SubjectValue, thing_text

if TYPE_CHECKING:
    from failscape.spaces.pairs import Reflection

#: A set of value indices, as the bits of one integer.
Bits = int


class Node(NamedTuple):
    """Indices into the corpus; `values` ascend."""

    entity: int
    values: tuple[int, ...] = ()


def bits_of(bits: Bits) -> Iterator[int]:
    """The members of a set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


class Lattice:
    """Nodes of up to `depth` values, over the chosen entities ("all", "sample" or names) and families."""

    def __init__(
        self,
        corpus: Corpus,
        entities: str | Sequence[str] = "all",
        families: Sequence[str] = FAMILIES,
        depth: int = 2,
    ) -> None:
        if depth < 0:
            raise ConfigError(f"depth must be 0 or more, but is {depth}", "set space.depth to 2")
        self.corpus = corpus
        self.depth = depth
        self.entities = _choose_entities(corpus, entities)
        self._position = {entity: position for position, entity in enumerate(self.entities)}
        chosen = np.array([value.family in families for value in corpus.values], dtype=np.bool_)
        self._allowed = corpus.allowed[list(self.entities)] & chosen
        self._later = _compatible_later(corpus)
        self.plausible: dict[int, Bits] = dict(zip(self.entities, _to_bits(self._allowed), strict=True))
        self.later: list[Bits] = _to_bits(self._later)
        self.compatible: list[Bits] = _to_bits(self._later | self._later.T)
        self._firsts: dict[int, NDArray[np.int64]] = {}
        self._ends: dict[int, list[int]] = {}

    @property
    def reflection(self) -> "Reflection | None":
        """How nodes of two things look without the first; `None` where nodes have one thing."""
        return None

    # Sizes

    def layer_size(self, layer: int) -> int:
        return self._entity_ends(layer)[-1]

    @cached_property
    def layer_sizes(self) -> tuple[int, ...]:
        return tuple(self.layer_size(layer) for layer in range(self.depth + 1))

    @cached_property
    def _layer_starts(self) -> tuple[int, ...]:
        return (0, *(int(end) for end in np.cumsum(self.layer_sizes)))

    def __len__(self) -> int:
        return self._layer_starts[-1]

    # Neighbours

    def __contains__(self, node: Node) -> bool:
        if node.entity not in self._position or len(node.values) > self.depth:
            return False
        open_bits = self.plausible[node.entity]
        for value in node.values:
            if not 0 <= value < len(self.later) or not open_bits >> value & 1:
                return False
            open_bits &= self.later[value]
        return True

    def parents(self, node: Node) -> list[Node]:
        """The nodes with one value less."""
        values = node.values
        return [Node(node.entity, values[:i] + values[i + 1 :]) for i in range(len(values))]

    def ancestors(self, node: Node) -> list[Node]:
        """All nodes that a node rests on: those with fewer of its values, the entity alone first."""
        return [
            Node(node.entity, kept)
            for size in range(len(node.values))
            for kept in combinations(node.values, size)
        ]

    def children(self, node: Node) -> list[Node]:
        """The nodes with one value more."""
        if len(node.values) >= self.depth:
            return []
        return [Node(node.entity, tuple(sorted((*node.values, v)))) for v in bits_of(self.additions(node))]

    def additions(self, node: Node) -> Bits:
        """The values that could be added to a node."""
        bits = self.plausible[node.entity]
        for value in node.values:
            bits &= self.compatible[value]
        return bits

    def nodes(self, layer: int, entities: Sequence[int] | None = None) -> Iterator[Node]:
        """All nodes of a layer in the order of their numbers."""
        for entity in self.entities if entities is None else entities:
            for values in self._extend((), self.plausible[entity], layer):
                yield Node(entity, values)

    def _extend(self, values: tuple[int, ...], bits: Bits, more: int) -> Iterator[tuple[int, ...]]:
        if more == 0:
            yield values
            return
        for value in bits_of(bits):
            yield from self._extend((*values, value), bits & self.later[value], more - 1)

    # Numbers

    def index(self, node: Node) -> int:
        """The node's number."""
        if node not in self:
            raise ConfigError(f"{node} is no node of this lattice", "check its entity, values and depth")
        layer, position = len(node.values), self._position[node.entity]
        start = self._layer_starts[layer] + (self._entity_ends(layer)[position - 1] if position else 0)
        return start + self._rank(position, node)

    def node(self, index: int) -> Node:
        """The node with this number."""
        if not 0 <= index < len(self):
            raise IndexError(f"a node's number must be in 0 … {len(self) - 1}, but is {index}")
        layer = bisect_right(self._layer_starts, index) - 1
        return self._node_in_layer(layer, index - self._layer_starts[layer])

    def sample(self, layer: int, count: int, rng: np.random.Generator) -> list[Node]:
        """`count` nodes of a layer, uniform, with replacement."""
        size = self.layer_size(layer)
        return [self._node_in_layer(layer, int(i)) for i in rng.integers(size, size=count)] if size else []

    def _node_in_layer(self, layer: int, offset: int) -> Node:
        ends = self._entity_ends(layer)
        position = bisect_right(ends, offset)
        offset -= ends[position - 1] if position else 0
        return Node(self.entities[position], self._unrank(position, layer, offset))

    def _rank(self, position: int, node: Node) -> int:
        values = node.values
        if not values:
            return 0
        first, left = values[0], len(values) - 1
        rank = int(self._first_ends(left + 1)[position, first - 1]) if first else 0
        bits = self.plausible[node.entity] & self.later[first]
        for value in values[1:]:
            left -= 1
            below = bits & ((1 << value) - 1)
            rank += below.bit_count() if left == 0 else self._count_with_first(below, bits, left)
            bits &= self.later[value]
        return rank

    def _unrank(self, position: int, layer: int, rank: int) -> tuple[int, ...]:
        if layer == 0:
            return ()
        ends = self._first_ends(layer)[position]
        first = int(np.searchsorted(ends, rank, side="right"))
        rank -= int(ends[first - 1]) if first else 0
        values, bits = [first], self.plausible[self.entities[position]] & self.later[first]
        for left in range(layer - 2, -1, -1):
            value, rank = self._find_value(bits, left, rank)
            values.append(value)
            bits &= self.later[value]
        return tuple(values)

    def _find_value(self, bits: Bits, left: int, rank: int) -> tuple[int, int]:
        """The value that holds `rank` when values of `bits` are tried in order; and the rank inside it."""
        if left == 0:
            return _nth_bit(bits, rank), 0
        for value in bits_of(bits):
            size = self._count(bits & self.later[value], left)
            if rank < size:
                return value, rank
            rank -= size
        raise AssertionError("the rank lies inside its entity")

    def _count_with_first(self, firsts: Bits, bits: Bits, more: int) -> int:
        return sum(self._count(bits & self.later[first], more) for first in bits_of(firsts))

    def _count(self, bits: Bits, size: int) -> int:
        """How many sets of `size` values can be chosen from `bits`."""
        if size == 0:
            return 1
        if size == 1:
            return bits.bit_count()
        return self._count_with_first(bits, bits, size - 1)

    def _first_ends(self, layer: int) -> NDArray[np.int64]:
        """[entity, v]: how many nodes of this layer have a smallest value ≤ v."""
        if layer not in self._firsts:
            counts = _count_by_first(self._allowed, self._later, layer)
            self._firsts[layer] = np.cumsum(counts, axis=1, dtype=np.int64)
        return self._firsts[layer]

    def _entity_ends(self, layer: int) -> list[int]:
        if layer not in self._ends:
            bare = layer == 0 or not self.corpus.values
            sizes = [int(layer == 0)] * len(self.entities) if bare else self._first_ends(layer)[:, -1]
            self._ends[layer] = np.cumsum(sizes).tolist()
        return self._ends[layer]

    # Names

    def subject(self, node: Node) -> str:
        """The node's canonical text: `cat; Base: Colour=red; Background: Place=beach`."""
        values = self.corpus.values
        labels = [values[index].label for index in node.values]
        return thing_text(self.corpus.entities[node.entity].name, labels)

    def parse(self, subject: str) -> Node:
        """The node of a canonical text."""
        parsed = Subject.parse(subject)
        entity = self.corpus.entity_index.get(parsed.name)
        values = [self.corpus.value_index.get(label, -1) for label in parsed.labels]
        if entity is not None and -1 not in values:
            node = Node(entity, tuple(values))
            if node in self:
                return node
        raise ConfigError(
            f"{subject!r} is no node of this space (corpus {self.corpus.name!r}, depth {self.depth})",
            "use the corpus, entities, families and depth that it was recorded with",
        )


def _choose_entities(corpus: Corpus, entities: str | Sequence[str]) -> tuple[int, ...]:
    if entities == "all":
        return tuple(range(len(corpus.entities)))
    if entities == "sample":
        return corpus.sample
    names = (entities,) if isinstance(entities, str) else tuple(entities)
    if not names:
        raise ConfigError("no entity is chosen", "set space.entities to all, sample or a list of names")
    return tuple(sorted({corpus.find_entity(name) for name in names}))


def _compatible_later(corpus: Corpus) -> NDArray[np.bool_]:
    """[v, w]: w > v, of another sub-category, and not in conflict with v."""
    kinds: dict[str, int] = {}
    groups = np.array([kinds.setdefault(value.kind, len(kinds)) for value in corpus.values], dtype=np.int64)
    different: NDArray[np.bool_] = groups[:, None] != groups[None, :]
    return np.triu(different & ~corpus.conflicts, k=1)


def _count_by_first(allowed: NDArray[np.bool_], later: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """[row, v]: how many sets of `size` values have v as their smallest, per row of allowed values."""
    if size == 1:
        return allowed.astype(np.int64)
    if size == 2:
        # One matrix product counts all pairs; float32 is exact below 2**24 values.
        later_counts = allowed.astype(np.float32) @ later.T.astype(np.float32)
        return np.rint(later_counts).astype(np.int64) * allowed
    counts = np.zeros(allowed.shape, dtype=np.int64)
    for first in range(allowed.shape[1]):
        rows, columns = np.flatnonzero(allowed[:, first]), np.flatnonzero(later[first])
        if len(rows) and len(columns):
            rest = _count_by_first(allowed[np.ix_(rows, columns)], later[np.ix_(columns, columns)], size - 1)
            counts[rows, first] = rest.sum(axis=1)
    return counts


def _to_bits(rows: NDArray[np.bool_]) -> list[Bits]:
    packed = np.packbits(rows, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _nth_bit(bits: Bits, nth: int) -> int:
    """The position of the set bit that has `nth` set bits below it, by bisection."""
    low, high = 0, bits.bit_length()
    while high - low > 1:
        middle = (low + high) // 2
        if (bits & ((1 << middle) - 1)).bit_count() <= nth:
            low = middle
        else:
            high = middle
    return low


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
        has = np.all(self._rows[:, list(values)], axis=1)
        columns = np.flatnonzero(np.all(self._compatible[list(values)], axis=0))
        part = self._rows[:, columns], self._compatible[np.ix_(columns, columns)]
        return np.asarray(_sets(*part, layer - len(values)) * has)[self._row_of]

    def _count_with_value(self, layer: int) -> Counts:
        counts = np.zeros(self._rows.shape, np.int64)
        if layer in (1, 2):
            return _count_by_first(self._rows, self._compatible, layer)
        for value in range(self._rows.shape[1] if layer else 0):
            rows = np.flatnonzero(self._rows[:, value])
            columns = np.flatnonzero(self._compatible[value])
            part = self._rows[np.ix_(rows, columns)], self._compatible[np.ix_(columns, columns)]
            counts[rows, value] = _sets(*part, layer - 1)
        return counts


def _sets(rows: Mask, compatible: Mask, size: int) -> Counts:
    """[row]: how many sets of `size` pairwise compatible values can be chosen from each row."""
    if size == 0:
        return np.ones(len(rows), np.int64)
    return np.asarray(_count_by_first(rows, np.triu(compatible, k=1), size).sum(axis=1))


def _to_mask(sets: Sequence[Bits], width: int) -> Mask:
    size = (width + 7) // 8
    packed = np.frombuffer(b"".join(bits.to_bytes(size, "little") for bits in sets), np.uint8)
    return np.unpackbits(packed.reshape(len(sets), size), axis=1, count=width, bitorder="little").astype(
        np.bool_
    )


#: A kind such as `Base: Colour`, and a value.
Pair = tuple[str, str]


def split_subject(subject: str) -> tuple[str, list[Pair]]:
    """The entity, and its values in the subject's order."""
    parsed = Subject.parse(subject)
    return parsed.name, [(value.kind, value.value) for value in parsed.values]


def join_subject(entity: str, pairs: list[Pair]) -> str:
    return Subject(entity, tuple(SubjectValue(*pair) for pair in pairs)).text


def parents_of(subject: str) -> list[str]:
    """The subjects with one value less."""
    return [parent.text for parent in Subject.parse(subject).parents()]


def ancestors_of(subject: str) -> Iterator[str]:
    """The subjects with fewer values, each once, the entity alone last."""
    return (ancestor.text for ancestor in Subject.parse(subject).ancestors())
