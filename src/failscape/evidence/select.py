"""Chooses and sorts findings and suspects: the same filters in the terminal, in Python and in the viewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from failscape.errors import ConfigError
from failscape.evidence.hunt import HuntEvidence
from failscape.names import suggest
from failscape.trials import STATUSES, Finding

SUSPECT = "suspect"
ALL = "all"

SORTS: dict[str, Callable[[HuntEvidence, Finding], Any]] = {
    "certain": lambda hunt, finding: 0,  # the order in which hunts give them
    "rate": lambda hunt, finding: -hunt.rate(finding).rate,
    "low": lambda hunt, finding: -hunt.rate(finding).interval[0],
    "trials": lambda hunt, finding: -finding.trials,
    "title": lambda hunt, finding: finding.title.casefold(),
}
"""Name of an order → what it sorts by. Equal ones stay most certain first."""


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """`statuses` empty: all findings, no suspects. `words` must all occur; `least` is a share of failures."""

    statuses: tuple[str, ...] = ()
    words: str = ""
    group: str = ""
    least: float = 0.0
    sort: str = "certain"

    def __post_init__(self) -> None:
        for status in self.statuses:
            if status not in (*STATUSES, ALL):
                raise ConfigError(f"there is no status {status!r}", suggest(status, [*STATUSES, ALL]))
        if self.sort not in SORTS:
            raise ConfigError(f"findings cannot be sorted by {self.sort!r}", suggest(self.sort, SORTS))


def select(hunt: HuntEvidence, wanted: FindingFilter) -> list[Finding]:
    """Findings, then suspects where they are asked for."""
    groups = _groups_of(hunt, wanted.group)
    words = wanted.words.casefold().split()
    kept = [
        finding
        for finding in (*hunt.findings, *hunt.suspects)
        if _has_status(finding, wanted.statuses)
        and hunt.rate(finding).rate >= wanted.least
        and (groups is None or group_of(hunt, finding).casefold() in groups)
        and all(word in text_of(finding) for word in words)
    ]
    return sorted(kept, key=lambda finding: SORTS[wanted.sort](hunt, finding))


def group_of(hunt: HuntEvidence, finding: Finding) -> str:
    """The class of a finding: of its thing, of its picture, or its form of question."""
    place = hunt.place(finding.subject)
    return place.column if place else ""


def text_of(finding: Finding) -> str:
    """What is searched for words."""
    return f"{finding.title} {finding.caption} {finding.subject}".casefold()


def short_title(finding: Finding) -> str:
    """A title for one line: some kinds of hunt have whole sentences."""
    return str(finding.details_data.get("short") or finding.title)


def _has_status(finding: Finding, statuses: tuple[str, ...]) -> bool:
    if not statuses:
        return finding.status != SUSPECT
    return ALL in statuses or finding.status in statuses


def _groups_of(hunt: HuntEvidence, group: str) -> set[str] | None:
    """The class asked for; it must be one that something was found in."""
    if not group:
        return None
    known = sorted({group_of(hunt, finding) for finding in (*hunt.findings, *hunt.suspects)} - {""})
    if group.casefold() not in {name.casefold() for name in known}:
        raise ConfigError(f"nothing was found in class {group!r}", suggest(group, known))
    return {group.casefold()}
