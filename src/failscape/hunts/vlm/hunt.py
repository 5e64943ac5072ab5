"""The vlm hunt: rounds of questions, outcomes, confirmed failure modes. Pure; resume is replay.

A round is planned from complete rounds only, so that nothing depends on who answers first: whatever the order
in which trials are told, the same trials make the same hunt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

from failscape.errors import AtlasError
from failscape.hunts.vlm.archive import Archive
from failscape.hunts.vlm.confirm import Confirmation
from failscape.hunts.vlm.findings import findings_of
from failscape.hunts.vlm.items import Item
from failscape.hunts.vlm.outcomes import CONFIRM, Ledger
from failscape.hunts.vlm.survey import Survey
from failscape.hunts.vlm.training.lessons import Lesson, LessonPlanner, begun_lesson
from failscape.spaces.questions import Grammar
from failscape.trials import Finding, Probe, Progress, Trial


class PlansRounds(Protocol):
    lag: int
    archive: Archive
    collapsed: str

    def plan(self, number: int, left: int) -> list[Item]: ...

    def close(self, items: Sequence[Item]) -> None: ...


class Round:
    """Items that were planned together. Complete when nothing of it is under way."""

    def __init__(self, number: int, items: list[Item]) -> None:
        self.number = number
        self.items = items
        self.planned = sum(item.count * item.turns for item in items)

    @property
    def complete(self) -> bool:
        return all(not item.pending for item in self.items)


class VlmHunt:
    """`questions` is how many may reach the target; then the hunt is over."""

    def __init__(
        self,
        grammar: Grammar,
        ledger: Ledger,
        confirmation: Confirmation,
        planner: PlansRounds,
        questions: int,
    ) -> None:
        self.grammar = grammar
        self.ledger = ledger
        self.confirmation = confirmation
        self.planner = planner
        self.questions = questions
        self._open_rounds: deque[Round] = deque()
        self._planned = 0
        self._closed = 0
        self._over = False
        self._waiting: dict[str, Probe] = {}
        self._owner: dict[str, tuple[Item, str]] = {}
        """Key → whose probe it is, and its subject."""
        self._told: set[str] = set()
        self._early: dict[str, Trial] = {}
        self._found: tuple[int, list[Finding]] | None = None
        self._advance()

    def ask(self, count: int) -> list[Probe]:
        return [self._waiting.pop(key) for key in list(islice(self._waiting, max(0, count)))]

    def tell(self, trial: Trial) -> None:
        if trial.key in self._told:
            return
        if not trial.key[:1].isdigit() or "." not in trial.key:
            raise AtlasError(
                f"trial {trial.key!r} is not of this hunt", "give the atlas of a vlm hunt, or another --atlas"
            )
        self._told.add(trial.key)
        self._waiting.pop(trial.key, None)
        if trial.key in self._owner:
            self._settle(trial)
            self._advance()
        else:
            self._early[trial.key] = trial

    @property
    def done(self) -> bool:
        return self._over and not self._open_rounds

    def findings(self) -> list[Finding]:
        if self._found is None or self._found[0] != self._closed:
            self._found = self._closed, findings_of(self.ledger, self.confirmation, self.grammar)
        return list(self._found[1])

    def progress(self) -> Progress:
        asked = self.ledger.asked
        slots = len(self.confirmation.slots)
        phase = f"{slots} modes under test" if slots else "searching"
        return Progress(phase, min(asked, self.questions), self.questions, len(self.findings()))

    def survey(self) -> Survey:
        return Survey(self.ledger, self.confirmation, self.planner.archive, self.findings())

    def lessons(self) -> list[Lesson]:
        """What a questioner can learn from so far, in order; empty unless it is in training."""
        return self.planner.lessons if isinstance(self.planner, LessonPlanner) else []

    def begun(self) -> list[Lesson]:
        """Lessons whose questions are written but not yet graded."""
        items = [item for one in self._open_rounds for item in one.items]
        return [found for item in items if (found := begun_lesson(item)) is not None]

    def failed_questions(self) -> list[str]:
        """Each failed question once, in the order asked."""
        return list(dict.fromkeys(one.text for one in self.ledger.outcomes if one.failed))

    def notices(self) -> list[str]:
        """What went wrong in a way that a user should know of."""
        return [self.planner.collapsed] if self.planner.collapsed else []

    def _settle(self, trial: Trial) -> None:
        item, subject = self._owner.pop(trial.key)
        if trial.subject != subject:  # told on, it would count for a mode that it says nothing about
            raise AtlasError(
                f"trial {trial.key} was about {trial.subject!r}, but would now be about {subject!r}",
                "use the version of failscape and the files that the hunt was run with, or another --atlas",
            )
        for probe in item.tell(trial, self.grammar):
            self._enlist(item, probe)

    def _enlist(self, item: Item, probe: Probe) -> None:
        self._owner[probe.key] = item, probe.subject
        early = self._early.pop(probe.key, None)
        if early is None:
            self._waiting[probe.key] = probe
        else:
            self._settle(early)

    def _advance(self) -> None:
        """Close complete rounds one by one; after each, plan as many as may be under way."""
        self._fill()
        while self._open_rounds and self._open_rounds[0].complete:
            self._close(self._open_rounds.popleft())
            self._fill()

    def _fill(self) -> None:
        while not self._over and len(self._open_rounds) <= self.planner.lag:
            left = self.questions - self.ledger.asked - sum(one.planned for one in self._open_rounds)
            items = self.planner.plan(self._planned, left) if left > 0 else []
            if not items:
                self._over = not self._open_rounds  # what is under way may open new work
                return
            self._open_rounds.append(Round(self._planned, items))
            self._planned += 1
            for item in items:
                for probe in item.start():
                    self._enlist(item, probe)

    def _close(self, finished: Round) -> None:
        outcomes = [outcome for item in finished.items for outcome in item.results]
        self.ledger.add(outcomes)
        for outcome in outcomes:
            if outcome.purpose == CONFIRM:
                self.confirmation.add(outcome)
        self.confirmation.settle()
        self.planner.close(finished.items)
        self._closed += 1
