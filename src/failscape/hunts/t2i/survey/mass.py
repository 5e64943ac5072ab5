"""Failure mass: the mean failure rate over all nodes of a group, from a panel that the search did not choose.

A model's predictions may sharpen it (difference estimator); they never bias it, however wrong they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from failscape.hunts.t2i.survey.judge_view import (
    Floats,
    JudgeView,
    NodeTally,
    PassChances,
    TriedCounts,
    tried,
)
from failscape.hunts.t2i.survey.survey import Interval, Mass
from failscape.spaces.corpus import FAMILIES, Entity
from failscape.spaces.lattice import Lattice, Node, NodeCounts
from failscape.stats.stratified_mean import Stratum, stratified_mean

Group = tuple[str, str]
Predict = Callable[[Sequence[Node]], Floats]
"""Predicted success rates. They must not have learned from the panel."""

GROUPS = ("all", "layer", "class", "sub-class", "entity", "family", "kind", "cell")
SAMPLE = 4_000
"""Nodes per layer over which predictions are averaged."""
LEAST_NODES = 2
"""Groups with fewer panel nodes are left out: their interval would say next to nothing."""


def failure_masses(
    lattice: Lattice,
    panel: NodeTally,
    *,
    judge_view: JudgeView | None = None,
    predict: Predict | None = None,
    least_nodes: int = LEAST_NODES,
    seed: int = 0,
) -> tuple[Mass, ...]:
    """One mass per group with enough panel nodes, widest groups first, then by name."""
    counts = tried(panel)
    if not counts:
        return ()
    view = _Sampled(
        lattice, counts, judge_view or JudgeView(lattice), _assist(lattice, counts, predict, seed)
    )
    sizes = group_sizes(lattice, view.members)
    found = []
    for group in sorted(sizes, key=lambda one: (GROUPS.index(one[0]), one[1])):
        if sum(map(len, view.members[group].values())) >= least_nodes:
            rate, interval = view.estimate(group, sizes[group])
            found.append(Mass(*group, int(sum(sizes[group].values())), rate, interval, view.images(group)))
    return tuple(found)


def groups_of(lattice: Lattice, node: Node) -> Iterator[Group]:
    """Every group that a node belongs to, once."""
    corpus = lattice.corpus
    entity = corpus.entities[node.entity]
    yield "layer", str(len(node.values))
    yield from _groups_of_entity(entity)
    values = [corpus.values[value] for value in node.values]
    for family in dict.fromkeys(value.family for value in values):
        yield "family", family
    for value in values:
        yield "kind", value.kind
        yield "cell", f"{entity.upper_class} × {value.kind}"


def _groups_of_entity(entity: Entity) -> Iterator[Group]:
    yield "all", ""
    yield "class", entity.upper_class
    yield "sub-class", entity.sub_class
    yield "entity", entity.name


Members = dict[Group, dict[int, list[int]]]


def members_of(lattice: Lattice, nodes: Sequence[Node]) -> Members:
    """Group → layer → places of its nodes in `nodes`."""
    found: Members = {}
    for place, node in enumerate(nodes):
        for group in groups_of(lattice, node):
            found.setdefault(group, {}).setdefault(len(node.values), []).append(place)
    return found


def group_sizes(lattice: Lattice, groups: Iterable[Group]) -> dict[Group, dict[int, int]]:
    """Group → layer → how many nodes of the lattice belong to it. Exact."""
    counts, found = NodeCounts(lattice), {group: dict[int, int]() for group in groups}
    for layer in range(lattice.depth + 1):
        for group, size in _layer_sizes(lattice, counts, layer).items():
            if size and group in found:
                found[group][layer] = size
    return found


def _layer_sizes(lattice: Lattice, counts: NodeCounts, layer: int) -> Counter[Group]:
    corpus, sizes = lattice.corpus, Counter[Group]()
    per_entity, with_value = counts.per_entity(layer), counts.with_value(layer)
    per_kind = {kind: with_value[:, list(group)].sum(axis=1) for kind, group in corpus.sub_categories.items()}
    sizes["layer", str(layer)] = int(per_entity.sum())
    for place, number in enumerate(lattice.entities):
        entity = corpus.entities[number]
        for group in _groups_of_entity(entity):
            sizes[group] += int(per_entity[place])
        for kind, per_place in per_kind.items():
            sizes["kind", kind] += int(per_place[place])
            sizes["cell", f"{entity.upper_class} × {kind}"] += int(per_place[place])
    for family in FAMILIES:
        without = [place for place, value in enumerate(corpus.values) if value.family == family]
        sizes["family", family] = int((per_entity - counts.without(without, layer)).sum())
    return sizes


@dataclass(frozen=True)
class Assist:
    """Predicted failure: of the panel's nodes, and its mean and variance of the mean per group and layer."""

    panel: Floats
    means: Mapping[tuple[Group, int], tuple[float, float]]


