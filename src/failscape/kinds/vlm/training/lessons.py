"""Rounds for a questioner that learns: warm-up, lessons with rewards, then confirmation of finds. Pure.

The hunt decides which picture each lesson is about, which skill it names, and what each question was worth;
the questioner, wherever it is trained, only writes and is told. The same trials give the same rewards.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.items import Item
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome
from failscape.kinds.vlm.planners import Planner, Rounds
from failscape.kinds.vlm.purposes import SEARCH
from failscape.kinds.vlm.training.rewards import GradedQuestion, Rewards, Weights
from failscape.search.counts import Counts
from failscape.spaces.lesson_guidance import LessonGuidance, LessonPhase
from failscape.spaces.questions import ANY, Draft, Grammar, Pattern, Sights
from failscape.trials import QuestionStep, number_of_question

#: Share of all questions that training leaves to confirmation.
KEPT_FOR_CONFIRMATION = 0.25

#: Questions on one picture in the warm-up: many pictures teach more than many questions on a few.
WARM_GROUP = 2

#: Share of the warm-up that names a skill: rare kinds of question come up where they are asked for. Questions
#: that nobody guided are learned from too.
WARM_NAMED = 0.5

_ANYTHING = Pattern(ANY)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a questioner wrote about one picture, and what each question was worth.

    `outcomes` has 0 for an invalid question, 1 for a valid one and 2 for one that the target got wrong.
    `kinds` are combinations of skills.
    """

    guidance: LessonGuidance
    images: tuple[str, ...]
    texts: tuple[str, ...]
    rewards: tuple[float, ...]
    outcomes: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    steps: int
    pictures: int
    group: int
    warm_up: int = 0
    questions: int = 1_000_000
    embeds: bool = False
    #: Share of lessons that name a skill.
    named: float = 0.75
    #: Whether skills that bring failures are named more often.
    adapt: bool = True


class LessonPlanner(Planner):
    """Plans lessons until they are over or the questioner collapses; afterwards as every planner confirms."""

    takes_proposals = False

    def __init__(
        self,
        grammar: Grammar,
        ledger: QuestionLog,
        confirmation: Confirmation,
        rounds: Rounds,
        seed: int,
        sights: Sights,
        schedule: Schedule,
        weights: Weights,
    ) -> None:
        super().__init__(grammar, ledger, confirmation, rounds, seed)
        self.lessons: list[Lesson] = []
        self._sights = sights
        self._schedule = schedule
        self._rewards = Rewards(weights)
        per_round = schedule.pictures * schedule.group
        self._warm_rounds = -(-schedule.warm_up // per_round)
        self._brought: dict[str, Counts] = defaultdict(Counts)

    def open_rounds(self, questions: int) -> int:
        """Two always: a trainer reads the rows of its next step before it is told the rewards of this one."""
        return 2

    def plan(self, number: int, left: int) -> list[Item]:
        schedule = self._schedule
        reserve = int(KEPT_FOR_CONFIRMATION * schedule.questions)
        teaching = number < self._warm_rounds + schedule.steps
        if teaching and not self.collapsed and left - reserve >= schedule.pictures * schedule.group:
            return self._teach(number)
        return self._plan(number, left)

    def _teach(self, number: int) -> list[Item]:
        rng = random.Random(f"{self._seed}/lesson/{number}")
        schedule = self._schedule
        phase = LessonPhase.LESSON
        pictures, group, named = schedule.pictures, schedule.group, schedule.named
        first = (number - self._warm_rounds) * pictures
        if number < self._warm_rounds:
            phase = LessonPhase.WARM_UP
            group, named = min(group, WARM_GROUP), WARM_NAMED
            pictures = schedule.pictures * schedule.group // group
            first = number * pictures
        items = []
        for place in range(pictures):
            skill = self._skill(rng, named)
            sight = self._sights.pick(rng, False, skill)
            if sight is None:
                break
            lesson = LessonGuidance(phase, first + place, skill, " ".join(sight.captions))
            work = Draft(_ANYTHING, sight, lesson.text)
            item = self._item(number, place, SEARCH, _ANYTHING, work, group)
            item.embeds = schedule.embeds
            item.lesson = lesson
            items.append(item)
        return items

    def _skill(self, rng: random.Random, named: float) -> str:
        """The skill that a lesson asks for; "" where the questioner is free.

        Half of the named ones by chance, so that nothing is forgotten; half by Thompson sampling on how often
        lessons with that name brought a failure.
        """
        skills = self._grammar.skills
        if not skills or rng.random() >= named:
            return ""
        if not self._schedule.adapt or rng.random() < 0.5:
            return rng.choice(skills)
        drawn = {
            skill: rng.betavariate(1 + self._brought[skill].fails, 1 + self._brought[skill].passes)
            for skill in skills
        }
        return max(skills, key=lambda skill: drawn[skill])

    def _searching(self, number: int, rng: random.Random, room: int, first: int) -> list[Item]:
        """After the lessons there are no first looks: what failed gets second ones, and is confirmed."""
        return []

    def close(self, items: Sequence[Item]) -> None:
        """A round is complete: grade its lessons."""
        self._looked(items)
        taught = [(item, item.lesson) for item in items if item.lesson is not None]
        if not taught:
            return
        rows = [(item, self._row(item)) for item, _ in taught]
        if taught[0][1].phase is LessonPhase.WARM_UP:
            graded = [[0.0] * len(row) for _, row in rows]  # nobody learns from rewards yet
        else:
            flat = iter(
                self._rewards.of(
                    [_written(item, at, one) for item, row in rows for at, one in enumerate(row)]
                )
            )
            graded = [[next(flat) for _ in row] for _, row in rows]
            self._watch([one.text for _, row in rows for one in row])
        for (item, lesson), (_, row), rewards in zip(taught, rows, graded, strict=True):
            self._note(lesson.skill, row)
            texts = tuple(one.text for one in row)
            kinds = tuple("+".join(one.pattern.skills) for one in row)
            outcomes = tuple(one.valid + one.failed for one in row)
            worth = tuple(rewards)
            self.lessons.append(Lesson(lesson, item.images, texts, worth, outcomes, kinds))

    def _note(self, skill: str, row: Sequence[QuestionOutcome]) -> None:
        """An invalid question counts against the skill that was named: it brought nothing."""
        for outcome in row if skill else ():
            if outcome.failed:
                self._brought[skill].fails += 1
            else:
                self._brought[skill].passes += 1

    def _row(self, item: Item) -> list[QuestionOutcome]:
        """The outcomes of a lesson in the order in which its questions were written."""
        return [
            one
            for key, one in sorted(
                item.outcomes.items(), key=lambda pair: (number_of_question(pair[0]), pair[0])
            )
            if one.text
        ]


def begun_lesson(item: Item) -> Lesson | None:
    """The lesson of an item whose questions came back, without texts and rewards; None for other items."""
    being_written = QuestionStep.WRITING.of(item.key) in item.pending
    if item.lesson is None or being_written:
        return None
    return Lesson(item.lesson, item.images, (), ())


def _written(item: Item, at: int, outcome: QuestionOutcome) -> GradedQuestion:
    vector = tuple(item.vectors[at]) if at < len(item.vectors) else ()
    skills = outcome.pattern.skills
    followed = not item.lesson_skill or not skills or item.lesson_skill in skills
    return GradedQuestion(outcome.text, item.key, skills, outcome.valid, outcome.failed, vector, followed)
