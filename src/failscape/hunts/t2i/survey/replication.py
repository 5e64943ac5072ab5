"""Replication: a random sample of findings is drawn again with fresh seeds. How many still fail?

What was picked because it failed looks worse than it is; fresh images do not know that it was picked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import numpy as np

from failscape.hunts.t2i.survey.audit import ancestors
from failscape.hunts.t2i.survey.judge_view import (
    JudgeView,
    NodeTally,
    PassChances,
    TriedCounts,
    columns,
    tried,
)
from failscape.hunts.t2i.survey.survey import Replicated, Replication, Share
from failscape.spaces.lattice import Lattice, Node
from failscape.stats.deconvolve import share_below
from failscape.stats.intervals import clopper_pearson
from failscape.stats.stratified_mean import Stratum, stratified_mean


def choose_sample(subjects: Collection[str], count: int, seed: int) -> list[str]:
    """`count` subjects at random. Which ones depends on the seed and their names only, not on their order.

    A larger sample contains the smaller one, and a new finding displaces at most one old one.
    """

    def rank(subject: str) -> bytes:
        return hashlib.blake2b(f"{seed}|{subject}".encode(), digest_size=16).digest()

    return sorted(subjects, key=rank)[:count]


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
    inside = {above for node in counts for above in ancestors(node)}
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
