"""Work besides questions: pictures are looked at, names of skills get vectors and definitions. Pure.

So an open vocabulary and the features of photos are made of recorded trials like everything else: a resumed
hunt has the same skills and the same clauses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from failscape.kinds.vlm.items import Item, Naming
from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.kinds.vlm.purposes import PREPARATION
from failscape.spaces.photo_features import LOOKS_FOR, seen_features
from failscape.spaces.questions import ANY, Pattern
from failscape.spaces.skills import AlbumSights
from failscape.spaces.vocabulary import SkillCheck, SkillVocabulary
from failscape.trials import (
    Caption,
    Decide,
    DefineSkill,
    Embed,
    Probe,
    Purpose,
    Show,
    Step,
    Trial,
    Verdict,
    key_of_errand,
)

#: What errands are for: they test nothing.

#: Names of skills that a language model is shown with a question; the list is part of every call.
MOST_KNOWN = 80


@dataclass(slots=True)
class Errand:
    """One piece of work. `of` says what it is about: a photo's digest, a check, or nothing."""

    key: str
    steps: tuple[Step, ...]
    of: Any = None
    facts: list[Any] = field(default_factory=list)
    purpose: Purpose = PREPARATION
    questions: int = 0
    wanted: Pattern = field(default_factory=lambda: Pattern(ANY))

    def start(self) -> list[Probe]:
        return [Probe(self.key, self.wanted.text, self.steps, 0)]

    def tell(self, trial: Trial) -> list[Probe]:
        self.facts = list(trial.facts) if trial.verdict is Verdict.NONE else []
        return []

    @property
    def results(self) -> list[QuestionOutcome]:
        return []


@dataclass(slots=True)
class OpenWorld:
    """What is learned about skills and pictures on the way. Roles that are not there are not asked."""

    vocabulary: SkillVocabulary
    sights: Any = None
    llm: bool = False
    embedder: bool = False
    captioner: bool = False
    judge: bool = False
    begun: bool = False

    def errands(self) -> list[Errand]:
        """What is to be done next; the first time, what a hunt begins with."""
        found = [] if self.begun else [*self._vectors(), *self._looks()]
        self.begun = True
        checks = self.vocabulary.to_check() if self.llm else []
        return found + [
            Errand(key_of_errand("skill", one.name), (DefineSkill(one.name, one.questions),), one)
            for one in checks
        ]

    def naming(self) -> Naming | None:
        """How the skills of questions written now are named; None where the list is closed."""
        if not self.vocabulary.open:
            return None
        return Naming(self.llm, self.embedder, self.vocabulary.names[:MOST_KNOWN])

    def close(self, errands: Iterable[Errand], items: Iterable[Item]) -> None:
        """Learn from a round, in the order planned; then its questions count for what they take."""
        for errand in errands:
            if errand.facts:
                self._learn(errand)
        asked = list(items)
        for item in asked:
            for text, names, vectors in item.named_rows():
                self.vocabulary.learn(text, names, vectors)
        for item in asked:
            item.settle(self.vocabulary)

    def _learn(self, errand: Errand) -> None:
        if isinstance(errand.of, SkillCheck):
            definition, told = errand.facts[0]
            self.vocabulary.decide(errand.of.name, definition, told, errand.of)
        elif isinstance(errand.of, str):
            captions = [
                text
                for step, fact in zip(errand.steps, errand.facts, strict=False)
                if isinstance(step, Caption)
                for text in fact
            ]
            seen = [
                holds
                for step, fact in zip(errand.steps, errand.facts, strict=False)
                if isinstance(step, Decide)
                for holds in fact
            ]
            self.sights.learn(errand.of, captions, seen_features(seen))
        else:
            self.vocabulary.use_vectors(errand.facts[0])

    def _vectors(self) -> Iterator[Errand]:
        if self.embedder and self.vocabulary.open and self.vocabulary.names:
            yield Errand(key_of_errand("vectors", 0), (Embed(self.vocabulary.names),))

    def _looks(self) -> Iterator[Errand]:
        if not isinstance(self.sights, AlbumSights) or not (self.captioner or self.judge):
            return
        for number, (digest, captioned) in enumerate(self.sights.to_look_at()):
            steps: list[Step] = [Show((digest,))]
            if self.captioner and not captioned:
                steps.append(Caption())
            if self.judge:
                steps.append(Decide(LOOKS_FOR))
            if len(steps) > 1:
                yield Errand(key_of_errand("look", number), tuple(steps), digest)
