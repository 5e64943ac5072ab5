"""Confirmation: is a kind of question really answered wrongly, more often than the margin allows? Pure.

Every mode put to the test takes one of a number of slots fixed before the run, gets fresh pictures and other
words, and an e-process: valid whenever we look. e-BH over all slots keeps the share of false modes in a list
below the level. Whether a mode passes is a posterior's word: good enough to stop spending, never a claim.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.vlm.audits import Audits
from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.search.certify import AuditLimits, evidence_for
from failscape.search.counts import Counts
from failscape.search.patterns.naming import chance_above
from failscape.search.patterns.settings import divergence
from failscape.spaces.minimal_pairs import PAIR
from failscape.spaces.questions import Pattern, explains
from failscape.stats import log_e_bh, log_e_value
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy

FAILING, PASSING, OPEN, UNDECIDED = "failing", "passing", "open", "undecided"
#: The one kind of check that a verifier makes, for its measured accuracy.
ANSWER = "answer"

#: Questions that a test takes at least, whatever comes of it: eight failures certify, eight passes settle.
LEAST_OF_A_TEST = 8

#: Most questions spent on one mode in a round.
STEP = 6

#: A mode that needs more questions than this for a claim is a long shot.
NEAR = 40.0

#: Most of the room for confirmation that long shots get.
LONG_SHOTS = 0.25

#: A mode is given up when so many questions of it could not be made: there are no pictures for more.
MOST_STARVED = 2

PASS_DOUBT = 0.04
_LEAST = 5
_LOOK_AHEAD = 16


@dataclass(slots=True)
class Slot:
    """One mode under test. `why` says what for: a candidate, or a simpler form of one that failed."""

    pattern: Pattern
    why: str
    count: Counts = field(default_factory=Counts)
    wordings: dict[str, Counts] = field(default_factory=dict)
    agreement: float = 0.0
    images: set[str] = field(default_factory=set)
    planned: int = 0
    starved: int = 0
    #: The valid questions that make up the count, in order.
    asked: list[QuestionOutcome] = field(default_factory=list)
    #: Questions that were asked for it and are not of it: whoever wrote them did not follow.
    missed: int = 0

    @property
    def spent(self) -> int:
        return self.count.tries + self.missed

    def add(self, outcome: QuestionOutcome) -> None:
        self.count.count(outcome.verdict)
        self.planned -= 1
        if outcome.valid:
            self.asked.append(outcome)
            self.wordings.setdefault(outcome.wording, Counts()).count(outcome.verdict)
            self.agreement += outcome.agreement
            self.images.update(outcome.images)


def slots_for(modes: int, questions: int) -> int:
    """How many tests e-BH counts over: no more than a hunt of so many questions could make. Every slot costs
    evidence in all others, so empty ones are not worth having; the number is fixed before the first question.
    """
    return max(1, min(modes, questions // LEAST_OF_A_TEST))


def audit_limits(settings: Mapping[str, Any]) -> AuditLimits:
    """What people's labels of a mode are held against. An atlas may keep settings in part."""
    confirm = {**_USUAL, **settings.get("confirm", {})}
    tests = slots_for(confirm["modes"], settings.get("questions", _USUAL_QUESTIONS))
    return AuditLimits(confirm["margin"], confirm["fdr"], tests)


#: The defaults of `confirm:` and `questions`, for settings that an atlas keeps in part.
_USUAL: dict[str, Any] = {"margin": 0.2, "fdr": 0.05, "modes": 120}
_USUAL_QUESTIONS = 2000


