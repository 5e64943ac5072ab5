"""What the search says of itself, held against images that it did not choose: what pruning lost.

A node below a failing one is not minimal, so skipping it loses nothing. It is missed only if it fails, all
its ancestors pass, and one of them was nevertheless called failing. The panel says how many such nodes exist.

Findings that were tried again before there were audits of the list (`list_audit.py`) are summed up as well.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from failscape.kinds.t2i.survey.judge_view import (
    Floats,
    JudgeView,
    NodeTally,
    PassChances,
    TriedCounts,
    columns,
    tried,
)
from failscape.kinds.t2i.survey.survey import Audit, Interval, Replicated, Replication, Share
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.deconvolve import Mixing, fit_mixing, share_below
from failscape.stats.intervals import clopper_pearson, mean_interval
from failscape.stats.stratified_mean import Stratum, stratified_mean

ChanceToPass = Callable[[Node], float]

DRAWS = 400
#: One half for what was closed off, one for the failures in all.
_DOUBT = 0.05 / 2


def audit_pruning(
    lattice: Lattice,
    panel: NodeTally,
    search: NodeTally,
    failing: Collection[Node],
    judge_view: JudgeView,
    threshold: float,
    believed: ChanceToPass | None = None,
) -> Audit | None:
    """`search` has the counts of all nodes that the search opened, `failing` those that it closed off below.
    `believed` tells of ancestors that nobody tried; without it they are like the rest of their layer.

    Each panel node counts for as many nodes as its layer has per panel node (Horvitz-Thompson). None without
    a panel.
    """
    sample = tried(panel)
    if not sample:
        return None
    chances = _Chances(lattice, sample, tried(search), judge_view, threshold, believed)
    closed_by, nodes = frozenset(failing), list(sample)
    closed = np.array([any(a in closed_by for a in lattice.ancestors(node)) for node in nodes])
    opened = np.array([node in search for node in nodes])
    minimal = chances.minimal(nodes)
    # No closed-off node can be more likely minimal than its closing ancestor is likely to pass after all.
    most = max((chances.passes(node) for node in closed_by), default=0.0)
    layers = _Layers(lattice, nodes)
    missed, sampling = layers.total(np.where(closed, minimal, 0.0), max(most, 1e-9))
    shut = [node for node, is_closed in zip(nodes, closed, strict=True) if is_closed]
    luck = chances.luck(shut, (minimal * layers.weights)[closed])
    missed_ends = min(sampling[0], luck[0]), max(sampling[1], luck[1])
    reachable, reachable_ends = layers.total(np.where(closed, 0.0, minimal), 1.0)
    return Audit(
        skipped=round(layers.total((closed | ~opened).astype(np.float64), 1.0)[0]),
        sampled=int((closed | ~opened).sum()),
        missed=_ratio(missed, reachable),
        interval=(_ratio(missed_ends[0], reachable_ends[1]), _ratio(missed_ends[1], reachable_ends[0])),
        closed=round(layers.total(closed.astype(np.float64), 1.0)[0]),
        minimal=missed + reachable,
        minimal_interval=(missed_ends[0] + reachable_ends[0], missed_ends[1] + reachable_ends[1]),
    )


def _ratio(part: float, rest: float) -> float:
    return part / (part + rest) if part > 0 else 0.0


class _Layers:
    """The panel as a stratified sample: layers with their sizes."""

    def __init__(self, lattice: Lattice, nodes: Sequence[Node]) -> None:
        layers = np.array([len(node.values) for node in nodes])
        self._places = {layer: np.flatnonzero(layers == layer) for layer in range(lattice.depth + 1)}
        self._sizes = lattice.layer_sizes
        tries = np.bincount(layers, minlength=lattice.depth + 1)
        self.weights: Floats = (np.array(self._sizes) / np.maximum(tries, 1))[layers]

    def total(self, values: Floats, most: float) -> tuple[float, Interval]:
        """The sum over all nodes of something between 0 and `most`, with an interval for every sample size.

        Layers share the error probability by their size, for what matters is the sum. A layer without panel
        nodes counts as nothing and may be all.
        """
        whole = sum(self._sizes)
        mean, low, high = 0.0, 0.0, 0.0
        for layer, places in self._places.items():
            size = self._sizes[layer]
            error_probability = _DOUBT * max(size / whole, 1e-3) / (1 + 1e-3 * len(self._sizes))
            middle, (bottom, top) = mean_interval(values[places], 0.0, most, 1 - error_probability)
            mean += size * middle if len(places) else 0.0
            low, high = low + size * bottom, high + size * top
        return mean, (low, high)


class _Chances:
    """How likely nodes are to fail, given their counts and how rates are spread in their layer."""

    def __init__(
        self,
        lattice: Lattice,
        panel: Mapping[Node, TriedCounts],
        search: Mapping[Node, TriedCounts],
        judge_view: JudgeView,
        threshold: float,
        believed: ChanceToPass | None,
    ) -> None:
        self._lattice = lattice
        self._believed = believed
        self._panel, self._search, self._judge_view, self._threshold = panel, search, judge_view, threshold
        layers = range(lattice.depth + 1)
        self._of_panel = [self._fit(panel, layer) for layer in layers]
        self._of_search = [self._fit(search, layer) for layer in layers]
        self._known: dict[Node, float] = {}
        self._looked_up: dict[tuple[int, TriedCounts, PassChances], float] = {}

    def _fit(self, tally: Mapping[Node, TriedCounts], layer: int) -> Mixing | None:
        nodes = [node for node in tally if len(node.values) == layer]
        return fit_mixing(*columns(tally, nodes), self._judge_view.rows(nodes)) if nodes else None

    def minimal(self, nodes: Sequence[Node]) -> Floats:
        """How likely each panel node is to fail while all its ancestors pass.

        Nodes whose ancestors pass fail less often than others, so the spread of rates is fitted to panel
        nodes in proportion to how likely their ancestors all pass.
        """
        sound = np.array([self._all_pass(self._lattice.ancestors(node)) for node in nodes])
        layers = np.array([len(node.values) for node in nodes])
        found = np.zeros(len(nodes))
        for layer in np.unique(layers):
            places = np.flatnonzero(layers == layer).tolist()
            if sound[places].sum() <= 0:
                continue
            here = [nodes[place] for place in places]
            counts, rows = columns(self._panel, here), self._judge_view.rows(here)
            spread = fit_mixing(*counts, rows, sound[places])
            found[places] = sound[places] * spread.chance_below(*counts, self._threshold, rows)
        return found

    def luck(self, nodes: Sequence[Node], expected: Floats) -> Interval:
        """The likely ends of a sum over nodes when each ancestor passes or fails, once for all of them.

        One entity closes off a large part of the space: whether that was wrong is a matter of yes or no.
        """
        above = [self._lattice.ancestors(node) for node in nodes]
        names = {node: place for place, node in enumerate(sorted({one for row in above for one in row}))}
        chance = np.array([self.passes(node) for node in names])
        draws = np.random.default_rng(0).random((DRAWS, len(names))) < chance
        total = np.zeros(DRAWS)
        for row, value in zip(above, expected.tolist(), strict=True):
            places = [names[one] for one in row]
            sound = float(chance[places].prod())
            if value > 0 and sound > 0:
                total += value / sound * draws[:, places].all(axis=1)
        low, high = np.quantile(total, [_DOUBT / 2, 1 - _DOUBT / 2])
        return float(low), float(high)

    def passes(self, node: Node) -> float:
        """From all images of the node; without any, what is believed of it, or the share of its layer."""
        if node not in self._known:
            self._known[node] = 1 - self._failing(node)
        return self._known[node]

    def _all_pass(self, nodes: Sequence[Node]) -> float:
        return float(np.prod([self.passes(node) for node in nodes]))

    def _failing(self, node: Node) -> float:
        layer = len(node.values)
        own, drawn = self._search.get(node), self._panel.get(node)
        spread = self._of_search[layer] if own else self._of_panel[layer]
        if spread is None:
            return 0.0
        if own is None and drawn is None:
            return spread.share_below(self._threshold) if self._believed is None else 1 - self._believed(node)
        counts = [one for one in (own, drawn) if one is not None]
        together = TriedCounts(sum(one.passes for one in counts), sum(one.fails for one in counts))
        return self._chance(spread, node, together)

    def _chance(self, spread: Mixing, node: Node, counts: TriedCounts) -> float:
        """Looked up: nodes share few distinct counts."""
        through = self._judge_view.bounds(node).measured
        key = id(spread), counts, through
        if key not in self._looked_up:
            found = spread.chance_below([counts.passes], [counts.fails], self._threshold, [through])
            self._looked_up[key] = float(found[0])
        return self._looked_up[key]


def replication_of(
    lattice: Lattice,
    found: NodeTally,
    fresh: NodeTally,
    judge_view: JudgeView,
    threshold: float,
    passing_at: float | None = None,
) -> Replication | None:
    """`found` has the counts that made the findings, `fresh` those with new seeds. None without any.

    Of the fresh nodes, those inside others are parents that were drawn again with their findings; they pass
    from `passing_at` on (the threshold, unless said otherwise).

    The share confirmed is not counted by a threshold: the spread of the true rates is fitted to the fresh
    counts, and the share of it below the threshold is what is reported.
    """
    counts = tried(fresh)
    inside = {above for node in counts for above in lattice.ancestors(node)}
    nodes = [node for node in counts if node not in inside]
    if not nodes:
        return None
    again = [node for node in counts if node in inside]
    parents = _passing(counts, again, judge_view, threshold if passing_at is None else passing_at)
    share, interval = share_below(*columns(counts, nodes), threshold, judge_view.rows(nodes))
    failures = np.array([counts[node].fails / counts[node].images for node in nodes])
    fresh_rate, fresh_interval = stratified_mean([Stratum(1.0, failures)])
    before = tried({node: found[node] for node in nodes if node in found})
    rates = {node: one.fails / one.images for node, one in before.items()}
    rows = tuple(
        Replicated(
            lattice.subject(node),
            rates.get(node, float("nan")),
            counts[node].fails,
            counts[node].images,
            _verdict(counts[node], judge_view.bounds(node).measured, threshold),
        )
        for node in nodes
    )
    found_rate = float(np.mean(list(rates.values()))) if rates else float("nan")
    confirmed = Share(share * len(nodes), len(nodes), interval)
    return Replication(rows, confirmed, found_rate, fresh_rate, fresh_interval, parents)


def _passing(
    counts: dict[Node, TriedCounts], nodes: list[Node], judge_view: JudgeView, threshold: float
) -> Share | None:
    if not nodes:
        return None
    share, (low, high) = share_below(*columns(counts, nodes), threshold, judge_view.rows(nodes))
    return Share((1 - share) * len(nodes), len(nodes), (1 - high, 1 - low))


def _verdict(counts: TriedCounts, through: PassChances, threshold: float) -> str:
    """Clear only when the exact interval of the judged pass rate lies on one side of the judged threshold."""
    limit = through.bad + (through.good - through.bad) * threshold
    low, high = clopper_pearson(counts.passes, counts.images)
    if float(high) < limit:
        return "confirmed"
    return "refuted" if float(low) > limit else "unclear"
