"""The whole of a vlm hunt as plain data: coverage, diversity, learning curve, curriculum, the tree. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from failscape.kinds.vlm.confirm import Confirmation, spread
from failscape.kinds.vlm.errands import OpenWorld
from failscape.kinds.vlm.findings import failure_rate
from failscape.kinds.vlm.leads import Leads
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome
from failscape.kinds.vlm.purposes import SEARCH
from failscape.kinds.vlm.taxonomy import TreeNode, grow
from failscape.kinds.vlm.training.quarters import Quarter, quarters
from failscape.search.counts import Counts
from failscape.search.surveys import SpaceRate, Survey
from failscape.spaces.questions import ANYTHING
from failscape.stats.texts import self_bleu, word_vectors

#: The search is cut into at most so many parts for its curve.
BLOCKS = 24

#: Most questions that are told one by one.
ASKED = 4000

SKILLS_TOLD = 200
_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the search asked and what failed: skills, combinations of them; and how much was invalid."""

    questions: int
    valid: int
    failures: int
    discovery_rate: float
    invalid_share: float
    skills: int
    failing_skills: int
    combinations: int
    failing_combinations: int
    skill_entropy: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """Of failing questions: mean distance of their word vectors, 1 - Self-BLEU, share of different ones."""

    semantic: float
    lexical: float
    different: float


@dataclass(frozen=True, slots=True)
class LearningPoint:
    """A few rounds of the search, and what came before: `questions` and `combinations` add up."""

    round: int
    questions: int
    failures: int
    valid: int
    rate: float
    invalid: float
    different: float
    combinations: int


@dataclass(frozen=True, slots=True)
class Curriculum:
    """By block of rounds: the share of valid questions with each skill, and their mean depth."""

    skills: dict[str, list[float]]
    depth: list[float]


