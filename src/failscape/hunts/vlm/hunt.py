"""The vlm hunt: rounds of questions, outcomes, confirmed failure modes. Pure; resume is replay.

A round is planned from complete rounds only, so that nothing depends on who answers first: whatever the order
in which trials are told, the same trials make the same hunt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from failscape.errors import AtlasError, ConfigError
from failscape.hunts.rounds import RoundHunt
from failscape.hunts.vlm.confirm import Confirmation
from failscape.hunts.vlm.findings import CONFIRMATION, findings_of, suspects_of
from failscape.hunts.vlm.items import AuditItem, Item
from failscape.hunts.vlm.leads import Leads
from failscape.hunts.vlm.outcomes import AUDIT, CONFIRM, QuestionLog
from failscape.hunts.vlm.survey import VlmSurvey, survey_of
from failscape.hunts.vlm.training.lessons import Lesson, LessonPlanner, begun_lesson
from failscape.spaces.earlier import Earlier, refuse_strangers
from failscape.spaces.questions import ANY, Grammar, Pattern
from failscape.trials import Finding, Progress, Trial


class PlansRounds(Protocol):
    takes_proposals: bool
    lag: int
    leads: Leads
    collapsed: str

    def plan(self, number: int, left: int) -> list[Item]: ...

    def audits(self) -> list[AuditItem]: ...

    def close(self, items: Sequence[Item]) -> None: ...


class VlmHunt(RoundHunt[Item | AuditItem]):
    """`questions` is how many may reach the target; then the hunt is over."""

    def __init__(
        self,
        grammar: Grammar,
        ledger: QuestionLog,
        confirmation: Confirmation,
        planner: PlansRounds,
        questions: int,
    ) -> None:
        super().__init__()
        self.grammar = grammar
        self.ledger = ledger
        self.confirmation = confirmation
        self.planner = planner
        self.questions = questions
        self.open_rounds = planner.lag + 1
        self._planned = 0
        self._closed = 0
        self._found: tuple[int, list[Finding]] | None = None

    def begin_with(self, earlier: Earlier) -> None:
        """Modes found there get the first looks; what fails again is put to the test like any other."""
        if not self.planner.takes_proposals:
            raise ConfigError(
                "`warm_start` is for questioners that search: `zero-shot` is the baseline that does not, and "
                "`grpo` learns from its own questions",
                "take `warm_start` out, or set `questioner.strategy: evolve`",
            )
        forms = {ANY, *(pattern.form for pattern in self.grammar.patterns())}
        modes = [mode for mode in map(Pattern.parse, earlier.findings) if mode.form in forms]
        refuse_strangers(earlier, modes, "is of a form of question that this grammar has")
        self.planner.leads.proposed = dict.fromkeys(modes)

    def plan(self) -> list[Item | AuditItem]:
        left = self.questions - self.ledger.asked - sum(item.count * item.turns for item in self.under_way)
        items = self.planner.plan(self._planned, left) if left > 0 else []
        self._planned += bool(items)
        return [*items, *self.planner.audits()]

    def know(self, trial: Trial) -> None:
        if trial.key[:1].isdigit():
            raise AtlasError(
                f"trial {trial.key!r} was planned by rules of an earlier version",
                "what it found can be read; to go on, start anew in another --atlas",
            )
        if not trial.key.startswith("q") or "." not in trial.key:
            raise AtlasError(
                f"trial {trial.key!r} is not of this hunt", "give the atlas of a vlm hunt, or another --atlas"
            )

    def findings(self) -> list[Finding]:
        if self._found is None or self._found[0] != self._closed:
            self._found = self._closed, findings_of(self.ledger, self.confirmation, self.grammar)
        return list(self._found[1])

    def suspects(self) -> list[Finding]:
        return suspects_of(self.ledger, self.confirmation, self.grammar)

    def progress(self) -> Progress:
        asked = self.ledger.asked
        slots = len(self.confirmation.slots)
        phase = f"{slots} modes under test" if slots else "searching"
        return Progress(phase, min(asked, self.questions), self.questions, len(self.findings()))

    def purposes(self) -> dict[str, str]:
        asked = {
            one.key: CONFIRMATION if one.purpose == CONFIRM else "search"
            for one in self.ledger.outcomes
            if one.key
        }
        slots = self.confirmation.slots.values()
        return asked | {f"{key}!": AUDIT for slot in slots for key in slot.audits}

    def survey(self) -> VlmSurvey:
        return survey_of(self.ledger, self.confirmation, self.planner.leads)

    def lessons(self) -> list[Lesson]:
        """What a questioner can learn from so far, in order; empty unless it is in training."""
        return self.planner.lessons if isinstance(self.planner, LessonPlanner) else []

    def begun(self) -> list[Lesson]:
        """Lessons whose questions are written but not yet graded."""
        asked = [item for item in self.under_way if isinstance(item, Item)]
        return [found for item in asked if (found := begun_lesson(item)) is not None]

    def failed_questions(self) -> list[str]:
        """Each failed question once, in the order asked."""
        return list(dict.fromkeys(one.text for one in self.ledger.outcomes if one.failed))

    def notices(self) -> list[str]:
        """What went wrong in a way that a user should know of."""
        return [self.planner.collapsed] if self.planner.collapsed else []

    def close(self, finished: Sequence[Item | AuditItem]) -> None:
        for audit in finished:
            if isinstance(audit, AuditItem):
                self.confirmation.audit(audit.outcome, audit.failed)
        asked = [item for item in finished if isinstance(item, Item)]
        for item in asked:
            self.ledger.add(item.results)
            for outcome in item.results:
                if outcome.purpose == CONFIRM:
                    self.confirmation.add(outcome)
                elif item.misses(outcome):
                    self.confirmation.miss(item.wanted)
        self.confirmation.settle()
        self.planner.close(asked)
        self._closed += 1
