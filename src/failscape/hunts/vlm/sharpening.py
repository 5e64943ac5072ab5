"""Is a failing mode wider than what fails? Looks for one clause that holds all of its failures. Pure.

"counting" may fail at 40 % because "counting at night" fails at 90 % and by day all is well. Then the narrow
mode is the finding: the failure rate outside it is no longer above the margin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from failscape.hunts.counts import Counts
from failscape.hunts.vlm.confirm import Confirmation, above
from failscape.hunts.vlm.outcomes import QuestionLog, QuestionOutcome
from failscape.spaces.questions import Clause, Pattern, explains

ENOUGH = 60
"""Questions of a failing mode that are looked at before it is left as wide as it is."""

SURE_RATE = 0.85
"""A mode that fails this often is as sharp as it needs to be."""

_LEAST_OUTSIDE = 8
_LEAST_INSIDE = 3
_DOUBT = 0.2
_GAP = 0.3
_MOST_CLAUSES = 2
_SHARPER = 0.1


def sharper(pattern: Pattern, outcomes: Iterable[QuestionOutcome], margin: float) -> Pattern | None:
    """The mode narrowed by the clause outside which hardly anything fails; None when there is none."""
    named = {name for name, _ in pattern.clauses}
    inside: dict[Clause, Counts] = defaultdict(Counts)
    total = Counts()
    for outcome in outcomes:
        total.count(outcome.verdict)
        for clause in outcome.features:
            if clause[0] not in named:
                inside[clause].count(outcome.verdict)
    if total.rate >= SURE_RATE or len(named) >= _MOST_CLAUSES:
        return None
    best: tuple[float, Clause] | None = None
    for clause, count in sorted(inside.items()):
        outside = Counts(total.fails - count.fails, total.passes - count.passes)
        if count.fails < _LEAST_INSIDE or outside.valid < _LEAST_OUTSIDE:
            continue
        gap = count.rate - outside.rate
        if gap >= _GAP and above(margin, outside) <= _DOUBT and (best is None or gap > best[0]):
            best = gap, clause
    return pattern.with_clause(best[1]) if best else None


def due_to(certified: Iterable[Pattern], ledger: QuestionLog, confirmation: Confirmation) -> set[Pattern]:
    """Certified modes whose failures are those of other, sharper certified modes: nothing is left besides."""
    rates = {pattern: confirmation.slots[pattern].count.rate for pattern in certified}
    found = set()
    for pattern, rate in rates.items():
        sharp = [one for one in rates if rates[one] > rate + _SHARPER and not explains(one, pattern)]
        rest = Counts()
        for outcome in ledger.of(pattern):
            if not any(explains(one, outcome.full) for one in sharp):
                rest.count(outcome.verdict)
        if sharp and rest.valid >= _LEAST_OUTSIDE and above(confirmation.margin, rest) <= _DOUBT:
            found.add(pattern)
    return found