@dataclass(frozen=True, slots=True)
class ArchiveCell:
    """The pattern that looks worst for some skills at some depth. `rate` is None where none was asked."""

    skills: tuple[str, ...]
    depth: int
    title: str
    rate: float | None


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill that questions were said to take. `merged`: other names for it. `state`: whether it is used."""

    name: str
    definition: str
    merged: tuple[str, ...]
    questions: int
    state: str


@dataclass(frozen=True, slots=True)
class OpenSkills:
    """The open list of skills: who named them, what names were merged by, and how many there were."""

    named_by: str
    merged_by: str
    names: int
    rows: tuple[SkillRow, ...]


@dataclass(frozen=True, slots=True)
class VlmSurvey(Survey):
    """`slots` is what e-BH counts over. `asked`: the latest valid questions, as (text, pattern, failed)."""

    margin: float
    fdr: float
    slots: int
    tested: int
    coverage: Coverage
    diversity: Diversity
    learning: tuple[LearningPoint, ...]
    curriculum: Curriculum
    taxonomy: TreeNode
    asked: tuple[tuple[str, str, bool], ...]
    archive: tuple[ArchiveCell, ...]
    quarters: tuple[Quarter, ...] = ()
    skills: OpenSkills | None = None
    #: How often random questions fail, where so many do that it was tried.
    everywhere: SpaceRate | None = None

    @property
    def space_rates(self) -> Sequence[SpaceRate]:
        return (self.everywhere,) if self.everywhere is not None else ()

    @property
    def skill_tree(self) -> dict[str, Any] | None:
        return asdict(self.taxonomy) if self.taxonomy.trials else None

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def survey_of(
    ledger: QuestionLog, confirmation: Confirmation, leads: Leads, world: OpenWorld | None = None
) -> VlmSurvey:
    search = [one for one in ledger.outcomes if one.purpose == SEARCH]
    states = {pattern.text: confirmation.state(pattern) for pattern in confirmation.slots}
    asked = [(one.text, one.pattern.text, one.failed) for one in ledger.outcomes if one.valid]
    return VlmSurvey(
        confirmation.margin,
        confirmation.fdr,
        confirmation.modes,
        len(confirmation.slots),
        coverage(search),
        diversity([one.text for one in search if one.failed]),
        tuple(learning(search)),
        curriculum(search),
        grow(ledger.outcomes).frozen(states),
        tuple(asked[-ASKED:]),
        tuple(_cells(ledger, leads)),
        quarters(search),
        skills_of(world) if world is not None and world.vocabulary.open else None,
        _everywhere(confirmation, len(leads.simplest)),
    )


def _everywhere(confirmation: Confirmation, kinds: int) -> SpaceRate | None:
    """By the confirmation of "any question": its questions are drawn at random, whatever failed before."""
    slot = confirmation.slots.get(ANYTHING)
    if slot is None or not slot.count.valid:
        return None
    rate, interval = failure_rate(confirmation, ANYTHING, slot.count)
    return SpaceRate("all", "any question", kinds, rate, interval)


def skills_of(world: OpenWorld) -> OpenSkills:
    """New skills first, those that most questions take at the top; the list only where questions take it."""
    rows = [
        SkillRow(
            one.name,
            one.definition,
            tuple(name for name in one.names if name != one.name),
            len(one.texts),
            "listed" if one.listed else "taken up" if one.taken else one.refused or "too few questions",
        )
        for one in world.vocabulary.skills
        if one.texts
    ]
    ranked = sorted(rows, key=lambda row: (row.state == "listed", -row.questions, row.name))
    named_by = "a language model" if world.llm else "the words of the questions"
    names = sum(len(one.names) for one in world.vocabulary.skills)
    return OpenSkills(named_by, world.vocabulary.merged_by, names, tuple(ranked[:SKILLS_TOLD]))


def _cells(ledger: QuestionLog, leads: Leads) -> Iterator[ArchiveCell]:
    for (skills, depth), elite in sorted(leads.cells.items()):
        rate = round(ledger.pooled[elite].rate, 4) if elite in ledger.pooled else None
        yield ArchiveCell(skills, depth, elite.title, rate)


def coverage(outcomes: Sequence[QuestionOutcome]) -> Coverage:
    count = Counts()
    for outcome in outcomes:
        count.count(outcome.verdict)
    valid = [one for one in outcomes if one.valid]
    failed = [one for one in valid if one.failed]
    return Coverage(
        questions=len(outcomes),
        valid=count.valid,
        failures=count.fails,
        discovery_rate=round(count.rate, 4),
        invalid_share=round(count.invalid / len(outcomes), 4) if outcomes else 0.0,
        skills=len({skill for one in valid for skill in one.pattern.skills}),
        failing_skills=len({skill for one in failed for skill in one.pattern.skills}),
        combinations=len({one.pattern.skills for one in valid}),
        failing_combinations=len({one.pattern.skills for one in failed}),
        skill_entropy=round(spread(Counter(skill for one in failed for skill in one.pattern.skills)), 4),
    )


def diversity(texts: Sequence[str]) -> Diversity:
    few = list(texts[:_SAMPLE])
    if len(few) < 2:
        return Diversity(0.0, 0.0, float(len(few)))
    rows = word_vectors(few)
    alike = rows @ rows.T
    others = (alike.sum() - np.trace(alike)) / (len(few) * (len(few) - 1))
    return Diversity(
        semantic=round(float(1 - others), 4),
        lexical=round(1 - self_bleu(few), 4),
        different=round(len(set(texts)) / len(texts), 4),
    )


def blocks_of(outcomes: Sequence[QuestionOutcome]) -> list[list[QuestionOutcome]]:
    """Rounds of the search, joined until there are few enough to draw."""
    by_round: dict[int, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_round[outcome.round].append(outcome)
    rounds = [by_round[number] for number in sorted(by_round)]
    size = max(1, -(-len(rounds) // BLOCKS))
    return [list(chain(*rounds[at : at + size])) for at in range(0, len(rounds), size)]


def learning(outcomes: Sequence[QuestionOutcome]) -> list[LearningPoint]:
    """Failure rate among valid questions, invalid share and diversity, over the questions of the search."""
    curve, seen, combinations = [], 0, set()
    for block in blocks_of(outcomes):
        count = Counts()
        for outcome in block:
            count.count(outcome.verdict)
            if outcome.valid:
                combinations.add(outcome.pattern.skills)
        seen += len(block)
        curve.append(
            LearningPoint(
                round=block[-1].round,
                questions=seen,
                failures=count.fails,
                valid=count.valid,
                rate=round(count.rate, 4),
                invalid=round(count.invalid / len(block), 4),
                different=round(len({one.text for one in block}) / len(block), 4),
                combinations=len(combinations),
            )
        )
    return curve


def curriculum(outcomes: Sequence[QuestionOutcome]) -> Curriculum:
    """How often each skill is in the valid questions of each block: what is asked when; and mean depth."""
    blocks = [[one for one in block if one.valid] for block in blocks_of(outcomes)]
    skills = sorted({skill for block in blocks for one in block for skill in one.pattern.skills})
    shares = {
        skill: [
            round(sum(skill in one.pattern.skills for one in block) / len(block), 4) if block else 0.0
            for block in blocks
        ]
        for skill in skills
    }
    depth = [round(sum(one.pattern.depth for one in b) / len(b), 3) if b else 0.0 for b in blocks]
    return Curriculum(shares, depth)
