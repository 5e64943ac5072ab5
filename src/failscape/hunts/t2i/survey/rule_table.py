"""Every rule that could cover some failures, with its counts: rules are integers, nodes are places in lists.

A rule is a group of entities (one, a sub-class, a class, all), up to two values, and a layer: it means the
nodes of that layer whose entity is in the group and that have the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.spaces.lattice import Lattice, Node, bits_of

SCOPES = ("entity", "sub-class", "class", "all")
MOST_VALUES = 2

Codes = NDArray[np.int64]


class RuleCode(NamedTuple):
    """`scope` is a place in `SCOPES`, `group` one in `Table.names`."""

    scope: int
    group: int
    values: tuple[int, ...]
    layer: int


class Groups:
    """Groups of entities, numbered: entities, then sub-classes, then classes, then all."""

    def __init__(self, lattice: Lattice) -> None:
        entities = [lattice.corpus.entities[entity] for entity in lattice.entities]
        keys = [
            [("entity", one.name) for one in entities],
            [("sub-class", f"{one.upper_class}\n{one.sub_class}") for one in entities],
            [("class", one.upper_class) for one in entities],
            [("all", "") for _ in entities],
        ]
        index: dict[tuple[str, str], int] = {}
        self.of = np.array([[index.setdefault(key, len(index)) for key in row] for row in keys], np.int64)
        self.names = [name.rpartition("\n")[2] for _, name in index]
        self.scopes = [SCOPES.index(scope) for scope, _ in index]
        self.position = {entity: place for place, entity in enumerate(lattice.entities)}


@dataclass(frozen=True)
class Table:
    """`failures`, `passes` and `entities` (with a failure) per rule; the nodes behind them by place."""

    groups: Groups
    width: int
    depth: int
    codes: Codes
    failures: Codes
    passes: Codes
    entities: Codes
    _members: tuple[Codes, Codes]
    _against: tuple[Codes, Codes]

    @property
    def names(self) -> list[str]:
        return self.groups.names

    def members(self, place: int) -> Codes:
        """Places of the failing nodes that the rule covers."""
        return _slice(self._members, place)

    def against(self, place: int) -> Codes:
        """Places of the passing nodes that the rule covers."""
        return _slice(self._against, place)

    def inside(self, group: int) -> NDArray[np.bool_]:
        """[entity of the lattice]: it belongs to the group."""
        return np.asarray(self.groups.of[self.groups.scopes[group]] == group)

    def code(self, place: int) -> RuleCode:
        rest, layer = divmod(int(self.codes[place]), self.depth + 1)
        rest, second = divmod(rest, self.width + 1)
        group, first = divmod(rest, self.width + 1)
        values = tuple(value for value in (first, second) if value < self.width)
        return RuleCode(self.groups.scopes[group], group, values, layer)


class Screen:
    """Nodes that nobody chose, with their chance to fail."""

    def __init__(self, lattice: Lattice, chances: Mapping[Node, float]) -> None:
        position = {entity: place for place, entity in enumerate(lattice.entities)}
        nodes = list(chances)
        self._chances = np.array(list(chances.values()), np.float64)
        self._entities = np.array([position[node.entity] for node in nodes], np.int64)
        self._layers = np.array([len(node.values) for node in nodes], np.int64)
        self._has = np.zeros((len(nodes), len(lattice.corpus.values)), np.bool_)
        for place, node in enumerate(nodes):
            self._has[place, list(node.values)] = True

    def chances(self, code: RuleCode, inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The chances of those nodes that a rule speaks of."""
        meant = (self._layers == code.layer) & inside[self._entities]
        meant &= self._has[:, list(code.values)].all(axis=1)
        return np.asarray(self._chances[meant])


def fill_up(
    lattice: Lattice, entity: int, values: tuple[int, ...], layer: int, rng: np.random.Generator
) -> Node | None:
    """A random node of the layer with these values; None where they leave no room for more."""
    node = Node(entity, tuple(sorted(values)))
    while len(node.values) < layer:
        more = list(bits_of(lattice.additions(node)))
        if not more:
            return None
        node = Node(entity, tuple(sorted((*node.values, more[rng.integers(len(more))]))))
    return node


def build_table(lattice: Lattice, failed: Sequence[Node], passed: Sequence[Node], least: int) -> Table:
    """All rules that cover at least `least` of the failed nodes."""
    groups = Groups(lattice)
    codes, nodes = _incidences(lattice, groups, failed)
    found, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts >= least)
    renumber = np.full(len(found), -1, np.int64)
    renumber[kept] = np.arange(len(kept))
    rules = renumber[inverse]
    rules, nodes = rules[rules >= 0], nodes[rules >= 0]
    owners = np.array([groups.position[node.entity] for node in failed], np.int64)
    pairs = np.unique(rules * max(len(lattice.entities), 1) + owners[nodes]) // max(len(lattice.entities), 1)
    other_codes, others = _incidences(lattice, groups, passed)
    places = np.searchsorted(found[kept], other_codes)
    hit = (
        (places < len(kept)) & (found[kept][np.minimum(places, len(kept) - 1)] == other_codes)
        if len(kept)
        else []
    )
    against, others = places[hit], others[hit]
    return Table(
        groups,
        len(lattice.corpus.values),
        lattice.depth,
        found[kept],
        counts[kept],
        np.bincount(against, minlength=len(kept)),
        np.bincount(pairs, minlength=len(kept)),
        _sorted_lists(rules, nodes, len(kept)),
        _sorted_lists(against, others, len(kept)),
    )


def _incidences(lattice: Lattice, groups: Groups, nodes: Sequence[Node]) -> tuple[Codes, Codes]:
    """Pairs (rule, place of a node that it covers)."""
    width, base = len(lattice.corpus.values), lattice.depth + 1
    codes, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for layer in range(lattice.depth + 1):
        here = np.array([place for place, node in enumerate(nodes) if len(node.values) == layer], np.int64)
        if not len(here):
            continue
        values = np.array([nodes[place].values for place in here], np.int64).reshape(len(here), layer)
        entities = np.array([groups.position[nodes[place].entity] for place in here], np.int64)
        for scope, chosen in _shapes(layer):
            first, second = (values[:, at] if at is not None else np.full(len(here), width) for at in chosen)
            code = (groups.of[scope, entities] * (width + 1) + first) * (width + 1) + second
            codes.append(code * base + layer)
            places.append(here)
    return np.concatenate(codes), np.concatenate(places)


def _shapes(layer: int) -> Iterable[tuple[int, tuple[int | None, int | None]]]:
    """Scope and the columns of the rule's values. Left out: single nodes, and rules about everything."""
    for size in range(min(MOST_VALUES, layer) + 1):
        for picked in combinations(range(layer), size):
            padded: list[int | None] = [*picked, *[None] * (MOST_VALUES - size)]
            for scope in range(len(SCOPES)):
                single = scope == 0 and size == layer
                everything = scope == len(SCOPES) - 1 and size == 0
                if not single and not everything:
                    yield scope, (padded[0], padded[1])


def _sorted_lists(rules: Codes, places: Codes, count: int) -> tuple[Codes, Codes]:
    """Places ordered by rule, and where each rule's begin."""
    order = np.argsort(rules, kind="stable")
    return places[order], np.searchsorted(rules[order], np.arange(count + 1))


def _slice(lists: tuple[Codes, Codes], place: int) -> Codes:
    places, starts = lists
    return places[starts[place] : starts[place + 1]]
