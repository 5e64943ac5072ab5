"""From confirmed slots to findings: one failure mode each, its smallest form, what the target gets right.

Modes that a simpler certified mode explains are not findings of their own; they are listed with it.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from failscape.kinds.vlm.confirm import FAILING, OPEN, PASS_DOUBT, PASSING, Confirmation
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome, counted
from failscape.kinds.vlm.purposes import CONFIRMATION, SEARCH
from failscape.kinds.vlm.sharpening import due_to
from failscape.search.counts import Counts
from failscape.search.patterns.naming import chance_above
from failscape.shown_numbers import percent, spread
from failscape.spaces.minimal_pairs import PAIR
from failscape.spaces.mode_sentences import sentence
from failscape.spaces.question_words import ASKS_OF, MENTIONS, NEGATED
from failscape.spaces.questions import ANY, LATER_TURNS, Clause, Grammar, Pattern, explains
from failscape.stats import clopper_pearson
from failscape.stats.evalues import e_value_of_log
from failscape.trials import Finding, Status

EXAMPLES = 6
#: A mode under test with fewer failures is not even a suspect.
LEAST_FAILS = 2

#: Fewer questions beside a mode say nothing of its sibling.
LEAST_BESIDE = 5

#: What questions are asked for that make up the rate of a mode.
PEOPLE = "people"
UNAUDITED = "certified if the verifier is right about such questions, which nobody has checked"
_CONTRAST = 0.3


@dataclass(frozen=True, slots=True)
class Example:
    """One question of a mode as people see it."""

    key: str
    question: str
    answer: str
    truth: str
    reason: str
    images: tuple[str, ...]
    skills: tuple[str, ...]
    #: What was asked and answered before.
    turns: tuple[tuple[str, str], ...] = ()


#: What the numbers of a simpler mode are over, where they stand beside a finding.
BESIDE = "valid questions of this kind where the finding does not hold"


@dataclass(frozen=True, slots=True)
class SimplerMode:
    """A mode with one clause or skill less: whether it fails too."""

    subject: str
    title: str
    state: str
    failures: int
    trials: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ContrastMode:
    """The nearest kind of question that the target gets right."""

    subject: str
    title: str
    failures: int
    trials: int
    example: Example | None
    without: str = "in a simpler form"


@dataclass(frozen=True, slots=True)
class ModeDetails:
    """What a vlm hunt tells of a mode. `minimal`: all simpler modes pass. `wordings`: fails and questions."""

    form: str
    skills: tuple[str, ...]
    clauses: tuple[Clause, ...]
    depth: int
    margin: float
    minimal: bool
    simpler: tuple[SimplerMode, ...]
    contrast: ContrastMode | None
    explains: tuple[str, ...]
    wordings: dict[str, tuple[int, int]]
    pictures: int
    agreement: float | None
    examples: tuple[Example, ...]
    #: Where its verdicts were looked at again: how many answers were called wrong, right, neither.
    audit: tuple[int, int, int] | None = None
    #: Who looked: people, or the auditor.
    audited_by: str = ""
    #: What a conditional finding rests on.
    condition: str = ""
    #: Keys of the trials whose answers people are to look at, in order, before it can be certified.
    to_review: tuple[str, ...] = ()
    #: What a suspect lacks to be a finding.
    missing: str = ""

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def findings_of(ledger: QuestionLog, confirmation: Confirmation, grammar: Grammar) -> list[Finding]:
    """Certified modes that no simpler certified mode explains, most certain first."""
    certified = confirmation.certified()
    found = [
        _finding(ledger, confirmation, grammar, pattern, certified)
        for pattern in _listed(certified, ledger, confirmation)
        if not confirmation.refuted(pattern)
    ]
    return sorted(found, key=lambda finding: (-finding.e_value, finding.subject))


def _listed(
    certified: dict[Pattern, float], ledger: QuestionLog, confirmation: Confirmation
) -> list[Pattern]:
    """Modes that stand for themselves, by e-BH of their own.

    Leaving modes out makes the list shorter, and a shorter list asks for more evidence of each. What is too
    weak for it goes, and what it explained may stand for itself.
    """
    left = dict(certified)
    while True:
        narrowed = due_to(left, ledger, confirmation)
        wide = [p for p in left if p not in narrowed]
        own = [p for p in wide if not any(explains(q, p) for q in wide if q != p)]
        kept = confirmation.certified(own)
        if len(kept) == len(own):
            return own
        for pattern in set(own) - kept.keys():
            del left[pattern]


def suspects_of(ledger: QuestionLog, confirmation: Confirmation, grammar: Grammar) -> list[Finding]:
    """Modes under test that fail more often than the margin, and are not proven; the surest first."""
    certified = confirmation.certified()
    own = _listed(certified, ledger, confirmation)
    logs = dict(zip(confirmation.slots, confirmation.log_e_values().tolist(), strict=True))
    found = []
    for pattern, slot in confirmation.slots.items():
        refuted = confirmation.refuted(pattern)
        others = [one for one in own if one != pattern]
        told = (pattern in certified and not refuted) or any(explains(one, pattern) for one in others)
        if not told and slot.count.fails >= LEAST_FAILS and slot.count.rate > confirmation.margin:
            finding = _finding(ledger, confirmation, grammar, pattern, {pattern: logs[pattern]})
            missing = _missing(confirmation, pattern)
            details = replace(finding.details, missing=missing)
            found.append(replace(finding, status=Status.SUSPECT, details=details))
    return sorted(found, key=lambda finding: (-finding.e_value, finding.subject))


def _missing(confirmation: Confirmation, pattern: Pattern) -> str:
    if confirmation.refuted(pattern):
        seen, who = confirmation.audited_count(pattern), _auditor(confirmation, pattern)
        says = "call" if who == PEOPLE else "calls"
        return f"{who} {says} only {seen.fails} of {seen.valid} of its answers wrong"
    if confirmation.state(pattern) == OPEN:
        more = confirmation.questions_needed(pattern)
        return f"about {more} more questions at this rate" if more else "more questions"
    if confirmation.state(pattern) == FAILING:
        return "more evidence: e-BH asks more of each mode, the fewer there are in the list"
    return confirmation.why_closed(pattern)


def _auditor(confirmation: Confirmation, pattern: Pattern) -> str:
    return PEOPLE if confirmation.audits.by_people(confirmation.slots[pattern].asked) else "the auditor"


def _condition(confirmation: Confirmation, pattern: Pattern, audit: Counts) -> str:
    if confirmation.unverified(pattern):
        return "certified if the judge is right that the editor changed the pictures"
    if audit.tries:
        return f"{audit.tries} of its answers were looked at again, and that does not decide it yet"
    return confirmation.audits.complaint or UNAUDITED


def _finding(
    ledger: QuestionLog,
    confirmation: Confirmation,
    grammar: Grammar,
    pattern: Pattern,
    certified: dict[Pattern, float],
) -> Finding:
    slot = confirmation.slots[pattern]
    count, audit = slot.count, confirmation.audited_count(pattern)
    rate, interval = failure_rate(confirmation, pattern, count)
    sure = confirmation.audited(pattern)
    simpler = [_simpler(ledger, confirmation, grammar, one, pattern) for one in grammar.simpler(pattern)]
    failures = examples(ledger, pattern, True)
    wordings = confirmation.wording_rates(pattern)
    details = ModeDetails(
        form=pattern.form,
        skills=pattern.skills,
        clauses=pattern.clauses,
        depth=pattern.depth,
        margin=confirmation.margin,
        minimal=all(one.state == PASSING for one in simpler),
        simpler=tuple(simpler),
        contrast=contrast(ledger, confirmation, grammar, pattern),
        explains=tuple(one.text for one in certified if one != pattern and explains(pattern, one)),
        wordings={name: (one.fails, one.valid) for name, one in wordings.items()},
        pictures=len(slot.images),
        agreement=round(slot.agreement / count.valid, 4) if count.valid else None,
        examples=tuple(example_of(one) for one in failures),
        audit=(audit.fails, audit.passes, audit.invalid) if audit.tries else None,
        audited_by=_auditor(confirmation, pattern) if audit.tries else "",
        condition="" if sure else _condition(confirmation, pattern, audit),
        to_review=()
        if sure or confirmation.unverified(pattern)
        else tuple(one.key for one in slot.asked[: confirmation.audits.labels]),
    )
    title = sentence(pattern, grammar)
    return Finding(
        subject=pattern.text,
        title=title,
        caption=_caption(title, rate, interval, details.contrast),
        status=Status.CERTIFIED if sure else Status.CONDITIONAL,
        rate=rate,
        interval=interval,
        e_value=e_value_of_log(certified[pattern]),
        trials=count.valid,
        failures=count.fails,
        invalid=count.invalid,
        counted=(CONFIRMATION.name,),
        parents=tuple({**asdict(one), "counted": BESIDE} for one in simpler if one.trials),
        details=details,
    )


def _caption(title: str, rate: float, interval: tuple[float, float], contrasting: ContrastMode | None) -> str:
    told = f"{title}: wrong {percent(rate)} of the time ({spread(interval)})"
    if contrasting is None:
        return f"{told}."
    return f"{told}, but {contrasting.failures} of {contrasting.trials} times {contrasting.without}."


def failure_rate(
    confirmation: Confirmation, pattern: Pattern, count: Counts
) -> tuple[float, tuple[float, float]]:
    """The rate with its interval: the auditor's where it has seen the verdicts, else the verifier's,
    corrected for its errors where they are known."""
    audit = confirmation.audited_count(pattern)
    if audit.valid:
        low_end, high_end = clopper_pearson(audit.fails, audit.valid)
        return audit.rate, (float(low_end), float(high_end))
    if confirmation.accuracy is not None and PAIR not in pattern.skills:
        kinds = confirmation.kinds(pattern)
        worst = min(kinds, key=lambda kind: confirmation.accuracy.of(kind).sensitivity.rate)  # type: ignore[union-attr]
        passes, (low, high) = confirmation.accuracy.correct(count.passes, count.fails, (worst,))
        return 1 - passes, (1 - high, 1 - low)
    low_end, high_end = clopper_pearson(count.fails, count.valid)
    return count.rate, (float(low_end), float(high_end))


def _simpler(
    ledger: QuestionLog, confirmation: Confirmation, grammar: Grammar, simple: Pattern, mode: Pattern
) -> SimplerMode:
    """How a simpler kind of question does where the mode does not hold: a mode is exact if all pass."""
    count = counted(ledger.beside(simple, mode))
    state = confirmation.state(simple)
    if count.valid >= LEAST_BESIDE and chance_above(count, confirmation.margin) <= PASS_DOUBT:
        state = PASSING
    low, high = clopper_pearson(count.fails, count.valid)
    return SimplerMode(
        simple.text,
        sentence(simple, grammar),
        state or "untested",
        count.fails,
        count.valid,
        count.rate,
        (float(low), float(high)),
    )


def contrast(
    ledger: QuestionLog, confirmation: Confirmation, grammar: Grammar, pattern: Pattern
) -> ContrastMode | None:
    """The nearest variant that the target gets right: another value of a clause, a clause or skill less."""
    best: tuple[float, Pattern, list[QuestionOutcome]] | None = None
    for simple in grammar.simpler(pattern):
        asked = ledger.beside(simple, pattern)
        count = counted(asked)
        doubt = chance_above(count, confirmation.margin)
        if count.valid >= 3 and doubt < _CONTRAST and (best is None or doubt < best[0]):
            best = doubt, simple, asked
    if best is None:
        return None
    _, simple, asked = best
    passed = [one for one in asked if not one.failed and one.key]
    example = example_of(passed[0]) if passed else None
    failures = len(asked) - sum(not one.failed for one in asked)
    title, without = sentence(simple, grammar), _without(pattern, simple)
    return ContrastMode(simple.text, title, failures, len(asked), example, without)


#: Clauses whose names do not say by themselves what is different without them.
_SAID = {
    "things": "number of things",
    "answer": "right answer",
    "time": "time of day",
    "across": "place in the picture",
    "height": "place in the picture",
    "shows": "thing in the picture",
}


def _without(pattern: Pattern, simple: Pattern) -> str:
    """What is different in the variant, in words."""
    clauses = [clause for clause in pattern.clauses if clause not in simple.clauses]
    if clauses and clauses[0][0] == "words":
        return "when the words are left out"
    if clauses and clauses[0] == NEGATED:
        return "without the negation"
    if clauses and clauses[0][0] in (ASKS_OF, MENTIONS):
        value = clauses[0][1]
        thing = f'"{value}"' if clauses[0][0] == ASKS_OF else value
        return f"when {thing} is not mentioned"
    if clauses:
        return f"with another {_SAID.get(clauses[0][0], clauses[0][0])}"
    skills = [skill for skill in pattern.skills if skill not in simple.skills]
    if simple.form == ANY and pattern.form != ANY:
        return "in questions of other kinds"
    if set(skills) & set(LATER_TURNS):
        return "when it is asked first"
    return f"without {skills[0]}" if skills else "in a simpler form"


def examples(ledger: QuestionLog, pattern: Pattern, failed: bool) -> list[QuestionOutcome]:
    """Questions asked for a pattern, those of its confirmation first."""
    asked = [
        one
        for one in ledger.outcomes
        if one.wanted == pattern and one.valid and one.failed is failed and one.key
    ]
    order = {CONFIRMATION: 0, SEARCH: 1}
    return sorted(asked, key=lambda one: order.get(one.purpose, 2))[:EXAMPLES]


def example_of(outcome: QuestionOutcome) -> Example:
    return Example(
        outcome.key,
        outcome.text,
        outcome.answer,
        outcome.truth,
        outcome.reason,
        outcome.images,
        outcome.pattern.skills,
        outcome.turns,
    )
