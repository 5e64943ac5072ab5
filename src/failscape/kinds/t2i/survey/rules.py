"""Rules: a few sentences that cover most failures, such as "Bird × pink, except flamingo".

A rule is a group of entities (one, a sub-class, a class, all), up to two values, and a layer: it means the
nodes of that layer whose entity is in the group and that have the values. In the table of all that could
cover some failures rules are integers and nodes are places in lists.

The rules are a greedy cover of the failures that were found. They are chosen from what the search saw and
judged by the panel, which the search did not choose. Nothing here walks the lattice.
"""

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.survey.judge_view import Floats, JudgeView, NodeTally, columns, tried
from failscape.kinds.t2i.survey.survey import Rule, Share
from failscape.spaces.lattice import Lattice, Node, NodeCounts, bits_of
from failscape.spaces.pair_words import say_value
from failscape.stats.deconvolve import fit_mixing, share_below
from failscape.stats.stratified_mean import worth_interval
from failscape.trials import parse_label

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


#: Fewer failures are findings, not a rule.
LEAST_FAILURES = 3
#: Of the nodes of a rule whose state is known, at most this share may pass.
MOST_PASSING = 0.2
COST_OF_RULE = 2.0
COST_OF_EXCEPTION = 2.0
MOST_RULES = 200
#: The state of this share of a rule's nodes must be known, unless the screen has looked at enough of them.
LEAST_KNOWN = 0.5
LEAST_SCREENED = 7
LEAST_PREDICTED = 0.85
#: Else a model may vouch: of this many random nodes of the rule, this share must be predicted to fail.
PREDICTED_NODES = 48
#: With this many nodes on the screen, the share that fails must be above this (lower end, 90 %).
LEAST_FAILING = 0.7
MOST_NAMES = 12


#: How likely nodes are to fail, by a model that did not see the panel.
Chance = Callable[[Sequence[Node]], Floats]


@dataclass(frozen=True)
class RuleBook:
    """The rules, strongest first; `covered` of `failures` are explained by them.

    `precision` is the share of the panel's nodes that fail among those that any rule speaks about.
    """

    rules: tuple[Rule, ...]
    covered: int
    failures: int
    precision: Share | None = None


def find_rules(
    lattice: Lattice,
    failing: Collection[Node],
    passing: Collection[Node],
    screen: Mapping[Node, float] | None = None,
    chance: Chance | None = None,
    most: int = MOST_RULES,
) -> RuleBook:
    """Rules over `failing` nodes; `passing` ones speak against a rule and become its exceptions.

    The search looks where failures are likely, so what it knows makes wide rules look better than they are.
    Therefore `screen` has nodes drawn at random with their chance to fail, and `chance` is a model's.
    """
    failed, passed = sorted(failing), sorted(passing)
    table = build_table(lattice, failed, passed, LEAST_FAILURES)
    search = _Cover(lattice, table, len(failed), Screen(lattice, screen or {}), chance)
    rules: list[Rule] = []
    while len(rules) < most:
        choice = search.best()
        if choice is None:
            break
        rules.append(search.take(choice, failed, passed))
    return RuleBook(tuple(rules), int(search.covered.sum()), len(failed))


