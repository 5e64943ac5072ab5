"""Minimal pairs: one question about a picture before and after one fact of it is changed. Pure.

The right answer changes with the fact, so a target that answers alike to both is wrong about one of them, and
nobody has to verify anything. A thing that the picture does not show is added, removed, recoloured or moved.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from failscape.spaces.ordinals import with_thresholds
from failscape.spaces.questions import (
    Asked,
    Clause,
    Draft,
    FollowUp,
    Grammar,
    Pattern,
    Sight,
    Sights,
    make_pattern,
)
from failscape.stats.texts import words_of

PAIR: Final = "minimal pair"
#: What is added: things that few photos show, and that sprites come with the package for.
THINGS: Final = ("penguin", "flamingo", "camel", "rocket", "mushroom", "pineapple", "crab", "guitar")

COLOURS: Final = ("red", "yellow", "green", "blue", "purple", "orange")
SIDES: Final = ("left", "right")
#: Clauses of pairs: what was added, and its colour or side in the first picture.
ADDED, BEFORE = "added", "before"

#: Pictures drawn in search of one whose caption does not name the thing already.
_TRIES: Final = 30


@dataclass(frozen=True, slots=True)
class Pair(Asked):
    """`edits` make the two pictures, `seen` says what a judge must see in each, `change` says it in words."""

    edits: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    seen: tuple[str, str] = ("", "")
    change: str = ""


@dataclass(frozen=True, slots=True)
class _Form:
    """One fact to change. Texts have {thing}, {one} and {other} to fill in."""

    skills: tuple[str, ...]
    wordings: tuple[str, ...]
    edits: tuple[tuple[str, ...], tuple[str, ...]]
    seen: tuple[str, str]
    change: str
    values: tuple[str, ...] = ()


_ADD, _ADD_AT = "Add a {thing} to the picture.", "Add a {thing} on the {one} of the picture."
_THERE, _ABSENT = "There is a {thing} in the picture.", "There is no {thing} in the picture."
_IS_THERE = (
    "Is there a {thing} in the picture? Answer yes or no.",
    "Can you see a {thing}? Answer yes or no.",
)
FORMS: Final[dict[str, _Form]] = {
    "pair add": _Form(("existence",), _IS_THERE, ((), (_ADD,)), (_ABSENT, _THERE), "a {thing} was added"),
    "pair remove": _Form(
        ("existence",), _IS_THERE, ((_ADD,), ()), (_THERE, _ABSENT), "the {thing} was removed"
    ),
    "pair recolour": _Form(
        ("colour",),
        ("What colour is the {thing}? Answer in one word.", "Which colour does the {thing} have? One word."),
        (("Add a {one} {thing} to the picture.",), ("Add a {other} {thing} to the picture.",)),
        ("There is a {one} {thing} in the picture.", "There is a {other} {thing} in the picture."),
        "the {thing} turned from {one} to {other}",
        COLOURS,
    ),
    "pair move": _Form(
        ("position",),
        (
            "Is the {thing} on the left or on the right of the picture? Answer left or right.",
            "On which side is the {thing}, left or right?",
        ),
        ((_ADD_AT,), ("Add a {thing} on the {other} of the picture.",)),
        ("The {thing} is on the {one}.", "The {thing} is on the {other}."),
        "the {thing} moved from {one} to {other}",
        SIDES,
    ),
    "pair count": _Form(
        ("counting",),
        (
            "How many {thing}s are in the picture? Answer with a number.",
            "Count every {thing}. Just the number.",
        ),
        ((_ADD_AT,), (_ADD_AT, "Add a {thing} on the {other} of the picture.")),
        (_THERE, "There is more than one {thing} in the picture."),
        "one more {thing} was added",
        SIDES,
    ),
}


class PairGrammar:
    """A grammar whose questions are those of another, and pairs besides."""

    def __init__(self, base: Grammar, sights: Sights) -> None:
        self._base = base
        self._sights = sights
        self.exact = base.exact
        self.digest = f"{base.digest}+pairs/1"

    def __getattr__(self, name: str) -> Any:
        """Whatever else the other grammar offers."""
        return getattr(self._base, name)

    @property
    def skills(self) -> tuple[str, ...]:
        return self._base.skills

    def patterns(self) -> Sequence[Pattern]:
        pairs = [make_pattern(name, [*form.skills, PAIR]) for name, form in FORMS.items()]
        return [*self._base.patterns(), *pairs]

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight | None:
        return self._sights.pick(rng, fresh, skill)

    def draft(
        self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = ""
    ) -> Asked | Draft | None:
        wanted = dict(pattern.clauses)
        forms = [pattern.form] if pattern.form in FORMS else _forms_with(wanted)
        if not forms:
            return self._base.draft(pattern, rng, fresh, like)
        form = rng.choice(forms)
        for _ in range(_TRIES):
            sight = self._sights.pick(rng, fresh)
            thing = wanted.get(ADDED) or rng.choice(THINGS)
            if sight is not None and not _names(sight, thing):
                pair = _pair(form, pattern.clauses, sight, thing, rng, fresh)
                return pair if with_thresholds(pair.features).issuperset(pattern.clauses) else None
        return None

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        return self._base.read(text, sight, wanted)

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        if pattern.form not in FORMS:
            return self._base.narrower(pattern, rng)
        named = {name for name, _ in pattern.clauses}
        clauses = [(ADDED, thing) for thing in THINGS]
        clauses += [(BEFORE, value) for value in FORMS[pattern.form].values]
        return [pattern.with_clause(clause) for clause in clauses if clause[0] not in named]

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        if pattern.form not in FORMS:
            return self._base.simpler(pattern)
        return [pattern.without_clause(clause) for clause in pattern.clauses]

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        return self._base.follow_up(asked, answer, rng)

    def tell(self, pattern: Pattern) -> tuple[str, Sequence[Clause]] | None:
        if pattern.form in FORMS:
            one, other = (
                ("one side", "the other") if pattern.form == "pair move" else ("one colour", "another")
            )
            change = FORMS[pattern.form].change.format(thing="thing", one=one, other=other)
            return f"it answers as before although {change}", pattern.clauses
        tell = getattr(self._base, "tell", None)
        found: tuple[str, Sequence[Clause]] | None = tell(pattern) if tell is not None else None
        return found


def _forms_with(wanted: dict[str, str]) -> list[str]:
    """Forms of pairs that have clauses which no other question has; none where no such clause is wanted."""
    if not wanted.keys() & {ADDED, BEFORE}:
        return []
    before = wanted.get(BEFORE)
    return [name for name, form in FORMS.items() if before is None or before in form.values]


def _pair(
    name: str, clauses: Sequence[Clause], sight: Sight, thing: str, rng: random.Random, fresh: bool
) -> Pair:
    form, before = FORMS[name], dict(clauses).get(BEFORE, "")
    one, other = rng.sample(form.values, 2) if form.values else ("", "")
    if before and before != one:
        one, other = before, one if other == before else other
    words = {"thing": thing, "one": one, "other": other}
    choice = rng.randrange(len(form.wordings)) if fresh else 0
    features: list[Clause] = [*sight.details.get("features", ()), (ADDED, thing)]
    features += [(BEFORE, one)] if one else []
    own = make_pattern(name, [*form.skills, PAIR], clauses)
    first, second = (tuple(text.format(**words) for text in some) for some in form.edits)
    return Pair(
        own,
        form.wordings[choice].format(**words),
        "",
        sight,
        tuple(sorted(features)),
        str(choice),
        (first, second),
        (form.seen[0].format(**words), form.seen[1].format(**words)),
        form.change.format(**words),
    )


def _names(sight: Sight, thing: str) -> bool:
    """Whether the picture is known to show the thing already."""
    said = {word for caption in sight.captions for word in words_of(caption)}
    return bool(said & {thing, f"{thing}s", f"{thing}es"})