class Confirmation:
    """All slots of a hunt. `accuracy` is the verifier's, measured; without it the verifier is believed.

    `exact`: answers are compared with a truth known by construction, so that no verifier can be wrong.
    `labels`: how many verdicts of a mode are looked at again; `auditor`: whether a model does so in the run.
    `composed`: minimal pairs are composed, so that nobody has to see whether a picture changed.
    `least`: how many questions the rate of a claim rests on, where enough are left.
    """

    def __init__(
        self,
        margin: float,
        fdr: float,
        modes: int,
        most: int,
        accuracy: JudgeAccuracy | None = None,
        exact: bool = True,
        labels: int = 40,
        auditor: bool = False,
        composed: bool = True,
        least: int = 20,
    ) -> None:
        self.margin = margin
        self.slots: dict[Pattern, Slot] = {}
        self.accuracy = accuracy
        self.fdr = fdr
        self.modes = modes
        self._most = most
        self._least = min(least, most)
        self._exact = exact
        self._composed = composed
        self.audits = Audits(margin, labels, auditor)
        #: Modes that the verifier's word would certify.
        self._convincing: set[Pattern] = set()
        self._limits: dict[Pattern, float] = {}
        self._need = evidence_for(1, fdr, modes)
        self._states: dict[Pattern, str] = {}
        #: Failing modes → the narrower one that holds their failures, as far as one can see by now.
        self.narrowed: dict[Pattern, Pattern] = {}

    def kinds(self, pattern: Pattern) -> tuple[str, ...]:
        """The kinds of check that the verifier's accuracy is known by: the mode's skills, where they were
        measured one by one, else all answers together, else whatever was measured."""
        known = self.accuracy.kinds if self.accuracy else {}
        named = tuple(skill for skill in pattern.skills if skill in known)
        return named or ((ANSWER,) if ANSWER in known or ALL_OTHERS in known else tuple(known)) or (ANSWER,)

    def unverified(self, pattern: Pattern) -> bool:
        """Whether its verdicts are not the verifier's: the truth is known, or one fact was changed."""
        return self._exact or PAIR in pattern.skills

    def audited(self, pattern: Pattern) -> bool:
        """Whether it is known how the verifier errs on this very mode: on every skill that it takes.

        An accuracy over all questions does not tell: a verifier that miscounts makes a target's counting look
        bad, however seldom it errs elsewhere.
        """
        if self.unverified(pattern):
            return self._composed or PAIR not in pattern.skills
        if pattern in self._borne_out():
            return True
        known = self.accuracy.kinds if self.accuracy else {}
        return bool(pattern.skills) and all(skill in known for skill in pattern.skills)

    def to_audit(self) -> list[tuple[QuestionOutcome, bool]]:
        """Verdicts that the auditor is to look at next, of modes that would be certified."""
        slots = [slot for p, slot in self.slots.items() if p in self._convincing and not self.unverified(p)]
        return [look for slot in slots for look in self.audits.next_looks(slot.asked, self._need)]

    def audited_count(self, pattern: Pattern) -> Counts:
        """What was said of a mode's own verdicts by those who looked at them again."""
        return self.audits.count(self.slots[pattern].asked) if pattern in self.slots else Counts()

    def _borne_out(self) -> set[Pattern]:
        """Modes that e-BH over all slots keeps by the audits' word alone."""
        logs = {pattern: self.audits.log_e(slot.asked) for pattern, slot in self.slots.items()}
        kept = log_e_bh(list(logs.values()), self.fdr, self.modes)
        return {pattern for pattern, keep in zip(logs, kept, strict=True) if keep}

    def refuted(self, pattern: Pattern) -> bool:
        """Whether its verdicts were looked at again, and do not bear the mode out."""
        if self.unverified(pattern) or pattern in self._borne_out():
            return False
        return self.audits.refutes(self.slots[pattern].asked, self._need)

    def limit(self, pattern: Pattern) -> float:
        """The share of passes to test against: what a mode exactly at the margin could show, at worst."""
        if self.accuracy is None or PAIR in pattern.skills:
            return 1 - self.margin
        if pattern not in self._limits:
            found = [self.accuracy.limits((kind,), 1 - self.margin).fail for kind in self.kinds(pattern)]
            self._limits[pattern] = min(found)
        return self._limits[pattern]

    def open(self, pattern: Pattern, why: str) -> bool:
        """Put a mode to the test; False when all slots are taken."""
        if pattern in self.slots:
            return True
        if len(self.slots) >= self.modes:
            return False
        self.slots[pattern] = Slot(pattern, why)
        self._states[pattern] = OPEN
        return True

    def add(self, outcome: QuestionOutcome) -> None:
        self.slots[outcome.wanted].add(outcome)

    def settle(self) -> None:
        """Look at all slots again, after a round."""
        if not self.slots:
            return
        logs = self.log_e_values()
        strong = max(1, len(self._unlike(logs >= -np.log(self.fdr))))
        self._need = need = evidence_for(strong, self.fdr, self.modes)
        self._convincing = {p for p, log_e in zip(self.slots, logs, strict=True) if log_e >= need}
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
            return OPEN if self._audit_lacks_questions(slot) else FAILING
        if count.valid >= _LEAST and chance_above(count, self.margin) <= PASS_DOUBT:
            return PASSING
        if slot.spent >= self._most or slot.starved > MOST_STARVED or self._hopeless(slot, need - log_e):
            return UNDECIDED
        return OPEN

    def _audit_lacks_questions(self, slot: Slot) -> bool:
        """Whether the auditor has looked at all there is, and more questions could bear the mode out."""
        audits = self.audits
        most = min(audits.labels, self._most)
        if self.unverified(slot.pattern) or not audits.auditor or audits.unsteady:
            return False
        if slot.starved > MOST_STARVED or slot.spent >= most:
            return False
        seen = audits.count(slot.asked).tries >= len(slot.asked)
        return (
            seen
            and not audits.proves(slot.asked, self._need)
            and not audits.refutes(slot.asked, self._need, most)
        )

    def _hopeless(self, slot: Slot, missing: float) -> bool:
        """Whether a claim is out of reach: at the rate seen, the questions left do not suffice."""
        count = slot.count
        if count.valid < _LOOK_AHEAD:
            return False
        limit, rate = 1 - self.limit(slot.pattern), (count.fails + 1) / (count.valid + 2)
        return rate <= limit or count.valid + missing / divergence(rate, limit) > 1.5 * self._most

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
        """Which modes get how many questions in a round with so much room: the nearest to a claim first.

        Those that are far from one share what `LONG_SHOTS` leaves them: the search goes on beside them.
        """
        need = self._need
        costs = {
            pattern: self._cost(slot, need)
            for pattern, slot in self.slots.items()
            if self._states[pattern] == OPEN
        }
        spare, found = int(LONG_SHOTS * room), []
        for pattern in sorted(costs, key=lambda one: costs[one]):
            slot, far = self.slots[pattern], costs[pattern] > NEAR
            wanted = math.ceil(min(costs[pattern], float(self._most))) - slot.planned
            number = min(STEP, room, self._most - slot.spent - slot.planned, wanted)
            number = min(number, spare) if far else number
            if number > 0:
                slot.planned += number
                found.append((pattern, number))
                room -= number
                spare -= number if far else 0
        return found

    def lacking_for_rates(self) -> dict[Pattern, int]:
        """Claims whose rate rests on few questions, and how many each lacks."""
        found = {}
        for pattern in self.claims():
            slot = self.slots[pattern]
            lacking = self._least - slot.count.valid - slot.planned
            if lacking > 0 and slot.starved <= MOST_STARVED and slot.spent + slot.planned < self._most:
                found[pattern] = lacking
        return found

    def sharpen(self, room: int) -> list[tuple[Pattern, int]]:
        """Which claims get how many of so many questions, for a better rate: one by one to whichever has
        fewest."""
        lacking = self.lacking_for_rates()
        given: Counter[Pattern] = Counter()
        for _ in range(min(room, sum(lacking.values()))):
            neediest = max(lacking, key=lambda pattern: lacking[pattern])
            lacking[neediest] -= 1
            given[neediest] += 1
        for pattern, number in given.items():
            self.slots[pattern].planned += number
        return list(given.items())

    def why_closed(self, pattern: Pattern) -> str:
        """What ended the test of a mode that is neither proven nor passing."""
        slot = self.slots[pattern]
        if slot.starved > MOST_STARVED:
            return "no further question of this kind can be made from the pictures kept for confirmation"
        if slot.spent >= self._most:
            return f"it used up the {self._most} questions that one mode may take (`confirm.most`)"
        limit = 1 - self.limit(pattern)
        if slot.count.rate <= limit:
            return (
                f"the verifier's known errors alone could make {limit:.0%} of its answers look wrong, and "
                f"{slot.count.rate:.0%} do"
            )
        more = self.questions_needed(pattern) or f"{10 * self._most} or"
        return (
            f"at {slot.count.rate:.0%} a proof takes about {more} more questions, and one mode may take "
            f"{self._most} in all (`confirm.most`)"
        )

    def _cost(self, slot: Slot, need: float) -> float:
        """Questions that a claim still takes, at the rate seen; a mode that is put to the test is expected
        to fail, so the first few are never a long shot."""
        count, limit = slot.count, 1 - self.limit(slot.pattern)
        rate = (count.fails + 1.5) / (count.valid + 2)
        if rate <= limit + 0.01:
            return math.inf
        log_e = float(log_e_value(count.passes, count.fails, 1 - limit))
        if slot.pattern in self._convincing:  # and yet open: it is the audit that lacks questions
            log_e = min(log_e, self.audits.log_e(slot.asked))
        return max(1.0, (need - log_e) / divergence(rate, limit))

    def questions_needed(self, pattern: Pattern) -> int:
        """How many more a claim takes at the rate seen; 0 where that is not to be known."""
        cost = self._cost(self.slots[pattern], self._need)
        return math.ceil(cost) if cost < 10 * self._most else 0

    def give_back(self, pattern: Pattern) -> None:
        """A question that could not be made: there is no picture for it."""
        self.slots[pattern].planned -= 1
        self.slots[pattern].starved += 1

    def miss(self, pattern: Pattern) -> None:
        """A question that was asked for this mode is none of it: it proves nothing here."""
        self.slots[pattern].planned -= 1
        self.slots[pattern].missed += 1

    def log_e_values(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        passes = [slot.count.passes for slot in self.slots.values()]
        failures = [slot.count.fails for slot in self.slots.values()]
        limits = [self.limit(pattern) for pattern in self.slots]
        return log_e_value(passes, failures, limits) if passes else np.zeros(0)

    def certified(self, among: Collection[Pattern] | None = None) -> dict[Pattern, float]:
        """Modes that survive e-BH over all slots, taken or not, with the logarithm of their e-value.

        `among` names those that are wanted: the others count as slots without evidence.
        """
        known = zip(self.slots, self.log_e_values(), strict=True)
        logs = {pattern: float(log_e) for pattern, log_e in known if among is None or pattern in among}
        kept = log_e_bh(list(logs.values()), self.fdr, self.modes)
        return {pattern: log_e for (pattern, log_e), keep in zip(logs.items(), kept, strict=True) if keep}

    def wording_rates(self, pattern: Pattern) -> dict[str, Counts]:
        return dict(sorted(self.slots[pattern].wordings.items()))


def spread(counts: Counter[str]) -> float:
    """Entropy in nats: how evenly something is spread."""
    total = counts.total()
    shares = np.array([number / total for number in counts.values() if number]) if total else np.zeros(0)
    return float(-(shares * np.log(shares)).sum()) if len(shares) else 0.0
