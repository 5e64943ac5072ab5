"""What a search knows of one context. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from failscape.search.patterns.causes import CauseQuery
from failscape.search.patterns.exploring import CrowdComposer
from failscape.search.patterns.facts import PatternKey
from failscape.search.patterns.naming import NameCheck
from failscape.search.patterns.rows import ContextRows, FailureCounts
from failscape.search.patterns.weighing import PatternScore


@dataclass(slots=True)
class ContextState:
    """Trials, scores and open questions of a context.

    `is_stale`: something happened that changes scores. `queries` are what to look into, most telling first.
    """

    name: str
    rows: ContextRows
    composer: CrowdComposer
    plain: FailureCounts = field(default_factory=FailureCounts)
    plain_pending: int = 0
    weighed_rows: int = 0
    is_stale: bool = False
    is_skipped: bool = False
    scores: dict[PatternKey, PatternScore] = field(default_factory=dict)
    queries: list[CauseQuery] = field(default_factory=list)
    checks_pending: dict[NameCheck, int] = field(default_factory=dict)
    checks_drawn: dict[NameCheck, int] = field(default_factory=dict)
    looked_inside: dict[PatternKey, int] = field(default_factory=dict)