class _Cover:
    """Lazy greedy: what a rule newly covers only shrinks, so an old score is an upper bound."""

    def __init__(
        self, lattice: Lattice, table: Table, failures: int, screen: Screen, chance: Chance | None
    ) -> None:
        self._lattice = lattice
        self._screen = screen
        self._chance = chance
        self._table = table
        self._counts = NodeCounts(lattice)
        self._sizes: dict[tuple[tuple[int, ...], int], Codes] = {}
        self.covered = np.zeros(failures, np.bool_)
        known = table.failures + table.passes
        fine = np.flatnonzero(table.passes <= MOST_PASSING * known)
        self._heap = [self._entry(int(place), float(table.failures[place])) for place in fine]
        heapq.heapify(self._heap)

    def best(self) -> int | None:
        """The rule with the highest score that is backed by enough failures, or None."""
        while self._heap:
            bound, *_, place = heapq.heappop(self._heap)
            new = float((~self.covered[self._table.members(place)]).sum())
            entry = self._entry(place, new)
            if entry[0] >= 0 or new < LEAST_FAILURES:
                continue
            if entry[0] > bound:
                heapq.heappush(self._heap, entry)
            elif self._is_backed(place):
                return place
        return None

    def take(self, place: int, failed: Sequence[Node], passed: Sequence[Node]) -> Rule:
        members = self._table.members(place)
        self.covered[members] = True
        code = self._table.code(place)
        against = [passed[i] for i in self._table.against(place)]
        subject = self._lattice.subject
        rule = Rule(
            scope=SCOPES[code.scope],
            who=self._table.names[code.group],
            values=tuple(self._lattice.corpus.values[value].label for value in code.values),
            layer=code.layer,
            covers=int(self._sizes_of(code).sum()) - len(against),
            certified=len(members),
            examples=tuple(subject(failed[i]) for i in members[:MOST_NAMES]),
            exceptions=tuple(subject(node) for node in against),
        )
        return replace(rule, text=say_rule(rule))

    def _entry(self, place: int, new: float) -> tuple[float, int, int, int]:
        """Lowest first: score, then the narrower claim, so that a rule never says more than it must."""
        code = self._table.code(place)
        score = new - COST_OF_RULE - COST_OF_EXCEPTION * float(self._table.passes[place])
        return -score, code.scope, -len(code.values), place

    def _is_backed(self, place: int) -> bool:
        """Enough failures, of enough entities, and an unbiased look at the rule's nodes.

        Failures and entities: at least the square root of all that are meant. Three failures among a thousand
        nodes back nothing.
        """
        code, table = self._table.code(place), self._table
        sizes = self._sizes_of(code)
        meant, entities = int(sizes.sum()), max(1, int((sizes > 0).sum()))
        if table.failures[place] < math.sqrt(meant):
            return False
        if table.entities[place] < min(entities, max(2.0, math.sqrt(entities))):
            return False
        chances = self._screen.chances(code, table.inside(code.group))
        if len(chances) >= LEAST_SCREENED:
            return worth_interval(float(chances.mean()), len(chances), 0.8)[0] >= LEAST_FAILING
        if table.failures[place] + table.passes[place] >= LEAST_KNOWN * meant:
            return True
        return self._is_predicted(code, sizes)

    def _is_predicted(self, code: RuleCode, sizes: Codes) -> bool:
        if self._chance is None:
            return False
        entities = np.array(self._lattice.entities)[self._table.inside(code.group)]
        rng = np.random.default_rng([code.group, code.layer, *code.values])
        chosen = rng.choice(entities, PREDICTED_NODES, p=sizes / sizes.sum())
        nodes = [fill_up(self._lattice, int(entity), code.values, code.layer, rng) for entity in chosen]
        found = [node for node in nodes if node is not None]
        return bool(found) and float(np.mean(self._chance(found))) >= LEAST_PREDICTED

    def _sizes_of(self, code: RuleCode) -> Codes:
        """[entity]: nodes that the rule means, before exceptions."""
        key = code.values, code.layer
        if key not in self._sizes:
            self._sizes[key] = self._counts.with_all(code.values, code.layer)
        sizes = self._sizes[key]
        return np.asarray(sizes[self._table.inside(code.group)])


# Held-out precision


def judge_rules(
    lattice: Lattice, book: RuleBook, panel: NodeTally, judge_view: JudgeView, threshold: float
) -> RuleBook:
    """The same rules with their precision on the panel: what share of the nodes they speak about fails.

    Nodes are not counted by a threshold on their few images. The spread of true rates over all covered panel
    nodes is fitted; each rule's share is the mean chance of its nodes to fail, given that spread.
    """
    counts = tried(panel)
    covered = [[node for node in counts if speaks_of(lattice, rule, node)] for rule in book.rules]
    together = sorted({node for nodes in covered for node in nodes})
    if not together:
        return book
    passes, fails = columns(counts, together)
    rows = judge_view.rows(together)
    share, interval = share_below(passes, fails, threshold, rows)
    chances = fit_mixing(passes, fails, rows).chance_below(passes, fails, threshold, rows)
    chance = dict(zip(together, chances.tolist(), strict=True))
    rules = []
    for rule, nodes in zip(book.rules, covered, strict=True):
        hits = sum(chance[node] for node in nodes)
        one = Share(hits, len(nodes), worth_interval(hits / len(nodes), len(nodes))) if nodes else None
        rules.append(replace(rule, held_out=one))
    precision = Share(share * len(together), len(together), interval)
    return replace(book, rules=tuple(rules), precision=precision)


def speaks_of(lattice: Lattice, rule: Rule, node: Node) -> bool:
    """Whether a node is one of those that the rule means, and no exception."""
    if len(node.values) != rule.layer or not _in_scope(lattice, rule, node):
        return False
    labels = {lattice.corpus.values[value].label for value in node.values}
    return labels.issuperset(rule.values) and lattice.subject(node) not in rule.exceptions


def _in_scope(lattice: Lattice, rule: Rule, node: Node) -> bool:
    entity = lattice.corpus.entities[node.entity]
    names = {"entity": entity.name, "sub-class": entity.sub_class, "class": entity.upper_class, "all": ""}
    return names[rule.scope] == rule.who


def say_rule(rule: Rule) -> str:
    """The rule as one short line: "Bird × pink, with any 1 more value, except 2"."""
    return ", ".join(_parts(rule))


def _parts(rule: Rule) -> Iterator[str]:
    names = [say_value(parse_label(label)) for label in rule.values]
    yield " × ".join([rule.who or "anything", *names])
    more = rule.layer - len(names)
    if more:
        yield f"with any {more} {'more ' if names else ''}value{'s' if more > 1 else ''}"
    if rule.exceptions:
        yield f"except {len(rule.exceptions)}"
