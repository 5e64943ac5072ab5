"""Confirmation: is a kind of question really answered wrongly, more often than the margin allows? Pure.

Every mode put to the test takes one of a number of slots fixed before the run, gets fresh pictures and other
words, and an e-process: valid whenever we look. e-BH over all slots keeps the share of false modes in a list
below the level. Whether a mode passes is a posterior's word: good enough to stop spending, never a claim.

Is a failing mode wider than what fails? Looks for one clause that holds all of its failures. Pure.

"counting" may fail at 40 % because "counting at night" fails at 90 % and by day all is well. Then the narrow
mode is the finding: the failure rate outside it is no longer above the margin.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.hunts.vlm.outcomes import Count, Ledger, Outcome
from failscape.spaces.questions import Clause, Pattern, explains
from failscape.stats import log_e_bh, log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy

FAILING, PASSING, OPEN, UNDECIDED = "failing", "passing", "open", "undecided"
ANSWER = "answer"
"""The one kind of check that a verifier makes, for its measured accuracy."""

STEP = 4
"""Questions spent on one mode in a round."""

PASS_DOUBT = 0.04
_LEAST = 5
_LOOK_AHEAD = 16


@dataclass(slots=True)
class Slot:
    """One mode under test. `why` says what for: a candidate, or a simpler form of one that failed."""

    pattern: Pattern
    why: str
    count: Count = field(default_factory=Count)
    wordings: dict[str, Count] = field(default_factory=dict)
    agreement: float = 0.0
    images: set[str] = field(default_factory=set)
    planned: int = 0
    starved: int = 0

    def add(self, outcome: Outcome) -> None:
        self.count.add(outcome)
        self.planned -= 1
        if outcome.valid:
            self.wordings.setdefault(outcome.wording, Count()).add(outcome)
            self.agreement += outcome.agreement
            self.images.update(outcome.images)


class Confirmation:
    """All slots of a hunt. `accuracy` is the verifier's, measured; without it the verifier is believed."""

    def __init__(
        self, margin: float, fdr: float, modes: int, most: int, accuracy: JudgeAccuracy | None = None
    ) -> None:
        self.margin = margin
        self.slots: dict[Pattern, Slot] = {}
        self.accuracy = accuracy
        self.fdr = fdr
        self.modes = modes
        self._most = most
        self._limit = accuracy.limits((ANSWER,), 1 - margin).fail if accuracy else 1 - margin
        self._states: dict[Pattern, str] = {}
        self.narrowed: dict[Pattern, Pattern] = {}
        """Failing modes → the narrower one that holds their failures, as far as one can see by now."""

    def open(self, pattern: Pattern, why: str) -> bool:
        """Put a mode to the test; False when all slots are taken."""
        if pattern in self.slots:
            return True
        if len(self.slots) >= self.modes:
            return False
        self.slots[pattern] = Slot(pattern, why)
        self._states[pattern] = OPEN
        return True

    def add(self, outcome: Outcome) -> None:
        self.slots[outcome.wanted].add(outcome)

    def settle(self) -> None:
        """Look at all slots again, after a round."""
        if not self.slots:
            return
        logs = self.log_e_values()
        strong = max(1, len(self._unlike(logs >= -np.log(self.fdr))))
        need = float(np.log(max(1.5, 1.25 * self.modes / strong) / self.fdr))
        for (pattern, slot), log_e in zip(self.slots.items(), logs, strict=True):
            self._states[pattern] = self._state(slot, float(log_e), need)

    def _unlike(self, strong: NDArray[np.bool_]) -> list[Pattern]:
        """Of the modes marked, those that could stand in one list: e-BH asks the more of each, the fewer."""
        marked = [pattern for pattern, mark in zip(self.slots, strong, strict=True) if mark]
        own = [p for p in marked if self.narrowed.get(p) not in marked]
        return [p for p in own if not any(explains(q, p) for q in own if q != p)]

    def _state(self, slot: Slot, log_e: float, need: float) -> str:
        count = slot.count
        if log_e >= need:
            return FAILING
        if count.trials >= _LEAST and above(self.margin, count) <= PASS_DOUBT:
            return PASSING
        spent = count.trials + count.invalid
        if spent >= self._most or slot.starved > 2 or self._hopeless(count, need - log_e):
            return UNDECIDED
        return OPEN

    def _hopeless(self, count: Count, missing: float) -> bool:
        """Whether a claim is out of reach: at the rate seen, the questions left do not suffice."""
        if count.trials < _LOOK_AHEAD:
            return False
        limit, rate = 1 - self._limit, (count.failures + 1) / (count.trials + 2)
        if rate <= limit:
            return True
        gain = rate * np.log(rate / limit) + (1 - rate) * np.log((1 - rate) / (1 - limit))
        return bool(count.trials + missing / gain > 1.5 * self._most)

    def state(self, pattern: Pattern) -> str:
        """`""` for a mode that was never put to the test."""
        return self._states.get(pattern, "")

    def failing(self) -> list[Pattern]:
        return [pattern for pattern in self.slots if self._states[pattern] == FAILING]

    def claims(self) -> list[Pattern]:
        """Failing modes, each as narrow as it is by now."""
        failing = self.failing()
        return [p for p in failing if self.narrowed.get(p) not in failing]

    def explaining(self) -> list[Pattern]:
        """Modes that make testing what they explain superfluous, for now or for good."""
        tested = [pattern for pattern in self.slots if self._states[pattern] in (FAILING, OPEN)]
        return [p for p in tested if p not in self.narrowed or self._states.get(self.narrowed[p]) != FAILING]

    def wants(self, room: int) -> list[tuple[Pattern, int]]:
        """Which modes get how many questions in a round with so much room: the nearest to a claim first."""
        ranked = sorted(
            (slot for slot in self.slots.values() if self._states[slot.pattern] == OPEN),
            key=lambda slot: -float(log_e_value(slot.count.passes, slot.count.failures, self._limit)),
        )
        found = []
        for slot in ranked:
            number = min(STEP, room, self._most - slot.count.trials - slot.planned)
            if number > 0:
                slot.planned += number
                found.append((slot.pattern, number))
                room -= number
        return found

    def give_back(self, pattern: Pattern) -> None:
        """A question that could not be made: there is no picture for it."""
        self.slots[pattern].planned -= 1
        self.slots[pattern].starved += 1

    def log_e_values(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        passes = [slot.count.passes for slot in self.slots.values()]
        failures = [slot.count.failures for slot in self.slots.values()]
        return log_e_value(passes, failures, self._limit) if passes else np.zeros(0)

    def certified(self, among: Collection[Pattern] | None = None) -> dict[Pattern, float]:
        """Modes that survive e-BH over all slots, taken or not, with the logarithm of their e-value.

        `among` names those that are wanted: the others count as slots without evidence.
        """
        known = zip(self.slots, self.log_e_values(), strict=True)
        logs = {pattern: float(log_e) for pattern, log_e in known if among is None or pattern in among}
        kept = log_e_bh(list(logs.values()), self.fdr, self.modes)
        return {pattern: log_e for (pattern, log_e), keep in zip(logs.items(), kept, strict=True) if keep}

    def wording_rates(self, pattern: Pattern) -> dict[str, Count]:
        return dict(sorted(self.slots[pattern].wordings.items()))


def above(margin: float, count: Count, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """The posterior chance that the failure rate lies above the margin."""
    failures, passes = prior
    return float(1 - special.betainc(failures + count.failures, passes + count.passes, margin))


def spread(counts: Counter[str]) -> float:
    """Entropy in nats: how evenly something is spread."""
    total = counts.total()
    shares = np.array([number / total for number in counts.values() if number]) if total else np.zeros(0)
    return float(-(shares * np.log(shares)).sum()) if len(shares) else 0.0


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


def sharper(pattern: Pattern, outcomes: Iterable[Outcome], margin: float) -> Pattern | None:
    """The mode narrowed by the clause outside which hardly anything fails; None when there is none."""
    named = {name for name, _ in pattern.clauses}
    inside: dict[Clause, Count] = defaultdict(Count)
    total = Count()
    for outcome in outcomes:
        total.add(outcome)
        for clause in outcome.features:
            if clause[0] not in named:
                inside[clause].add(outcome)
    if total.rate >= SURE_RATE or len(named) >= _MOST_CLAUSES:
        return None
    best: tuple[float, Clause] | None = None
    for clause, count in sorted(inside.items()):
        outside = Count(total.failures - count.failures, total.passes - count.passes)
        if count.failures < _LEAST_INSIDE or outside.trials < _LEAST_OUTSIDE:
            continue
        gap = count.rate - outside.rate
        if gap >= _GAP and above(margin, outside) <= _DOUBT and (best is None or gap > best[0]):
            best = gap, clause
    return pattern.with_clause(best[1]) if best else None


def due_to(certified: Iterable[Pattern], ledger: Ledger, confirmation: Confirmation) -> set[Pattern]:
    """Certified modes whose failures are those of other, sharper certified modes: nothing is left besides."""
    rates = {pattern: confirmation.slots[pattern].count.rate for pattern in certified}
    found = set()
    for pattern, rate in rates.items():
        sharp = [one for one in rates if rates[one] > rate + _SHARPER and not explains(one, pattern)]
        rest = Count()
        for outcome in ledger.of(pattern):
            if not any(explains(one, outcome.full) for one in sharp):
                rest.add(outcome)
        if sharp and rest.trials >= _LEAST_OUTSIDE and above(confirmation.margin, rest) <= _DOUBT:
            found.add(pattern)
    return found
