"""The vlm hunt: rounds of questions, outcomes, confirmed failure modes. Pure; resume is replay.

A round is planned from complete rounds only, so that nothing depends on who answers first: whatever the order
in which trials are told, the same trials make the same hunt.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from failscape.errors import AtlasError, ConfigError
from failscape.kinds.vlm.confirm import FAILING, Confirmation
from failscape.kinds.vlm.errands import Errand, OpenWorld
from failscape.kinds.vlm.findings import findings_of, suspects_of
from failscape.kinds.vlm.items import AuditItem, Item, Naming
from failscape.kinds.vlm.leads import Leads
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.purposes import AUDIT, CONFIRMATION, SEARCH
from failscape.kinds.vlm.survey import VlmSurvey, survey_of
from failscape.kinds.vlm.training.lessons import Lesson, LessonPlanner, begun_lesson
from failscape.search.rounds import RoundHunt
from failscape.spaces.earlier import Earlier, refuse_strangers
from failscape.spaces.questions import ANY, ANYTHING, Grammar, Pattern
from failscape.trials import (
    Finding,
    Progress,
    Purpose,
    QuestionStep,
    Trial,
    is_early_question_key,
    is_question_key,
)


class PlansRounds(Protocol):
    takes_proposals: bool
    leads: Leads
    collapsed: str
    naming: Callable[[], Naming | None]

    def open_rounds(self, questions: int) -> int: ...

    def plan(self, number: int, left: int) -> list[Item]: ...

    def audits(self) -> list[AuditItem]: ...

    def close(self, items: Sequence[Item]) -> None: ...


class VlmHunt(RoundHunt[Item | AuditItem | Errand]):
    """`questions` is how many may reach the target; then the hunt is over."""

    def __init__(
        self,
        grammar: Grammar,
        ledger: QuestionLog,
        confirmation: Confirmation,
        planner: PlansRounds,
        questions: int,
        world: OpenWorld | None = None,
    ) -> None:
        super().__init__()
        self.grammar = grammar
        self.ledger = ledger
        self.confirmation = confirmation
        self.planner = planner
        self.world = world
        if world is not None:
            planner.naming = world.naming
        self.questions = questions
        self.open_rounds = planner.open_rounds(questions)
        self._planned = 0
        self._closed = 0
        self._complaint = ""
        self._warned = ""
        self._found: tuple[int, list[Finding]] | None = None

    def begin_with(self, earlier: Earlier) -> None:
        """Modes found there get the first looks; what fails again is put to the test like any other."""
        if not self.planner.takes_proposals:
            raise ConfigError(
                "`warm_start` is for questioners that search: `zero-shot` is the baseline that does not, and "
                "`learn` and `grpo` learn from their own questions",
                "take `warm_start` out, or set `questioner.strategy: evolve`",
            )
        forms = {ANY, *(pattern.form for pattern in self.grammar.patterns())}
        modes = [mode for mode in map(Pattern.parse, earlier.findings) if mode.form in forms]
        refuse_strangers(earlier, modes, "is of a form of question that this grammar has")
        self.planner.leads.proposed = dict.fromkeys(modes)

    def plan(self) -> list[Item | AuditItem | Errand]:
        left = self.questions - self.ledger.asked - sum(item.questions for item in self.under_way)
        items = self.planner.plan(self._planned, left) if left > 0 else []
        self._planned += bool(items)
        errands = self.world.errands() if self.world is not None else []
        return [*items, *self.planner.audits(), *errands]

    def know(self, trial: Trial) -> None:
        if is_early_question_key(trial.key):
            raise AtlasError(
                f"trial {trial.key!r} was planned by rules of an earlier version",
                "what it found can be read; to go on, start anew in another --atlas",
            )
        if not is_question_key(trial.key):
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

    def purposes(self) -> dict[str, Purpose]:
        asked = {
            one.key: CONFIRMATION if one.purpose == CONFIRMATION else SEARCH
            for one in self.ledger.outcomes
            if one.key
        }
        said = self.confirmation.audits.said
        return asked | {
            step.of(key): AUDIT for key in said for step in (QuestionStep.AUDIT, QuestionStep.AUDIT_AGAIN)
        }

    def survey(self) -> VlmSurvey:
        return survey_of(self.ledger, self.confirmation, self.planner.leads, self.world)

    def lessons(self) -> list[Lesson]:
        """What a questioner can learn from so far, in order; empty unless it is in training."""
        return self.planner.lessons if isinstance(self.planner, LessonPlanner) else []

    def begun(self) -> list[Lesson]:
        """Lessons whose questions are written but not yet graded."""
        asked = [item for item in self.under_way if isinstance(item, Item)]
        return [found for item in asked if (found := begun_lesson(item)) is not None]

    def notices(self) -> list[str]:
        """What went wrong in a way that a user should know of."""
        return [one for one in (self.planner.collapsed, self._complaint, self._warned) if one]

    def hear_people(self, said: Mapping[str, bool | None]) -> None:
        self.confirmation.audits.hear_people(said)
        self._found = None

    def close(self, finished: Sequence[Item | AuditItem | Errand]) -> None:
        for audit in finished:
            if isinstance(audit, AuditItem):
                self.confirmation.audits.hear(audit.outcome.key, audit.failed, audit.again)
        asked = [item for item in finished if isinstance(item, Item)]
        if self.world is not None:
            self.world.close([one for one in finished if isinstance(one, Errand)], asked)
        for item in asked:
            self.ledger.add(item.results)
            for outcome in item.results:
                if outcome.purpose == CONFIRMATION:
                    self.confirmation.add(outcome)
                elif item.misses(outcome):
                    self.confirmation.miss(item.wanted)
        self.confirmation.settle()
        self.planner.close(asked)
        self._closed += 1
        self._complaint = self._complaint or self.confirmation.audits.complaint
        self._warned = self._warned or self._wrong_everywhere()

    def _wrong_everywhere(self) -> str:
        if self.confirmation.state(ANYTHING) != FAILING:
            return ""
        count = self.confirmation.slots[ANYTHING].count
        return (
            f"the target got {count.fails} of {count.valid} random questions wrong, whatever they ask: look "
            "at its answers, at its prompt and its `params`, and let `failscape doctor` try it"
        )
