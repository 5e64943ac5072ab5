"""What came of questions: one outcome each, and the counts that a search goes by. Pure.

Counts of the search and of confirmation are kept apart: what made us look must not prove anything.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from failscape.kinds.vlm.purposes import CONFIRMATION
from failscape.search.counts import Counts
from failscape.spaces.ordinals import with_thresholds
from failscape.spaces.questions import ANY, Clause, Pattern, explains, make_pattern
from failscape.trials import Purpose, Verdict

#: What a question is for. `look`: a second look at what one failure or one mode may mean. `audit`: no
#: question of its own, but an auditor's look at the verdict of one that confirmed a mode.

#: The right answer as a clause narrows a form; alone it only says which forms can have it.
ANSWER_CLAUSE = "answer"

#: Free questions are examples of every combination of so many of their skills.
MOST_SKILLS = 2


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """One question and what came of it. `wanted` is the pattern it was asked for, `pattern` its own.

    `key` is empty for a question that was found invalid before anybody was asked. `agreement` is the share of
    verifiers that said the same.
    """

    key: str
    purpose: Purpose
    wanted: Pattern
    pattern: Pattern
    verdict: Verdict
    text: str
    truth: str = ""
    answer: str = ""
    reason: str = ""
    images: tuple[str, ...] = ()
    features: tuple[Clause, ...] = ()
    wording: str = ""
    agreement: float = 1.0
    round: int = 0
    #: What was said before, question by question.
    turns: tuple[tuple[str, str], ...] = ()
    #: How many the target was asked for it: a minimal pair takes two.
    questions: int = 1
    #: The skill that a lesson named for it, followed or not; "" for none.
    named: str = ""
    #: The narrowest pattern that it is an example of.
    full: Pattern = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        clauses = with_thresholds(tuple(sorted({*self.features, *self.pattern.clauses})))
        object.__setattr__(self, "full", make_pattern(self.pattern.form, self.pattern.skills, clauses))

    @property
    def valid(self) -> bool:
        return self.verdict in (Verdict.PASS, Verdict.FAIL)

    @property
    def failed(self) -> bool:
        return self.verdict is Verdict.FAIL


class QuestionLog:
    """All outcomes in order, and the counts made from those of the search.

    `direct` counts questions by the pattern they were asked for: an unbiased sample of it. `pooled` counts
    every question under each pattern it is an example of, with up to `depth` clauses: a hint only.
    """

    def __init__(self, depth: int = 2, shared: bool = False) -> None:
        self.outcomes: list[QuestionOutcome] = []
        self.direct: dict[Pattern, Counts] = defaultdict(Counts)
        self.pooled: dict[Pattern, Counts] = defaultdict(Counts)
        self.planned: Counter[Pattern] = Counter()
        self.overall = Counts()
        #: Patterns with a failure, in the order met.
        self.suspects: dict[Pattern, None] = {}
        #: Name of a clause → the values that were seen of it.
        self.values: dict[str, set[str]] = defaultdict(set)
        self.skills: set[str] = set()
        self._examples: dict[int, tuple[Pattern, ...]] = {}
        self._failures: dict[Pattern, list[QuestionOutcome]] = defaultdict(list)
        self._of: dict[Pattern, list[QuestionOutcome]] = defaultdict(list)
        self.known: tuple[Pattern, ...] = ()
        self._depth = depth
        #: Whether forms share skills by the hundred, so that skills explain what no single form can.
        self.shared = shared

    def add(self, outcomes: Iterable[QuestionOutcome]) -> None:
        for outcome in outcomes:
            self.outcomes.append(outcome)
            if outcome.valid:
                self._of[outcome.wanted].append(outcome)
                self.skills.update(outcome.pattern.skills)
                for name, value in outcome.full.clauses:
                    self.values[name].add(value)
            if outcome.purpose != CONFIRMATION:
                self.direct[outcome.wanted].count(outcome.verdict)
                self.overall.count(outcome.verdict)
                self._pool(outcome)

    def _pool(self, outcome: QuestionOutcome) -> None:
        if not outcome.valid or any(explains(known, outcome.full) for known in self.known):
            return
        for pattern in self.examples(outcome):
            self.pooled[pattern].count(outcome.verdict)
            if outcome.failed:
                self.suspects.setdefault(pattern)
                self._failures[pattern].append(outcome)

    def examples(self, outcome: QuestionOutcome) -> tuple[Pattern, ...]:
        """The patterns that a question counts for."""
        found = self._examples.get(id(outcome))
        if found is None:
            found = self._examples[id(outcome)] = tuple(examples_of(outcome, self._depth, self.shared))
        return found

    def know(self, failing: Iterable[Pattern]) -> None:
        """Leave what these modes explain out of `pooled`: what fails besides is what we look for."""
        known = tuple(failing)
        if known == self.known:
            return
        self.known = known
        for table in (self.pooled, self.suspects, self._failures):
            table.clear()
        for outcome in self.outcomes:
            if outcome.purpose != CONFIRMATION:
                self._pool(outcome)

    def unexplained(self, pattern: Pattern) -> list[QuestionOutcome]:
        """As `of`, without the questions that a known mode besides this one explains."""
        others = [
            known for known in self.known if not explains(known, pattern) and not explains(pattern, known)
        ]
        return [one for one in self.of(pattern) if not any(explains(known, one.full) for known in others)]

    def beside(self, pattern: Pattern, mode: Pattern) -> list[QuestionOutcome]:
        """Valid questions of a pattern, whatever they were asked for, that neither `mode` nor another known
        mode explains: how a sibling of the mode does."""
        known = [mode, *self.known]
        return [
            one
            for one in self.outcomes
            if one.valid and pattern.covers(one.full) and not any(explains(mark, one.full) for mark in known)
        ]

    @property
    def asked(self) -> int:
        """How many questions reached the target."""
        return sum(outcome.questions for outcome in self.outcomes if outcome.key)

    def of(self, pattern: Pattern) -> list[QuestionOutcome]:
        """Valid questions that were asked for this very pattern, in the search and in confirmation."""
        return self._of.get(pattern, [])

    def failures_of(self, pattern: Pattern) -> list[QuestionOutcome]:
        """Failed questions of the search that are examples of a pattern."""
        return self._failures.get(pattern, [])


def examples_of(outcome: QuestionOutcome, depth: int, shared: bool = False) -> Iterator[Pattern]:
    """Patterns that a question is an example of: its form, or some of its skills where it has no form, with
    none to `depth` of its clauses and thresholds; and each clause alone, whatever the form. Where forms share
    skills, also some of its skills whatever the form, without clauses."""
    form, skills = outcome.pattern.form, outcome.pattern.skills
    numbers = range(1, min(MOST_SKILLS, len(skills)) + 1)
    some_skills = [Pattern(ANY, some) for number in numbers for some in combinations(skills, number)]
    bases = some_skills if form == ANY else [make_pattern(form, skills)]
    yield from bases
    if form != ANY and shared:
        yield from some_skills
    clauses = outcome.full.clauses
    for number in range(1, depth + 1):
        for some in combinations(clauses, number):
            if number > 1 and len({name for name, _ in some}) < number:
                continue
            for base in bases:
                yield Pattern(base.form, base.skills, some)
            if number == 1 and some[0][0] != ANSWER_CLAUSE:
                yield Pattern(ANY, (), some)


def counted(outcomes: Iterable[QuestionOutcome]) -> Counts:
    count = Counts()
    for outcome in outcomes:
        count.count(outcome.verdict)
    return count
