"""Puts a survey together from plain counts, for any strategy. Pure; parts without data are left out.

`docs/map.md` explains every number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from failscape.hunts.counts import Tally
from failscape.hunts.t2i.survey.audit import ChanceToPass, audit_pruning
from failscape.hunts.t2i.survey.judge_view import Floats, JudgeView, NodeTally, TriedCounts, columns, tried
from failscape.hunts.t2i.survey.mass import Predict, failure_masses
from failscape.hunts.t2i.survey.replication import replication_of
from failscape.hunts.t2i.survey.rules import Chance, RuleBook, find_rules, judge_rules
from failscape.hunts.t2i.survey.survey import CalibrationBin, Rule, T2ISurvey, WithdrawnClaim
from failscape.hunts.t2i.survey.wording_effect import Variants, wording_effect
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.deconvolve import fit_mixing
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.stratified_mean import Stratum, stratified_mean

MOST_BINS = 8
NODES_PER_BIN = 12
FEW_IMAGES = 4


@dataclass(frozen=True)
class SurveyInput:
    """What a strategy knows. Only the first four are needed; counts are of valid images.

    `failing` nodes are claimed to fail, `passing` ones to pass; `search` has the counts of every node that
    was opened. `panel` has the counts of nodes drawn at random per layer before the search, from images
    that the search did not use. `fresh` has those of findings and their parents drawn again. `predict` gives
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
