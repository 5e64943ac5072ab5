"""What can be asked about pictures: patterns of questions, and the protocol of whatever makes questions.

A pattern is a kind of question: a form, the primitive skills it needs, and clauses that narrow it. A lattice
follows: a pattern with one clause or skill less is simpler. Nothing here knows a target or a picture.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from failscape.errors import ConfigError
from failscape.spaces.ordinals import with_thresholds
from failscape.trials import Step, Subject, SubjectForm, question_text
from failscape.trust import GRAMMAR, refuse_outside

Clause = tuple[str, str]
#: The form of a pattern that only its skills or clauses describe.
ANY = "any"

#: The skill of not contradicting oneself.
CONSISTENCY = "consistency"

#: Skills of keeping to a right answer, the harder the target is pressed.
PRESSED = ("standing firm", "standing firm when called wrong", "standing firm against others")

MEMORY = "memory of the first picture"
#: Patterns with one of these skills are about a later turn of a talk.
LATER_TURNS = frozenset((CONSISTENCY, *PRESSED, MEMORY))

#: Between the forms of a first question and of what comes after it.
THEN = " → "


@dataclass(frozen=True, slots=True, order=True)
class Pattern:
    """A kind of question. `skills` and `clauses` are sorted, so that equal patterns are equal."""

    form: str
    skills: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()

    @property
    def depth(self) -> int:
        """How much is composed: skills and clauses together."""
        return len(self.skills) + len(self.clauses)

    @property
    def second_turn(self) -> bool:
        """Whether it is about a later turn of a talk."""
        return not LATER_TURNS.isdisjoint(self.skills)

    @property
    def text(self) -> str:
        """Its name in the atlas; `parse` reads it."""
        return question_text(self.form, self.skills, self.clauses)

    @property
    def title(self) -> str:
        """For people."""
        what = " + ".join(self.skills) if self.form == ANY and self.skills else self.form
        clauses = ", ".join(f"{name} {value}" for name, value in self.clauses)
        what = "any question" if what == ANY else what
        return f"{what} ({clauses})" if clauses else what

    @classmethod
    def parse(cls, text: str) -> Pattern:
        parsed = Subject.parse(text, SubjectForm.QUESTION)
        return make_pattern(parsed.name, parsed.skills, [(one.kind, one.value) for one in parsed.values])

    def with_clause(self, clause: Clause) -> Pattern:
        return make_pattern(self.form, self.skills, (*self.clauses, clause))

    def without_clause(self, clause: Clause) -> Pattern:
        return replace(self, clauses=tuple(one for one in self.clauses if one != clause))

    def covers(self, other: Pattern) -> bool:
        """Whether every question of `other` is one of this pattern too."""
        same = self.form in (ANY, other.form) and set(self.skills) <= set(other.skills)
        return same and with_thresholds(other.clauses).issuperset(self.clauses)


#: The kind of question that every question is of.
ANYTHING = Pattern(ANY)


def make_pattern(form: str, skills: Iterable[str] = (), clauses: Iterable[Clause] = ()) -> Pattern:
    return Pattern(form, tuple(sorted(set(skills))), tuple(sorted(set(clauses))))


def explains(simple: Pattern, other: Pattern) -> bool:
    """Whether failing at `simple` already means failing at `other`: fewer clauses, or fewer skills."""
    if simple.clauses and not with_thresholds(other.clauses).issuperset(simple.clauses):
        return False
    if simple.form in (ANY, other.form):
        return set(simple.skills) <= set(other.skills)
    return set(simple.skills) < set(other.skills)


@dataclass(frozen=True, slots=True)
class Sight:
    """A picture, or several, to ask about: the steps that bring it into a trial, and what is known of it."""

    key: str
    steps: tuple[Step, ...]
    captions: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A concrete question. `truth` is empty where nobody knows it.

    `features` are the clauses that hold for it, named by its pattern or not: where failures gather, a
    narrower pattern begins. `wording` tells which words were chosen.
    """

    pattern: Pattern
    text: str
    truth: str
    sight: Sight
    features: tuple[Clause, ...] = ()
    wording: str = ""

    @property
    def full(self) -> Pattern:
        """The narrowest pattern that it is a question of."""
        return make_pattern(self.pattern.form, self.pattern.skills, (*self.features, *self.pattern.clauses))


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that is still to be written, by a questioner who follows `guidance`."""

    pattern: Pattern
    sight: Sight
    guidance: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A later turn. `expected` follows from the first answer: another answer is a failure of its own kind.

    `sight`: another picture that is shown beside the first.
    """

    pattern: Pattern
    text: str
    expected: str
    sight: Sight | None = None


class Sights(Protocol):
    """Where pictures come from. Those for confirmation are never seen by the search.

    Where pictures are made to order, `skill` asks for one that suits it; others take what there is.
    """

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight | None: ...


class Grammar(Protocol):
    """Makes, reads and varies questions. Pure: all chance comes from the generator that is passed in."""

    digest: str
    #: Whether it knows the right answers.
    exact: bool

    @property
    def skills(self) -> tuple[str, ...]:
        """What a questioner can be asked for by name."""
        ...

    def patterns(self) -> Sequence[Pattern]:
        """The simplest patterns, where a search begins."""
        ...

    def draft(
        self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = ""
    ) -> Asked | Draft | None:
        """A question of this pattern about some picture, or the order to write one; None if there is none.

        `fresh` asks for a picture kept for confirmation; `like` is an example for a questioner.
        """
        ...

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        """Understand a question that somebody wrote about a picture; None when it is not valid there."""
        ...

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        """Patterns with one skill or clause more, for a search that has nothing better to go by."""
        ...

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        """Patterns with one skill or clause less; empty for the simplest."""
        ...

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        """A second question whose answer follows from the answer to the first."""
        ...


#: Shipped grammars: name → `module:attribute`, imported only when asked for.
GRAMMARS = {
    "toybox": "failscape.toybox.asking:ToyGrammar",
    "toybox-parts": "failscape.toybox.asking:PartsGrammar",
    "toybox-clips": "failscape.toybox.clip_asking:ClipGrammar",
}

#: The grammar of questions that people wrote about their own photos: `questions.jsonl` in the folder.
ANNOTATIONS = "annotations"


_ANNOTATED = "failscape.spaces.annotations:AnnotationGrammar"


def load_grammar(name: str, sights: Sights | None, **settings: Any) -> Grammar:
    """A shipped grammar, or any `module:attribute` that makes one from (sights, **settings)."""
    refuse_outside(name, GRAMMAR)
    path = _ANNOTATED if name == ANNOTATIONS else GRAMMARS.get(name, name)
    module, _, attribute = path.partition(":")
    if not attribute:
        raise ConfigError(
            f"there is no question grammar {name!r}",
            f"use {', '.join([*GRAMMARS, ANNOTATIONS])} or your own `module:attribute`",
        )
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the grammar {name!r} cannot be loaded: {error}", "mend its path") from error
    grammar: Grammar = make(sights, **settings)
    return grammar
