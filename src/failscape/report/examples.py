"""The pictures at the head of the page: a request that works, and beside it the one that does not. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from failscape.report.load import Evidence, Row, Shot
from failscape.trials import Verdict

PAIRS = 6
FEWEST = 3
"""With fewer, the findings themselves are near enough to the top of the page."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """`after` is the first failed picture of a finding, `before` its parent's at the same seed, if any."""

    number: int
    evidence: Evidence
    after: Shot
    before: Shot | None = None
    parent: Row | None = None


def pairs_of(gallery: Iterable[tuple[int, Evidence]], most: int = PAIRS) -> list[BeforeAfter]:
    """Pairs come first: a single picture says less. Otherwise the order of the gallery stays.

    There are none when there would be fewer than `FEWEST`.
    """
    found = [pair for number, evidence in gallery if (pair := _pair(number, evidence)) is not None]
    return sorted(found, key=lambda pair: pair.before is None)[:most] if len(found) >= FEWEST else []


def _pair(number: int, evidence: Evidence) -> BeforeAfter | None:
    failed = [
        (at, shot)
        for at, shot in enumerate(evidence.own.shots)
        if shot is not None and shot.verdict is Verdict.FAIL and shot.images
    ]
    for at, shot in failed:
        for row in evidence.parents:
            before = row.shots[at]
            if before is not None and before.verdict is Verdict.PASS and before.images:
                return BeforeAfter(number, evidence, shot, before, row)
    return BeforeAfter(number, evidence, failed[0][1]) if failed else None
