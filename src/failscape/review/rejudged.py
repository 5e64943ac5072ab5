"""Compares two judges on the same images: agreement per kind of check, and what becomes of the findings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from failscape.atlas import Atlas
from failscape.atlas.decisions import pairs
from failscape.evidence import load_hunt
from failscape.stats.judging.agreement import Agreement, agreement

EVERY = "all checks"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`kinds` ends with all checks together. Findings are subjects: of both hunts, or of one only."""

    kinds: dict[str, Agreement]
    both: list[str]
    only_first: list[str]
    only_second: list[str]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def compare_judges(atlas: Atlas, first: int, second: int) -> Comparison:
    """The second hunt holds the first one's images, judged again."""
    rows: dict[str, list[tuple[bool, bool, str]]] = defaultdict(list)
    for pair in pairs(atlas, first, second):
        rows[pair.check.kind].append((pair.first, pair.second, pair.subject))
    found = {kind: rows[kind] for kind in sorted(rows)}
    found[EVERY] = [row for some in found.values() for row in some]
    kinds = {kind: _agreement(some) for kind, some in found.items() if some}
    one = [finding.subject for finding in load_hunt(atlas, first).findings]
    two = [finding.subject for finding in load_hunt(atlas, second).findings]
    here, there = set(one), set(two)
    return Comparison(
        kinds,
        [subject for subject in one if subject in there],
        [subject for subject in one if subject not in there],
        [subject for subject in two if subject not in here],
    )


def _agreement(rows: list[tuple[bool, bool, str]]) -> Agreement:
    first, second, subjects = zip(*rows, strict=True)
    return agreement(first, second, subjects)
