"""One piece of work of a round: a question to be asked, perhaps written first, perhaps followed up. Pure.

An item hands out probes as soon as they can be known and turns their trials into outcomes. Nothing depends on
the order in which its trials are told.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from failscape.hunts.vlm.outcomes import AUDIT, CONFIRM, SEARCH, QuestionOutcome
from failscape.spaces.questions import Asked, Draft, FollowUp, Grammar, Pattern, Sight
from failscape.trials import (
    Answer,
    Embed,
    Generate,
    Probe,
    Propose,
    Recall,
    Show,
    Step,
    Trial,
    Verdict,
    Verify,
    VerifyAgain,
    derive_seed,
)

EMBEDDING = "embedding"
"""What is pending while the questions of a lesson are embedded."""

LONGEST_ANSWER = 2_000
"""What a rambling target says beyond this is not kept in memory; the atlas has all of it."""


@dataclass(slots=True)
class AuditItem:
    """A verdict that an auditor looks at again, blind. `failed` is what it says; None where it is invalid."""

    outcome: QuestionOutcome
    purpose: str = AUDIT
    wanted: Pattern = field(init=False)
    work: None = None
    count: int = 0
    turns: int = 1
    failed: bool | None = None

    def __post_init__(self) -> None:
        self.wanted = self.outcome.wanted

    def start(self) -> list[Probe]:
        outcome = self.outcome
        turns = Recall(((outcome.text, outcome.answer),))
        steps = (Show(outcome.images), turns, VerifyAgain(outcome.truth))
        return [Probe(f"{outcome.key}!", outcome.wanted.text, steps, 0)]

    def tell(self, trial: Trial) -> list[Probe]:
        said = trial.facts[2] if len(trial.facts) > 2 else None
        if isinstance(said, list) and said[0] and said[1] is not None:
            self.failed = not said[1]
        return []

    @property
    def results(self) -> list[QuestionOutcome]:
        return []


@dataclass(slots=True)
class Item:
    """`key` is its place: round and number. `pending` are its probes that are under way."""

    key: str
    round: int
    purpose: str
    wanted: Pattern
    work: Asked | Draft
    seed: int
    grammar: Grammar
    count: int = 1
    turns: int = 1
    embeds: bool = False
    vectors: list[list[float]] = field(default_factory=list)
    images: tuple[str, ...] = ()
    pending: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, QuestionOutcome] = field(default_factory=dict)

    def start(self) -> list[Probe]:
        if isinstance(self.work, Asked):
            return [self._test(self.work, f"{self.key}.0")]
        key = f"{self.key}?"
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
        if isinstance(work, FollowUp):
            self.outcomes[trial.key] = self._followed(trial, work)
            return []
        self.outcomes[trial.key] = outcome = self._answered(trial, work)
        if self.turns < 2:
            return []
        probes = self._follow_up(work, outcome) if outcome.valid else []
        if not probes and self.wanted.second_turn:
            missing = self._invalid("", "there was nothing to follow up")
            self.outcomes[f"{trial.key}>"] = missing
        return probes

    @property
    def results(self) -> list[QuestionOutcome]:
        """In an order that does not depend on who answered first."""
        return [self.outcomes[key] for key in sorted(self.outcomes)]

    def misses(self, outcome: QuestionOutcome) -> bool:
        """Whether it was written to confirm a mode, and is no question of it."""
        return self.purpose == CONFIRM and not self.wanted.second_turn and not outcome.pattern.second_turn

    def _test(self, asked: Asked, key: str) -> Probe:
        self.pending[key] = asked
        steps: tuple[Step, ...] = (*asked.sight.steps, Answer(asked.text), Verify(asked.truth))
        return Probe(key, self.wanted.text, steps, self._seed_of(key))

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
            key = f"{self.key}.{number}"
            asked = self.grammar.read(str(text), sight, self.wanted)
            if asked is None:
                self.outcomes[key] = self._invalid(str(text), "the question is not valid for the picture")
            else:
                probes.append(self._test(asked, key))
        return probes

    def _embedded(self, texts: list[str]) -> list[Probe]:
        if not self.embeds:
            return []
        key = f"{self.key}~"
        self.pending[key] = EMBEDDING
        return [Probe(key, self.wanted.text, (Embed(tuple(map(str, texts))),), 0)]

    def _invalid(self, text: str, why: str) -> QuestionOutcome:
        verdict = Verdict.INVALID
        return QuestionOutcome(
            "", self.purpose, self.wanted, self.wanted, verdict, text, reason=why, round=self.round
        )

    def _answered(self, trial: Trial, asked: Asked) -> QuestionOutcome:
        answer, agreement = said(trial, len(asked.sight.steps))
        # Asked for what comes after it, or not what was wanted: then it counts for what it is, no more.
        other = self.wanted.second_turn or not self.wanted.covers(asked.full)
        return QuestionOutcome(
            trial.key,
            SEARCH if other else self.purpose,
            asked.pattern if other else self.wanted,
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
        )

    def _follow_up(self, asked: Asked, outcome: QuestionOutcome) -> list[Probe]:
        key = f"{outcome.key}>"
        found = self.grammar.follow_up(asked, outcome.answer, random.Random(key))
        if found is None:
            return []
        self.pending[key] = found
        turns = Recall(((asked.text, outcome.answer),))
        steps = (Show(outcome.images), turns, Answer(found.text), Verify(found.expected))
        return [Probe(key, found.pattern.text, steps, self._seed_of(key))]

    def _followed(self, trial: Trial, found: FollowUp) -> QuestionOutcome:
        answer, agreement = said(trial, 2)
        images = tuple(trial.facts[0]) if trial.facts else ()
        first = trial.facts[1][-1] if len(trial.facts) > 1 else ["", ""]
        reason = f"contradiction: said {first[1]!r} to {first[0]!r} before; {trial.reason}"
        purpose = self.purpose if found.pattern == self.wanted else SEARCH
        outcome = QuestionOutcome(
            trial.key,
            purpose,
            found.pattern,
            found.pattern,
            trial.verdict,
            found.text,
            found.expected,
            answer,
        )
        said_why = reason if trial.verdict is Verdict.FAIL else trial.reason
        return replace(outcome, reason=said_why, images=images, agreement=agreement, round=self.round)

    def _seed_of(self, key: str) -> int:
        return derive_seed(self.seed, hash_of(key))


def hash_of(key: str) -> int:
    """A number that is the same in every process, as `hash` is not."""
    return int.from_bytes(key.encode()[-8:].rjust(8, b"\0"), "big")


def shown(sight: Sight, trial: Trial) -> Sight:
    """The pictures of a trial as stored ones, so that the next probe shows the very same."""
    return replace(sight, steps=(Show(pictures(trial, sight)),))


def pictures(trial: Trial, sight: Sight) -> tuple[str, ...]:
    found: list[str] = []
    for step, fact in zip(sight.steps, trial.facts, strict=False):
        if isinstance(step, Generate) and isinstance(fact, str):
            found.append(fact)
        elif isinstance(step, Show):
            found.extend(step.images)
    return tuple(found)


def said(trial: Trial, before: int) -> tuple[str, float]:
    """The answer, and how many verifiers agree; `before` steps come first."""
    facts = trial.facts
    answer = facts[before] if len(facts) > before and isinstance(facts[before], str) else ""
    verified = facts[before + 1] if len(facts) > before + 1 else None
    agreement = float(verified[3]) if isinstance(verified, list) and len(verified) > 3 else 1.0
    return answer[:LONGEST_ANSWER], agreement