def _assist(
    lattice: Lattice, counts: Mapping[Node, TriedCounts], predict: Predict | None, seed: int
) -> Assist | None:
    """None when predictions are not given, or explain nothing of what the panel saw."""
    if predict is None:
        return None
    nodes = list(counts)
    panel = 1 - np.clip(np.asarray(predict(nodes), np.float64), 0.0, 1.0)
    seen = np.array([one.fails / one.images for one in counts.values()])
    if np.var(seen - panel) >= np.var(seen):
        return None
    rng, means = np.random.default_rng(seed), dict[tuple[Group, int], tuple[float, float]]()
    for layer, size in enumerate(lattice.layer_sizes):
        if not size:
            continue
        whole = size <= SAMPLE
        sample = list(lattice.nodes(layer)) if whole else lattice.sample(layer, SAMPLE, rng)
        predicted = 1 - np.clip(np.asarray(predict(sample), np.float64), 0.0, 1.0)
        for group, places in members_of(lattice, sample).items():
            part = predicted[places[layer]]
            spread = 0.0 if whole else float(np.var(part)) / len(part)
            means[group, layer] = float(part.mean()), spread
    return Assist(panel, means)


class _Sampled:
    """The panel as arrays, and estimates for groups of its nodes."""

    def __init__(
        self,
        lattice: Lattice,
        counts: Mapping[Node, TriedCounts],
        judge_view: JudgeView,
        assist: Assist | None,
    ) -> None:
        nodes = list(counts)
        self.members = members_of(lattice, nodes)
        self._assist = assist
        self._images = np.array([one.images for one in counts.values()])
        bounds = [judge_view.bounds(node) for node in nodes]
        self._measured = _failures(counts, [one.measured for one in bounds])
        # The two ends of what the judge's measured accuracy leaves open; all three are one when it is exact.
        self._ends = tuple(
            _failures(counts, [getattr(one, end) for one in bounds]) for end in ("fewest", "most")
        )
        self._exact = all(np.array_equal(self._measured, end) for end in self._ends)

    def images(self, group: Group) -> int:
        return int(sum(self._images[places].sum() for places in self.members[group].values()))

    def estimate(self, group: Group, sizes: Mapping[int, int]) -> tuple[float, Interval]:
        most = float(self.images(group)) if self._assist is None else np.inf
        if self._exact:
            return stratified_mean(self._strata(group, sizes, self._measured), most)
        level = 1 - 0.05 / 2  # the other half of the doubt is in the ends
        rate, _ = stratified_mean(self._strata(group, sizes, self._measured), most, level)
        _, (low, _) = stratified_mean(self._strata(group, sizes, self._ends[0]), most, level)
        _, (_, high) = stratified_mean(self._strata(group, sizes, self._ends[1]), most, level)
        return rate, (min(low, rate), max(high, rate))

    def _strata(self, group: Group, sizes: Mapping[int, int], failures: Floats) -> list[Stratum]:
        strata = []
        for layer, size in sizes.items():
            places = self.members[group].get(layer, [])
            known = self._assist.means.get((group, layer)) if self._assist else None
            if self._assist is None or known is None:
                strata.append(Stratum(size, failures[places]))
            else:
                strata.append(Stratum(size, failures[places] - self._assist.panel[places], *known))
        return strata


def _failures(counts: Mapping[Node, TriedCounts], through: Sequence[PassChances]) -> Floats:
    return np.array([view.failure(one) for view, one in zip(through, counts.values(), strict=True)])
