"""A quality-diversity archive over skills and composition depth, and the choice of what to ask next. Pure.

Each cell holds the pattern that looks worst for the target. Parents are drawn by Thompson sampling; children
add a clause from one of the parent's failures, take a clause from another cell, or are a pattern less tried.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.hunts.counts import Counts
from failscape.hunts.vlm.confirm import OPEN, PASS_DOUBT, PASSING, Confirmation, above
from failscape.hunts.vlm.outcomes import QuestionLog
from failscape.spaces.questions import ANY, Grammar, Pattern, explains, make_pattern

Cell = tuple[tuple[str, ...], int]
"""Skills and depth."""

PRIOR = 3.0
"""A narrow pattern is first believed to fail as often as its form does: worth so many questions."""

FIRST = 6
"""Questions that every simplest pattern gets before anything is chosen."""

EXPLORE, MUTATE, CROSS = 0.5, 0.4, 0.15
ACTIVE = 8
"""Most candidates under test at a time, so that the search goes on beside it."""

_DOUBTFUL = 0.6
_FEWEST = 2


class Archive:
    """Reads the ledger and the slots, and owns nothing but what it made of them at the last `refresh`."""

    def __init__(self, grammar: Grammar, ledger: QuestionLog, confirmation: Confirmation) -> None:
        self._grammar = grammar
        self._ledger = ledger
        self._confirmation = confirmation
        self.simplest = tuple(grammar.patterns())
        self.cells: dict[Cell, Pattern] = {}
        self._suspects: list[Pattern] = []
        self._doubts: NDArray[np.float64] = np.zeros(0)
        self._explaining: list[Pattern] = []

    def refresh(self) -> None:
        """Look at the counts again: elites of all cells, and how much speaks against each suspect."""
        self._ledger.know(self._confirmation.claims())
        self._explaining = self._confirmation.explaining()
        found = [p for p in self._ledger.suspects if self._ledger.pooled[p].fails >= _FEWEST]
        self._suspects = [pattern for pattern in found if not self.explained(pattern)]
        self._doubts = self._chances(self._suspects)
        self.cells = {}
        for index in np.argsort(-self._doubts, kind="stable"):
            pattern = self._suspects[index]
            self.cells.setdefault((pattern.skills, pattern.depth), pattern)
        for pattern in self.simplest:
            if not self.explained(pattern):
                self.cells.setdefault((pattern.skills, pattern.depth), pattern)

    def prune(self) -> None:
        """Forget elites that modes put to the test since the last look explain."""
        self._explaining = self._confirmation.explaining()
        self.cells = {cell: elite for cell, elite in self.cells.items() if not self.explained(elite)}

    def explained(self, pattern: Pattern) -> bool:
        """Whether a mode that fails for sure, or is being tested, already says this."""
        return any(explains(slot, pattern) for slot in self._explaining)

    def candidates(self) -> Iterable[Pattern]:
        """Suspects worth a test: the simplest first, for they may explain the others."""
        tested = sum(self._confirmation.state(pattern) == OPEN for pattern in self._confirmation.slots)
        order = sorted(
            (index for index in range(len(self._suspects)) if self._doubts[index] >= _DOUBTFUL),
            key=lambda index: (len(self._suspects[index].clauses), -float(self._doubts[index]), index),
        )
        for index in order:
            if tested >= ACTIVE:
                return
            pattern = self._suspects[index]
            if not self._confirmation.state(pattern) and not self.explained(pattern):
                tested += 1
                self._explaining.append(pattern)
                yield pattern

    def choose(self, rng: random.Random) -> Pattern:
        """What to ask next."""
        waiting = [p for p in self.simplest if self._ledger.direct[p].valid < FIRST and not self.explained(p)]
        if waiting:
            return min(waiting, key=lambda p: (self._ledger.planned[p], p))
        if rng.random() < EXPLORE or not self.cells:
            return self._explore(rng)
        parent = self._thompson(rng)
        luck = rng.random()
        if luck < MUTATE:
            return self._mutated(parent, rng)
        return self._crossed(parent, rng) if luck < MUTATE + CROSS else parent

    def settled_as_passing(self, pattern: Pattern) -> bool:
        """By a test of its own, or by questions of the search that were asked for it."""
        if self._confirmation.state(pattern) == PASSING:
            return True
        direct = self._ledger.direct.get(pattern)
        return bool(
            direct and direct.valid >= FIRST and above(self._confirmation.margin, direct) <= PASS_DOUBT
        )

    def _explore(self, rng: random.Random) -> Pattern:
        open_ones = [pattern for pattern in self.simplest if not self.explained(pattern)] or list(
            self.simplest
        )
        least = min(self._ledger.planned[pattern] for pattern in open_ones)
        pattern = rng.choice([p for p in open_ones if self._ledger.planned[p] <= least + FIRST])
        narrower = self._grammar.narrower(pattern, rng) if rng.random() < 0.5 else []
        return rng.choice(narrower) if narrower else pattern

    def _thompson(self, rng: random.Random) -> Pattern:
        best, value = Pattern(ANY), -1.0
        for pattern in self.cells.values():
            failures, passes = self._believed(pattern)
            drawn = rng.betavariate(failures, passes)
            if drawn > value:
                best, value = pattern, drawn
        return best

    def _mutated(self, parent: Pattern, rng: random.Random) -> Pattern:
        named = {name for name, _ in parent.clauses}
        failures = self._ledger.failures_of(parent)
        if failures and rng.random() < 0.7:
            features = [clause for clause in rng.choice(failures).features if clause[0] not in named]
            if features:
                return parent.with_clause(rng.choice(features))
        narrower = self._grammar.narrower(parent, rng)
        return rng.choice(narrower) if narrower else parent

    def _crossed(self, parent: Pattern, rng: random.Random) -> Pattern:
        other = rng.choice(list(self.cells.values()))
        named = {name for name, _ in parent.clauses}
        clauses = [clause for clause in other.clauses if clause[0] not in named]
        if clauses:
            return parent.with_clause(rng.choice(clauses))
        if parent.form == ANY and other.form == ANY:  # skills alone can simply be joined
            return make_pattern(ANY, {*parent.skills, *other.skills})
        return parent

    def _believed(self, pattern: Pattern) -> tuple[float, float]:
        """Beta parameters: its own counts, and its form's rate for a start."""
        count = self._ledger.pooled.get(pattern) or Counts()
        rate = self._rate_of_form(pattern)
        return PRIOR * rate + count.fails, PRIOR * (1 - rate) + count.passes

    def _rate_of_form(self, pattern: Pattern) -> float:
        base = (
            self._ledger.pooled.get(make_pattern(pattern.form, pattern.skills)) if pattern.clauses else None
        )
        count = base or self._ledger.overall
        return (count.fails + 0.5) / (count.valid + 1.0)

    def _chances(self, patterns: list[Pattern]) -> NDArray[np.float64]:
        if not patterns:
            return np.zeros(0)
        failures, passes = np.array([self._believed(pattern) for pattern in patterns]).T
        return np.asarray(1 - special.betainc(failures, passes, self._confirmation.margin), dtype=np.float64)
