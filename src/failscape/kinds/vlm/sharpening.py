"""Is a mode named exactly? Looks for the clause, threshold or form that holds its failures. Pure.

"counting" may fail at 40 % because "counting at night" fails at 90 % and by day all is well; any question
with "left of" may fail because one form does. Then the narrow mode is the finding.
"""

from collections import defaultdict
from collections.abc import Iterable

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.leads import log_weight
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome, counted
from failscape.search.counts import Counts
from failscape.search.patterns.naming import chance_above
from failscape.spaces.questions import ANY, Grammar, Pattern, explains, make_pattern

#: Questions of a failing mode that are looked at before it is left as wide as it is.
ENOUGH = 60

#: A mode that fails this often is as sharp as it needs to be, once so many questions were asked for it: of
#: six questions all fail by luck, one time in twenty, where 60 % do.
SURE_RATE, SURE_AFTER = 0.9, 12

#: Questions spent on one sibling of a mode, to see that the mode is no wider: 14 passes settle it.
SIBLING_MOST = 16

_LEAST_OUTSIDE = 4
_LEAST_INSIDE = 3
_DOUBT = 0.3
#: By how much (in log-odds) the narrow mode must explain the questions better than the wide one.
_BETTER = 1.0

_MOST_CLAUSES = 3
_SHARPER = 0.1


def sharper(
    pattern: Pattern, outcomes: Iterable[QuestionOutcome], margin: float, slips: float = 0.03
) -> Pattern | None:
    """The mode narrowed by what holds its failures; None when nothing does so clearly."""
    asked = list(outcomes)
    total = counted(asked)
    if total.rate >= SURE_RATE or len(pattern.clauses) >= _MOST_CLAUSES:
        return None
    inside: dict[Pattern, Counts] = defaultdict(Counts)
    for outcome in asked:
        for narrow in narrowings(pattern, outcome):
            inside[narrow].count(outcome.verdict)
    wide = _weight(total, margin, slips)
    best: tuple[float, int, Pattern] | None = None
    for narrow, count in sorted(inside.items()):
        outside = Counts(total.fails - count.fails, total.passes - count.passes)
        if count.fails < _LEAST_INSIDE or outside.valid < _LEAST_OUTSIDE:
            continue
        better = _weight(count, margin, slips) - wide
        if better < _BETTER or chance_above(outside, margin) > _DOUBT:
            continue
        found = better, count.valid, narrow
        if best is None or found[:2] > best[:2]:  # of two that explain alike, the wider
            best = found
    return best[2] if best else None


def narrowings(pattern: Pattern, outcome: QuestionOutcome) -> Iterable[Pattern]:
    """A pattern narrowed by one thing that holds for a question of it: its form, a clause, a threshold."""
    named = {name for name, _ in pattern.clauses}
    if pattern.form == ANY and outcome.pattern.form != ANY:
        yield make_pattern(outcome.pattern.form, outcome.pattern.skills, pattern.clauses)
    elif pattern.form == ANY:
        for skill in outcome.pattern.skills:
            if skill not in pattern.skills and len(pattern.skills) < _MOST_CLAUSES:
                yield make_pattern(ANY, (*pattern.skills, skill), pattern.clauses)
    for clause in outcome.full.clauses:
        if clause[0] not in named:
            yield pattern.with_clause(clause)


def _weight(count: Counts, margin: float, slips: float) -> float:
    return float(log_weight([count.fails], [count.passes], margin, slips)[0])


def due_to(certified: Iterable[Pattern], ledger: QuestionLog, confirmation: Confirmation) -> set[Pattern]:
    """Certified modes whose failures are those of other, sharper certified modes: nothing is left besides.

    How often each fails is counted over all questions asked for it: those that proved it may be few.
    """
    rates = {pattern: counted(ledger.of(pattern)).rate for pattern in certified}
    found = set()
    for pattern, rate in rates.items():
        sharp = [one for one in rates if rates[one] > rate + _SHARPER and not explains(one, pattern)]
        if not sharp:
            continue
        rest = counted(one for one in ledger.of(pattern) if not any(explains(q, one.full) for q in sharp))
        if rest.valid >= _LEAST_OUTSIDE and chance_above(rest, confirmation.margin) <= _DOUBT:
            found.add(pattern)
    return found


def unsettled_siblings(
    pattern: Pattern, grammar: Grammar, log: QuestionLog, margin: float, doubt: float
) -> list[Pattern]:
    """Simpler patterns of which it is not known yet whether they pass where the mode does not hold."""
    found = []
    for simple in grammar.simpler(pattern):
        direct = log.direct.get(simple)
        if direct is not None and direct.tries >= SIBLING_MOST:
            continue
        if chance_above(counted(log.beside(simple, pattern)), margin) > doubt:
            found.append(simple)
    return found
