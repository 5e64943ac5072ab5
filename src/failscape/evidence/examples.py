"""Examples for the head of a page: a request that works, and beside it the one that does not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from failscape.evidence.places import Place
from failscape.evidence.shots import FindingEvidence, Shot, ShotRow
from failscape.trials import Finding, Verdict

LOOKED_AT = 60
"""Findings among which examples are chosen: the most certain ones."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """`after` is the first failed picture of a finding, `before` its parent's at the same seed, if any.

    `number` is the place of the finding in the list, from 1.
    """

    number: int
    evidence: FindingEvidence
    after: Shot
    before: Shot | None = None
    parent: ShotRow | None = None


def varied_order(findings: Sequence[Finding], place: Callable[[str], Place | None]) -> list[int]:
    """Positions of findings such that neighbours differ: each next one repeats what was shown the least.

    What a finding shows is its thing, its kinds of attributes and its values. Among equals the more certain
    comes first.
    """
    left = {at: _features(finding, place) for at, finding in enumerate(findings[:LOOKED_AT])}
    shown: Counter[str] = Counter()
    order: list[int] = []
    while left:
        best = min(left, key=lambda at: (sum(shown[one] for one in left[at]) / len(left[at]), at))
        shown.update(left.pop(best))
        order.append(best)
    return order


def _features(finding: Finding, place: Callable[[str], Place | None]) -> list[str]:
    where = place(finding.subject)
    names = [where.about, *where.rows] if where else [finding.subject]
    return [*names, *finding.subject.split("; ")[1:]]


def varied_examples(
    findings: Sequence[Finding],
    place: Callable[[str], Place | None],
    evidence_of: Callable[[Finding], FindingEvidence],
    most: int,
) -> list[BeforeAfter]:
    """At most `most` findings with a failed picture, about different things and attributes.

    Pairs come first: a single picture says less.
    """
    pairs: list[BeforeAfter] = []
    singles: list[BeforeAfter] = []
    for at in varied_order(findings, place):
        found = before_after(at + 1, evidence_of(findings[at]))
        if found is not None:
            (singles if found.before is None else pairs).append(found)
        if len(pairs) == most:
            break
    return [*pairs, *singles][:most]


def before_after(number: int, evidence: FindingEvidence) -> BeforeAfter | None:
    """Only trials that count are shown as examples. `None` where no failed picture was kept."""
    failed = [
        (at, shot)
        for at, shot in enumerate(evidence.own.shots)
        if shot is not None and shot.verdict is Verdict.FAIL and shot.images and evidence.own.counts(shot)
    ]
    for at, shot in failed:
        for row in evidence.parents:
            before = row.shots[at]
            if before is not None and before.verdict is Verdict.PASS and before.images:
                return BeforeAfter(number, evidence, shot, before, row)
    return BeforeAfter(number, evidence, failed[0][1]) if failed else None
