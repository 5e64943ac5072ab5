"""What may lie behind the failures seen: patterns weighed as explanations, the best of them for each. Pure.

Every failed question is an example of many patterns. Each is weighed by all questions of the search that are
examples of it: the odds that it fails more often than the margin, against slips at the usual rate, and how
many such patterns there are. A pattern that is too wide has passes that speak against it, one that is too
narrow has company that fails as well; so the exact one comes first as soon as the data can tell.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.vlm.confirm import OPEN, Confirmation
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.search.patterns import AboveFixedRate
from failscape.search.patterns.weighing import log_bayes_factors, sums_of_counts
from failscape.spaces.questions import ANY, Grammar, Pattern, explains

#: Skills and depth.
Cell = tuple[tuple[str, ...], int]

#: Log-odds from which a lead is put to the test: as likely as not.
WORTH_A_TEST = 0.0

#: The same where hundreds of forms share their skills: there a wide skill looks bad by what it shares.
WORTH_A_TEST_OF_MANY = 1.5

#: Below these log-odds a lead is left alone: one failure and two passes of a narrow pattern are below.
WORTH_A_LOOK = -5.0

#: Log-odds, before the first question, of a mode that an earlier hunt found: one in three is taken to hold.
#: Two failures out of two looks then put it to the test, and two passes leave it.
PROPOSED = -0.7

#: Most modes under test at a time, so that the search goes on beside them.
ACTIVE = 12

#: Chance that a pattern which is no mode fails more often than by slips.
UNEVEN = 0.1

#: However well a target does, single failures are taken to be slips at this rate at least.
LEAST_SLIPS = 0.01


@dataclass(frozen=True, slots=True)
class Lead:
    """The best explanation of some failures. `rivals` explain the first of them too, the likeliest first."""

    pattern: Pattern
    odds: float
    rivals: tuple[Pattern, ...]


class Leads:
    """Reads the log and the slots, and owns nothing but what it made of them at the last `refresh`."""

    def __init__(self, grammar: Grammar, log: QuestionLog, confirmation: Confirmation) -> None:
        self._log = log
        self._confirmation = confirmation
        self._grammar = grammar
        self.simplest = tuple(grammar.patterns())
        self.worth_a_test = WORTH_A_TEST_OF_MANY if log.shared else WORTH_A_TEST
        self.cells: dict[Cell, Pattern] = {}
        self.leads: list[Lead] = []
        #: Modes of an earlier hunt, the surest first: they are looked at first, and likelier to hold.
        self.proposed: dict[Pattern, None] = {}
        self.slips = 0.03
        self._explaining: list[Pattern] = []

    def refresh(self) -> None:
        """Weigh all patterns with a failure again, and take the best for each failure."""
        log, confirmation = self._log, self._confirmation
        self.simplest = tuple(self._grammar.patterns())  # an open list of skills grows
        log.know(confirmation.claims())
        self._explaining = confirmation.explaining()
        patterns = [p for p in log.suspects if not self.explained(p)]
        odds = self.odds_of(patterns)
        order = [patterns[at] for at in np.argsort(-odds, kind="stable")]
        known = dict(zip(patterns, odds.tolist(), strict=True))
        covered = {
            id(one)
            for slot in confirmation.slots
            if confirmation.state(slot) == OPEN
            for one in log.failures_of(slot)
        }
        self.leads = []
        for pattern in order:
            if known[pattern] < WORTH_A_LOOK:
                break
            fresh = [one for one in log.failures_of(pattern) if id(one) not in covered]
            if confirmation.state(pattern) or 2 * len(fresh) <= len(log.failures_of(pattern)):
                continue
            covered.update(map(id, fresh))
            rivals = sorted(
                (p for p in log.examples(fresh[0]) if p in known and not confirmation.state(p)),
                key=lambda p: -known[p],
            )
            self.leads.append(Lead(pattern, known[pattern], tuple(rivals[:4])))
        self._note(order)

    def _note(self, order: Iterable[Pattern]) -> None:
        """How often single questions fail for no reason, as half of the forms do; the worst of every cell."""
        counts = [self._log.pooled[p] for p in self.simplest if p in self._log.pooled]
        if counts:
            usual = float(np.median([(one.fails + 0.1) / (one.valid + 5) for one in counts]))
            self.slips = min(self._confirmation.margin / 2, max(LEAST_SLIPS, usual))
        self.cells = {}
        for pattern in (*order, *(p for p in self.simplest if not self.explained(p))):
            self.cells.setdefault((pattern.skills, pattern.depth), pattern)

    def explained(self, pattern: Pattern) -> bool:
        """Whether a mode that fails for sure, or is being tested, already says this."""
        return any(explains(slot, pattern) for slot in self._explaining)

    def candidates(self) -> Iterable[Pattern]:
        """Leads worth a test, the likeliest first."""
        tested = sum(self._confirmation.state(pattern) == OPEN for pattern in self._confirmation.slots)
        for lead in self.leads:
            if tested >= ACTIVE or lead.odds < self.worth_a_test:
                return
            if not self.explained(lead.pattern):
                tested += 1
                self._explaining.append(lead.pattern)
                yield lead.pattern

    def odds_of(self, patterns: list[Pattern]) -> NDArray[np.float64]:
        """Log-odds that each of these patterns is a failing mode, by the questions of the search."""
        if not patterns:
            return np.zeros(0)
        counts = [self._log.pooled[pattern] for pattern in patterns]
        weights = log_weight(
            [one.fails for one in counts],
            [one.passes for one in counts],
            self._confirmation.margin,
            self.slips,
        )
        return np.asarray(weights + np.array([self._prior(pattern) for pattern in patterns]), np.float64)

    @property
    def _skills(self) -> int:
        """How many alternatives there are to a skill."""
        return len(self._log.skills) if self._log.shared else len(self.simplest)

    def _prior(self, pattern: Pattern) -> float:
        """Each kind of pattern is as likely as the others; within a kind all are alike."""
        values = self._log.values
        total = 0.0
        if pattern.form != ANY:
            total -= math.log(max(2, len(self.simplest)))
        elif pattern.skills:
            total -= len(pattern.skills) * math.log(max(2, self._skills))
        for name, _ in pattern.clauses:
            total -= math.log(max(2, len(values[name]))) + math.log(max(2, len(values)))
        return max(total, PROPOSED) if pattern in self.proposed else total

    def unseen(self, looks: int) -> list[tuple[Pattern, int]]:
        """Proposed modes that had fewer looks, and how many they lack."""
        lacking = [(p, looks - self._log.direct[p].valid) for p in self.proposed if not self.explained(p)]
        return [(pattern, number) for pattern, number in lacking if number > 0]


def log_weight(fails: list[int], passes: list[int], margin: float, slips: float) -> NDArray[np.float64]:
    """log Bayes factor: a failure rate anywhere above the margin, against one that is not.

    The rate of what is not a mode is that of slips, or with probability `UNEVEN` anywhere below the margin:
    a wide pattern has modes within it.
    """
    return log_bayes_factors(sums_of_counts(fails, passes), slips, AboveFixedRate(margin), UNEVEN)
