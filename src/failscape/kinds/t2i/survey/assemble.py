"""Puts a survey together from plain counts, for any strategy. Pure; parts without data are left out.

Failure mass is the mean failure rate over all nodes of a group, from a panel that the search did not choose.
A model's predictions may sharpen it (difference estimator); they never bias it, however wrong they are.
`docs/map.md` explains every number.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from failscape.kinds.t2i.survey.audit import ChanceToPass, audit_pruning, replication_of
from failscape.kinds.t2i.survey.judge_view import (
    Floats,
    JudgeView,
    NodeTally,
    PassChances,
    TriedCounts,
    columns,
    tried,
)
from failscape.kinds.t2i.survey.passing import passing_space
from failscape.kinds.t2i.survey.rules import Chance, RuleBook, find_rules, judge_rules
from failscape.kinds.t2i.survey.survey import (
    CalibrationBin,
    Interval,
    ListAudit,
    Mass,
    Rule,
    Share,
    T2ISurvey,
    WithdrawnClaim,
    WordingEffect,
)
from failscape.search.counts import Tally
from failscape.spaces.corpus import FAMILIES, Entity
from failscape.spaces.lattice import Lattice, Node, NodeCounts
from failscape.stats.deconvolve import fit_mixing
from failscape.stats.intervals import exact_interval
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.nuisance import same_in_all
from failscape.stats.stratified_mean import Stratum, stratified_mean

Group = tuple[str, str]
#: Predicted success rates. They must not have learned from the panel.
Predict = Callable[[Sequence[Node]], Floats]

GROUPS = ("all", "layer", "class", "sub-class", "entity", "family", "kind", "cell")
#: Nodes per layer over which predictions are averaged.
SAMPLE = 4_000
#: Groups with fewer panel nodes are left out: their interval would say next to nothing.
LEAST_NODES = 2


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


LEVEL = 0.05
MOST_NAMED = 20

#: Per node the counts of each wording variant, in the order of `Wording.caption`'s `variant`.
Variants = Mapping[Node, Sequence[TriedCounts]]


def wording_effect(lattice: Lattice, variants: Variants, threshold: float) -> WordingEffect | None:
    """Over the nodes that were tried in several wordings; None when there is none."""
    nodes = [node for node in sorted(variants) if sum(sum(one) > 0 for one in variants[node]) > 1]
    if not nodes:
        return None
    width = max(len(variants[node]) for node in nodes)
    passes = np.array([_row(variants[node], 0, width) for node in nodes])
    trials = passes + np.array([_row(variants[node], 1, width) for node in nodes])
    shares = tuple(
        Share(hits, of, exact_interval(hits, of))
        for hits, of in zip(passes.sum(axis=0).tolist(), trials.sum(axis=0).tolist(), strict=True)
    )
    p_value = same_in_all(list(passes), list(trials))
    worst = [lattice.subject(nodes[place]) for place in _due_to_one(passes, trials, threshold)]
    return WordingEffect(len(nodes), shares, p_value, tuple(worst[:MOST_NAMED]))


def _row(counts: Sequence[TriedCounts], column: int, width: int) -> list[int]:
    return [one[column] for one in counts] + [0] * (width - len(counts))


def _due_to_one(passes: np.ndarray, trials: np.ndarray, threshold: float) -> list[int]:
    """Nodes that fail in one wording and pass in the others, clearest first.

    Fisher's exact test of each wording against the node's others, over all nodes and wordings at a false
    discovery rate of 5 % (Benjamini and Hochberg).
    """
    from scipy import stats  # here: it takes half a second to load, and few hunts vary their wording

    found: list[tuple[float, int, bool]] = []
    for place, (hits, of) in enumerate(zip(passes, trials, strict=True)):
        for variant in np.flatnonzero(of):
            rest, rest_of = int(hits.sum() - hits[variant]), int(of.sum() - of[variant])
            if not rest_of:
                continue
            chance = stats.hypergeom.cdf(hits[variant], of.sum(), hits.sum(), of[variant])
            apart = hits[variant] < threshold * of[variant] and rest >= threshold * rest_of
            found.append((float(chance), place, bool(apart)))
    found.sort()
    limits = [LEVEL * rank / len(found) for rank in range(1, len(found) + 1)]
    kept = max((rank for rank, limit in enumerate(limits, 1) if found[rank - 1][0] <= limit), default=0)
    return list(dict.fromkeys(place for _, place, apart in found[:kept] if apart))


MOST_BINS = 8
NODES_PER_BIN = 12
FEW_IMAGES = 4


@dataclass(frozen=True)
class SurveyInput:
    """What a strategy knows. Only the first four are needed; counts are of valid images.

    `failing` nodes are claimed to fail, `passing` ones to pass; `search` has the counts of every node that
    was opened. `panel` has the counts of nodes drawn at random per layer before the search, from images
    that the search did not use. `fresh` has those of findings and their parents tried again before
    there were audits. `predict` gives
    success rates and has not learned from the panel; `chance_to_pass` is what is believed of a node that
    nobody tried. Parents pass from `passing_at` on. `variants` are counts per wording. `tested` are rules
    that were tested as groups, `covered` the nodes that they speak of: those need no other rule.
    """

    lattice: Lattice
    threshold: float
    failing: Collection[Node]
    passing: Collection[Node]
    search: NodeTally
    panel: NodeTally = field(default_factory=dict)
    fresh: NodeTally = field(default_factory=dict)
    list_audit: ListAudit | None = None
    predict: Predict | None = None
    chance_to_pass: ChanceToPass | None = None
    passing_at: float | None = None
    accuracy: JudgeAccuracy | None = None
    variants: Variants = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)
    withdrawn: tuple[WithdrawnClaim, ...] = ()
    tested: tuple[Rule, ...] = ()
    covered: Collection[Node] = ()
    notes: Sequence[str] = ()
    seed: int = 0


def survey_of(given: SurveyInput) -> T2ISurvey:
    lattice, judge_view = given.lattice, JudgeView(given.lattice, given.accuracy)
    book = rules_of(given, judge_view)
    return T2ISurvey(
        rules=(*given.tested, *book.rules),
        rule_precision=book.precision,
        masses=failure_masses(
            lattice, given.panel, judge_view=judge_view, predict=given.predict, seed=given.seed
        ),
        audit=audit_pruning(
            lattice,
            given.panel,
            given.search,
            given.failing,
            judge_view,
            given.threshold,
            given.chance_to_pass,
        ),
        replication=replication_of(
            lattice, given.search, given.fresh, judge_view, given.threshold, given.passing_at
        ),
        list_audit=given.list_audit,
        passing=passing_space(lattice, given.panel, given.search, given.threshold),
        calibration=calibration_of(given),
        wording=wording_effect(lattice, given.variants, given.threshold),
        withdrawn=given.withdrawn,
        notes=(*given.notes, *_notes(given, book)),
        counts=dict(given.states),
    )


def survey_of_tallies(lattice: Lattice, threshold: float, tallies: Collection[Tally]) -> T2ISurvey:
    """For strategies that settle every node by its own images and draw none at random."""
    by_outcome: dict[str, list[Node]] = {}
    for tally in tallies:
        by_outcome.setdefault(tally.outcome or "unfinished", []).append(tally.node)
    failing, passing = by_outcome.get("fail", []), by_outcome.get("pass", [])
    search = {tally.node: TriedCounts(tally.passes, tally.fails) for tally in tallies}
    names = {"fail": "failed", "pass": "passed"}
    states = {"opened": len(tallies)} | {names.get(key, key): len(nodes) for key, nodes in by_outcome.items()}
    return survey_of(SurveyInput(lattice, threshold, failing, passing, search, states=states))


def rules_of(given: SurveyInput, judge_view: JudgeView) -> RuleBook:
    """One half of the panel screens rules while they are chosen, the other half judges them."""
    screen, rest = _halves(given.lattice, tried(given.panel))
    chances: dict[Node, float] = {}
    for layer in range(given.lattice.depth + 1):
        chances |= _chances(
            [node for node in screen if len(node.values) == layer], screen, judge_view, given.threshold
        )
    passing = {*given.passing, *_likely_passing(given, judge_view)}
    failing = [node for node in given.failing if node not in given.covered]
    book = find_rules(given.lattice, failing, passing, chances, _chance_of(given))
    return judge_rules(given.lattice, book, rest, judge_view, given.threshold)


def _chance_of(given: SurveyInput) -> Chance | None:
    predict, threshold = given.predict, given.threshold
    if predict is None:
        return None
    return lambda nodes: (np.asarray(predict(nodes)) < threshold).astype(np.float64)


def _halves(
    lattice: Lattice, panel: dict[Node, TriedCounts]
) -> tuple[dict[Node, TriedCounts], dict[Node, TriedCounts]]:
    """By name, so that a node stays in its half however the panel grows."""
    halves: tuple[dict[Node, TriedCounts], dict[Node, TriedCounts]] = ({}, {})
    for node, counts in panel.items():
        digest = hashlib.blake2b(lattice.subject(node).encode(), digest_size=1).digest()
        halves[digest[0] & 1][node] = counts
    return halves


def _likely_passing(given: SurveyInput, judge_view: JudgeView) -> list[Node]:
    """Opened nodes without a verdict that are more likely to pass than not: they speak against rules too."""
    decided = {*given.failing, *given.passing}
    opened = tried(given.search)
    found: list[Node] = []
    for layer in range(given.lattice.depth + 1):
        nodes = [node for node in opened if len(node.values) == layer]
        chances = _chances(nodes, opened, judge_view, given.threshold)
        found += [node for node in nodes if node not in decided and chances[node] < 0.5]
    return found


def _chances(
    nodes: list[Node], tally: NodeTally, judge_view: JudgeView, threshold: float
) -> dict[Node, float]:
    """How likely each is to fail, given how rates are spread over all of them."""
    if not nodes:
        return {}
    counts, rows = columns(tally, nodes), judge_view.rows(nodes)
    found = fit_mixing(*counts, rows).chance_below(*counts, threshold, rows)
    return dict(zip(nodes, found.tolist(), strict=True))


def calibration_of(given: SurveyInput) -> tuple[CalibrationBin, ...]:
    """Panel nodes in groups of about equal prediction; both numbers are pass rates as the judge sees them."""
    panel = tried(given.panel)
    if given.predict is None or not panel:
        return ()
    predicted: Floats = np.clip(np.asarray(given.predict(list(panel)), np.float64), 0.0, 1.0)
    passed = np.array([one.passes / one.images for one in panel.values()])
    images = np.array([one.images for one in panel.values()])
    groups = np.array_split(
        np.argsort(predicted, kind="stable"), min(MOST_BINS, max(1, len(panel) // NODES_PER_BIN))
    )
    bins = []
    for group in groups:
        seen, interval = stratified_mean([Stratum(1.0, passed[group])], float(images[group].sum()))
        bins.append(CalibrationBin(float(predicted[group].mean()), seen, interval, int(images[group].sum())))
    return tuple(bins)


def _notes(given: SurveyInput, book: RuleBook) -> list[str]:
    notes = []
    if given.tested:
        found, covers = len({*given.failing} & {*given.covered}), sum(one.covers for one in given.tested)
        notes.append(
            f"{len(given.tested)} rules were tested as groups: they cover {covers:,} nodes, {found:,} of "
            "which were found to fail by themselves."
        )
    if book.rules:
        notes.append(f"{len(book.rules)} rules cover {book.covered:,} of {book.failures:,} failing nodes.")
    if not given.panel:
        notes.append("No nodes were drawn at random beforehand: no failure mass, no audit, rules unchecked.")
    elif np.mean([sum(counts) for counts in given.panel.values()]) < FEW_IMAGES:
        notes.append(
            f"Panel nodes have fewer than {FEW_IMAGES} images each: shares of failing nodes are rough."
        )
    return notes
