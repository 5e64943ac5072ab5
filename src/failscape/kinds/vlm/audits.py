"""Audits: verdicts of modes that would be certified are looked at again, by an auditor or by people. Pure.

Looked at are always the first verdicts of a mode in the order asked, whatever the verifier said of each: by
the word of whoever looks they are an e-process of their own, although the verifier chose the mode.
"""

from collections.abc import Mapping, Sequence

from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.search.counts import Counts
from failscape.stats import clopper_pearson, log_e_value

#: Verdicts of a mode that an auditor looks at in one round.
STEP = 8

#: Every so many verdicts of a mode are looked at twice, to see whether the auditor agrees with itself.
SECOND_LOOK = 5

#: An auditor that surely says otherwise in more than this share of second looks bears nothing out.
MOST_UNSTEADY = 0.05


class Audits:
    """What was said of verdicts, by key of the question: True: the answer is wrong. None: nobody can tell.

    What people said stands before what the auditor said. `labels` is how many verdicts of a mode count.
    """

    def __init__(self, margin: float, labels: int, auditor: bool) -> None:
        self.labels = labels
        self.auditor = auditor
        self._margin = margin
        self.said: dict[str, bool | None] = {}
        self.people: dict[str, bool | None] = {}
        self._again: dict[str, bool | None] = {}
        self._asked: set[str] = set()

    def hear(self, key: str, failed: bool | None, again: bool = False) -> None:
        (self._again if again else self.said)[key] = failed

    def hear_people(self, said: Mapping[str, bool | None]) -> None:
        self.people.update(said)

    def next_looks(self, asked: Sequence[QuestionOutcome], need: float) -> list[tuple[QuestionOutcome, bool]]:
        """What the auditor looks at next of a mode, and whether for the second time; each is asked once."""
        if not self.auditor or self.proves(asked, need) or self.refutes(asked, need, self.labels):
            return []
        found: list[tuple[QuestionOutcome, bool]] = []
        for place, one in enumerate(asked[: self.labels]):
            if one.key not in self._asked and len(found) < STEP:
                self._asked.add(one.key)
                found += [(one, False)] + ([(one, True)] if place % SECOND_LOOK == 0 else [])
        return found

    def of(self, key: str) -> tuple[bool, bool | None]:
        """Whether a verdict was looked at, and what was said of it."""
        heard = self.people if key in self.people else {} if self.unsteady else self.said
        return key in heard, heard.get(key)

    def by_people(self, asked: Sequence[QuestionOutcome]) -> bool:
        return any(one.key in self.people for one in asked[: self.labels])

    def count(self, asked: Sequence[QuestionOutcome]) -> Counts:
        said = [found for one in asked[: self.labels] for seen, found in [self.of(one.key)] if seen]
        return Counts(said.count(True), said.count(False), said.count(None))

    def log_e(self, asked: Sequence[QuestionOutcome], more: int = 0) -> float:
        """Evidence by these labels alone, and `more` that would all be failures."""
        count = self.count(asked)
        return float(log_e_value(count.passes, count.fails + more, 1 - self._margin))

    def proves(self, asked: Sequence[QuestionOutcome], need: float) -> bool:
        return self.log_e(asked) >= need

    def refutes(self, asked: Sequence[QuestionOutcome], need: float, most: int = 0) -> bool:
        """Whether the labels still to come, of `most` or of all questions asked, cannot bear the mode out."""
        seen = self.count(asked).tries
        left = (most or min(self.labels, len(asked))) - seen
        return seen > 0 and self.log_e(asked, max(0, left)) < need

    @property
    def disagreement(self) -> tuple[int, int]:
        """Second looks at which the auditor said otherwise, and second looks in all."""
        pairs = [
            (self.said[key], again)
            for key, again in self._again.items()
            if again is not None and self.said.get(key) is not None
        ]
        return sum(first is not second for first, second in pairs), len(pairs)

    @property
    def unsteady(self) -> bool:
        others, looks = self.disagreement
        return looks > 0 and float(clopper_pearson(others, looks)[0]) > MOST_UNSTEADY

    @property
    def complaint(self) -> str:
        """What to tell of an auditor that bears nothing out; empty for a steady one."""
        if not self.unsteady:
            return ""
        others, looks = self.disagreement
        return f"the auditor contradicts itself: it said otherwise in {others} of {looks} second looks"
