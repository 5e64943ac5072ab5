"""One piece of work of a round: a question to be asked, perhaps written first, perhaps followed up. Pure.

An item hands out probes as soon as they can be known and turns their trials into outcomes. Nothing depends on
the order in which its trials are told.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.kinds.vlm.purposes import AUDIT, CONFIRMATION, SEARCH
from failscape.spaces.lesson_guidance import LessonGuidance
from failscape.spaces.minimal_pairs import Pair
from failscape.spaces.questions import ANY, Asked, Draft, FollowUp, Grammar, Pattern, Sight, make_pattern
from failscape.spaces.talks import TOLD, follow, later_skills, skill_of_turn
from failscape.spaces.vocabulary import SkillVocabulary, mined_names
from failscape.trials import (
    Answer,
    Check,
    Decide,
    Edit,
    Embed,
    ExpectChange,
    Generate,
    NameSkills,
    Probe,
    Propose,
    Purpose,
    QuestionStep,
    Recall,
    Show,
    Step,
    Trial,
    Verdict,
    Verify,
    VerifyAgain,
    derive_seed,
    is_turn_of,
    key_of_question,
)

#: What is pending while the questions of a lesson are embedded.
EMBEDDING = "embedding"

#: What a rambling target says beyond this is not kept in memory; the atlas has all of it.
LONGEST_ANSWER = 2_000


@dataclass(slots=True)
class AuditItem:
    """A verdict that an auditor looks at again, blind. `failed` is what it says; None where it is invalid.

    `again`: for the second time, to see whether it says the same.
    """

    outcome: QuestionOutcome
    again: bool = False
    purpose: Purpose = AUDIT
    wanted: Pattern = field(init=False)
    work: None = None
    questions: int = 0
    failed: bool | None = None

    def __post_init__(self) -> None:
        self.wanted = self.outcome.wanted

    def start(self) -> list[Probe]:
        outcome = self.outcome
        turns = Recall(((outcome.text, outcome.answer),))
        steps = (Show(outcome.images), turns, VerifyAgain(outcome.truth))
        step = QuestionStep.AUDIT_AGAIN if self.again else QuestionStep.AUDIT
        return [Probe(step.of(outcome.key), outcome.wanted.text, steps, int(self.again))]

    def tell(self, trial: Trial) -> list[Probe]:
        said = trial.facts[2] if len(trial.facts) > 2 else None
        if isinstance(said, list) and said[0] and said[1] is not None:
            self.failed = not said[1]
        return []

    @property
    def results(self) -> list[QuestionOutcome]:
        return []


class HalfPair(NamedTuple):
    """One picture of a minimal pair under way: its steps, and the trial of the first picture, if it is the
    second."""

    pair: Pair
    steps: tuple[Step, ...]
    first: Trial | None


@dataclass(frozen=True, slots=True)
class Talk:
    """A talk after its first answer: what was said, and the skills of the turns that are left.

    `key` is that of its latest trial. `following` is the turn under way.
    """

    key: str
    asked: Asked
    first: QuestionOutcome
    turns: tuple[tuple[str, str], ...]
    left: tuple[str, ...]
    following: FollowUp | None = None

    @classmethod
    def begun(cls, asked: Asked, first: QuestionOutcome, turns: int) -> Talk:
        return cls(first.key, asked, first, ((asked.text, first.answer),), later_skills(turns))

    def after(self, key: str, outcome: QuestionOutcome) -> Talk:
        """With one turn more; what nobody could use is not part of what was said."""
        turns = (*self.turns, (outcome.text, outcome.answer)) if outcome.answer else self.turns
        return replace(self, key=key, turns=turns)


@dataclass(frozen=True, slots=True)
class Naming:
    """How the skills of written questions are named: by an llm, or by their words; with vectors or without.

    `known` are the skills of when the question was planned.
    """

    llm: bool
    embeds: bool
    known: tuple[str, ...]


class NamedQuestion(NamedTuple):
    """Names of skills that a question was said to take, and their vectors where there are any."""

    text: str
    names: tuple[str, ...]
    vectors: tuple[Sequence[float], ...] = ()


@dataclass(slots=True)
class Item:
    """`key` is its place: round and number. `pending` are its probes that are under way."""

    key: str
    round: int
    purpose: Purpose
    wanted: Pattern
    work: Asked | Draft
    seed: int
    grammar: Grammar
    count: int = 1
    turns: int = 1
    judged: bool = False
    naming: Naming | None = None
    named: dict[str, NamedQuestion] = field(default_factory=dict)
    #: Of a questioner in training.
    lesson: LessonGuidance | None = None
    embeds: bool = False
    vectors: list[list[float]] = field(default_factory=list)
    images: tuple[str, ...] = ()
    pending: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, QuestionOutcome] = field(default_factory=dict)

    @property
    def lesson_skill(self) -> str:
        """The skill that a lesson names, "" for none."""
        return self.lesson.skill if self.lesson else ""

    @property
    def questions(self) -> int:
        """How many the target may be asked for it."""
        return 2 if isinstance(self.work, Pair) else self.count * self.turns

    def start(self) -> list[Probe]:
        if isinstance(self.work, Pair):
            return [self._half(self.work, key_of_question(self.key, 0))]
        if isinstance(self.work, Asked):
            return [self._test(self.work, key_of_question(self.key, 0))]
        key = QuestionStep.WRITING.of(self.key)
        self.pending[key] = self.work
        steps: tuple[Step, ...] = (*self.work.sight.steps, Propose(self.work.guidance, self.count))
        return [Probe(key, self.wanted.text, steps, self._seed_of(key))]

    def tell(self, trial: Trial) -> list[Probe]:
        """Learn from a trial; gives the probes that can be known now."""
        work = self.pending.pop(trial.key)
        if isinstance(work, Draft):
            return self._written(trial, work)
        if work is EMBEDDING:
            self.vectors = list(trial.facts[-1]) if trial.verdict is Verdict.NONE else []
            return []
        if isinstance(work, NamedQuestion):
            if trial.verdict is Verdict.NONE:
                question = QuestionStep.EMBEDDING.without(trial.key)
                self.named[question] = work._replace(vectors=tuple(trial.facts[-1]))
            return []
        if isinstance(work, HalfPair):
            return self._halved(trial, work)
        if isinstance(work, Talk):
            self.outcomes[trial.key] = outcome = self._followed(trial, work)
            return self._go_on(work.after(trial.key, outcome))
        self.outcomes[trial.key] = outcome = self._answered(trial, work)
        named = self._name(trial, work) if outcome.valid and self.naming else []
        talk = self._go_on(Talk.begun(work, outcome, self.turns)) if self.turns > 1 else []
        return [*named, *talk]

    @property
    def results(self) -> list[QuestionOutcome]:
        """In an order that does not depend on who answered first."""
        return [self.outcomes[key] for key in sorted(self.outcomes)]

    def misses(self, outcome: QuestionOutcome) -> bool:
        """Whether it was asked to confirm a mode, and is no question of it."""
        same_turn = skill_of_turn(outcome.pattern) == skill_of_turn(self.wanted)
        return self.purpose == CONFIRMATION != outcome.purpose and same_turn

    def _test(self, asked: Asked, key: str) -> Probe:
        self.pending[key] = asked
        steps: tuple[Step, ...] = (*asked.sight.steps, Answer(asked.text), Verify(asked.truth))
        if self.naming and self.naming.llm:
            steps += (NameSkills(asked.text, self.naming.known),)
        return Probe(key, self.wanted.text, steps, self._seed_of(key))

    def _name(self, trial: Trial, asked: Asked) -> list[Probe]:
        """Note what the question is said to take; gives the probe that embeds new names, if any does."""
        assert self.naming is not None
        place = len(asked.sight.steps) + 2
        said = trial.facts[place] if self.naming.llm and len(trial.facts) > place else []
        names = tuple(said) or (*asked.pattern.skills, *mined_names(asked.text))
        self.named[trial.key] = found = NamedQuestion(asked.text, names)
        if not self.naming.embeds or not names:
            return []
        key = QuestionStep.EMBEDDING.of(trial.key)
        self.pending[key] = found
        return [Probe(key, self.wanted.text, (Embed(names),), 0)]

    def named_rows(self) -> list[NamedQuestion]:
        return [self.named[key] for key in sorted(self.named)]

    def settle(self, vocabulary: SkillVocabulary) -> None:
        """Let every question count for the skills that it is said to take, as far as they are known now."""
        for key, (_, names, _) in self.named.items():
            skills = vocabulary.resolve(names)
            for place, outcome in self.outcomes.items():
                if outcome.key and (place == key or is_turn_of(place, key)):
                    turn = skill_of_turn(outcome.pattern)
                    pattern = make_pattern(ANY, [*skills, turn] if turn else skills, outcome.pattern.clauses)
                    self.outcomes[place] = self._placed(replace(outcome, pattern=pattern))

    def _placed(self, outcome: QuestionOutcome) -> QuestionOutcome:
        """For what a question counts: what it was asked for, if it is of that, else for what it is."""
        same_turn = skill_of_turn(outcome.pattern) == skill_of_turn(self.wanted)
        fits = same_turn and self.wanted.covers(outcome.full)
        purpose = self.purpose if fits else SEARCH
        return replace(outcome, purpose=purpose, wanted=self.wanted if fits else outcome.pattern)

    def _half(self, pair: Pair, key: str, first: Trial | None = None) -> Probe:
        """One picture of a minimal pair; with the trial of the first, the second."""
        number = 0 if first is None else 1
        steps: list[Step] = [*pair.sight.steps, *map(Edit, pair.edits[number])]
        if self.judged:
            steps.append(Decide((Check("edit", pair.seen[number], pair.seen[number], gate=True),)))
        steps.append(Answer(pair.text))
        if first is not None:
            steps.append(ExpectChange(str(first.facts[-1]), pair.change))
        self.pending[key] = HalfPair(pair, tuple(steps), first)
        return Probe(
            key, self.wanted.text, tuple(steps), self._seed_of(QuestionStep.SECOND_PICTURE.without(key))
        )

    def _halved(self, trial: Trial, half: HalfPair) -> list[Probe]:
        if half.first is None and trial.verdict is Verdict.NONE:
            self.images = latest_picture(half.steps, trial)
            return [self._half(half.pair, QuestionStep.SECOND_PICTURE.of(trial.key), trial)]
        pair, before = half.pair, str(half.first.facts[-1]) if half.first else ""
        answer = said(trial, [type(step) for step in half.steps].index(Answer))[0]
        self.outcomes[trial.key] = QuestionOutcome(
            trial.key,
            self.purpose,
            self.wanted,
            pair.pattern,
            trial.verdict,
            pair.text,
            f"another answer than {before!r}: {pair.change}" if before else "",
            answer,
            trial.reason,
            (*self.images, *latest_picture(half.steps, trial)),
            pair.features,
            pair.wording,
            round=self.round,
            turns=((pair.text, before[:LONGEST_ANSWER]),) if before else (),
            questions=2 if half.first else 1,
        )
        return []

    def _written(self, trial: Trial, draft: Draft) -> list[Probe]:
        """Questions came back. Those that the grammar knows to be invalid are not worth asking."""
        texts = trial.facts[-1] if trial.verdict is Verdict.NONE else []
        if not isinstance(texts, list) or not texts:
            self.outcomes[trial.key] = self._invalid("", trial.reason or "no question was written")
            return []
        sight = shown(draft.sight, trial)
        self.images = pictures(trial, draft.sight)
        probes = self._embedded(texts)
        for number, text in enumerate(texts[: self.count]):
            key = key_of_question(self.key, number)
            asked = self.grammar.read(str(text), sight, self.wanted)
            if asked is None:
                self.outcomes[key] = self._invalid(str(text), "the question is not valid for the picture")
            else:
                probes.append(self._test(asked, key))
        return probes

    def _embedded(self, texts: list[str]) -> list[Probe]:
        if not self.embeds:
            return []
        key = QuestionStep.EMBEDDING.of(self.key)
        self.pending[key] = EMBEDDING
        return [Probe(key, self.wanted.text, (Embed(tuple(map(str, texts))),), 0)]

    def _invalid(self, text: str, why: str) -> QuestionOutcome:
        verdict = Verdict.INVALID
        outcome = QuestionOutcome("", self.purpose, self.wanted, self.wanted, verdict, text, reason=why)
        return replace(outcome, round=self.round, named=self.lesson_skill)

    def _answered(self, trial: Trial, asked: Asked) -> QuestionOutcome:
        answer, agreement = said(trial, len(asked.sight.steps))
        outcome = QuestionOutcome(
            trial.key,
            self.purpose,
            self.wanted,
            asked.pattern,
            trial.verdict,
            asked.text,
            asked.truth,
            answer,
            trial.reason,
            pictures(trial, asked.sight),
            asked.features,
            asked.wording,
            agreement,
            self.round,
            named=self.lesson_skill,
        )
        # Asked for what comes after it, or not what was wanted: then it counts for what it is, no more.
        return self._placed(outcome)

    def _go_on(self, talk: Talk) -> list[Probe]:
        """The next turn for which there is something to ask, up to the one that the item is for."""
        first, wanted = talk.first, skill_of_turn(self.wanted)
        later = [one for key, one in self.outcomes.items() if is_turn_of(key, first.key)]
        reached = wanted and any(wanted in one.pattern.skills for one in later)
        while first.valid and talk.left and not reached:
            skill = talk.left[0]
            key = QuestionStep.NEXT_TURN.of(talk.key)
            talk = replace(talk, left=talk.left[1:])
            right = first.verdict is Verdict.PASS
            fresh, rng = self.purpose == CONFIRMATION, random.Random(key)
            found = follow(self.grammar, talk.asked, first.answer, right, skill, rng, fresh)
            if found is None:
                continue
            self.pending[key] = replace(talk, following=found)
            shown = Show(first.images), *(found.sight.steps if found.sight else ())
            steps = *shown, Recall(talk.turns), Answer(found.text), Verify(found.expected)
            return [Probe(key, found.pattern.text, steps, self._seed_of(key))]
        if wanted and not reached:
            self.outcomes[QuestionStep.NEXT_TURN.of(talk.key)] = self._invalid(
                "", "there was nothing to follow up"
            )
        return []

    def _followed(self, trial: Trial, talk: Talk) -> QuestionOutcome:
        found = talk.following
        assert found is not None
        steps = found.sight.steps if found.sight else ()
        answer, agreement = said(trial, 2 + len(steps))
        images = talk.first.images + (pictures(trial, found.sight, 1) if found.sight else ())
        what = TOLD[skill_of_turn(found.pattern)]
        reason = f"{what}: said {talk.first.answer!r} to {talk.asked.text!r} before; {trial.reason}"
        outcome = QuestionOutcome(
            trial.key,
            self.purpose,
            self.wanted,
            found.pattern,
            trial.verdict,
            found.text,
            found.expected,
            answer,
        )
        said_why = reason if trial.verdict is Verdict.FAIL else trial.reason
        found_out = replace(outcome, reason=said_why, images=images, agreement=agreement, round=self.round)
        return self._placed(replace(found_out, turns=talk.turns))

    def _seed_of(self, key: str) -> int:
        return derive_seed(self.seed, hash_of(key))


def hash_of(key: str) -> int:
    """A number that is the same in every process, as `hash` is not."""
    return int.from_bytes(key.encode()[-8:].rjust(8, b"\0"), "big")


def shown(sight: Sight, trial: Trial) -> Sight:
    """The pictures of a trial as stored ones, so that the next probe shows the very same."""
    return replace(sight, steps=(Show(pictures(trial, sight)),))


def pictures(trial: Trial, sight: Sight, before: int = 0) -> tuple[str, ...]:
    """The pictures that a sight brought into a trial; `before` steps come first."""
    found: list[str] = []
    for step, fact in zip(sight.steps, trial.facts[before:], strict=False):
        if isinstance(step, Generate) and isinstance(fact, str):
            found.append(fact)
        elif isinstance(step, Show):
            found.extend(step.images)
    return tuple(found)


def latest_picture(steps: Sequence[Step], trial: Trial) -> tuple[str, ...]:
    """What the target was shown of pictures that were drawn and edited: the latest."""
    named = [
        str(fact[-1] if isinstance(step, Show) else fact)
        for step, fact in zip(steps, trial.facts, strict=False)
        if isinstance(step, Generate | Edit | Show) and fact
    ]
    return tuple(named[-1:])


def said(trial: Trial, before: int) -> tuple[str, float]:
    """The answer, and how many verifiers agree; `before` steps come first."""
    facts = trial.facts
    answer = facts[before] if len(facts) > before and isinstance(facts[before], str) else ""
    verified = facts[before + 1] if len(facts) > before + 1 else None
    agreement = float(verified[3]) if isinstance(verified, list) and len(verified) > 3 else 1.0
    return answer[:LONGEST_ANSWER], agreement
