"""The toybox as a grammar of questions for the vlm hunt: it makes scenes, questions and the truth.

Pictures are made to order: a sight's key says how, `scenes_of` makes the scenes again, and the generator
`toy-world` draws them. So there are always fresh pictures, and nothing but keys has to be stored.

Second turns about a scene: questions whose answer follows from the answer to the first, right or wrong.

Questions about two pictures: comparison and spot the difference, with exact answers. Pure.
"""

import random
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from failscape.errors import BadReply, ConfigError
from failscape.spaces.ordinals import with_thresholds
from failscape.spaces.questions import (
    ANY,
    CONSISTENCY,
    THEN,
    Asked,
    Clause,
    FollowUp,
    Pattern,
    Sight,
    Sights,
    make_pattern,
)
from failscape.toybox import world
from failscape.toybox.forms import COLUMNS, ROWS, only, third
from failscape.toybox.question_sampling import draw_slots, scene_for
from failscape.toybox.questions import (
    BASIC,
    BY_KEY,
    FORMS,
    NUMBERS,
    SIZES,
    Form,
    Slots,
    normal_answer,
    parse_question,
    word_question,
)
from failscape.toybox.telling import tell
from failscape.toybox.world import COLOURS
from failscape.trials import Generate, Step

_INVERSE: Final = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
_OPPOSITE: Final = {"yes": "no", "no": "yes"}

#: The form of the second question, its slots, and the answer that does not contradict the first.
Follow = tuple[str, Slots, str]


def follow(form: str, slots: Slots, answer: str) -> Follow | None:
    """None where nothing follows from the answer, or the answer is none of the closed list."""
    said = normal_answer(answer)
    thing = {"thing": slots["thing"]} if "thing" in slots else {}
    following: dict[str, tuple[Container[str], Follow]] = {
        "count": (NUMBERS, ("exists", thing, "no" if said == "zero" else "yes")),
        "exists": (_OPPOSITE, ("absent", thing, _OPPOSITE.get(said, ""))),
        "absent": (_OPPOSITE, ("exists", thing, _OPPOSITE.get(said, ""))),
        "colour": (COLOURS, ("colour+thing", {**thing, "colour": said}, "yes")),
        "size": (SIZES, ("size+thing", {**thing, "size": said}, "yes")),
    }
    if form == "relation":
        turned = {"thing": slots["other"], "other": slots["thing"], "relation": _INVERSE[slots["relation"]]}
        following[form] = (("yes",), ("relation", turned, "yes"))
    answers, found = following.get(form, ((), ("", {}, "")))
    return found if said in answers else None


TWO: Final = "two pictures"
Pair = tuple[world.Scene, world.Scene]
#: The slots of a question, its answer and the two scenes.
Found = tuple[Slots, str, Pair]


@dataclass(frozen=True)
class PairForm:
    """One way to ask about two pictures."""

    key: str
    skills: tuple[str, ...]
    wordings: tuple[str, ...]
    make: Callable[[np.random.Generator, world.Scene], Found | None]

    def worded(self, slots: Slots, choice: int) -> str:
        text = self.wordings[choice % len(self.wordings)]
        return text.format(**slots, things=world.PLURALS.get(slots.get("thing", ""), "things")) + "?"


def _more(rng: np.random.Generator, first: world.Scene) -> Found | None:
    second = world.sample_layout(rng, repeat=0.7)
    names = sorted({thing.entity for scene in (first, second) for thing in scene.things})
    name = names[int(rng.integers(len(names)))]
    here, there = (sum(thing.entity == name for thing in scene.things) for scene in (first, second))
    if here == there:
        return None
    return {"thing": name}, "first" if here > there else "second", (first, second)


def _same_place(rng: np.random.Generator, first: world.Scene) -> Found | None:
    second = world.sample_layout(rng, vary=0.9)
    if rng.random() < 0.5:
        second = replace(second, place=first.place)
    return {}, "yes" if first.place == second.place else "no", (first, second)


def _difference(rng: np.random.Generator, first: world.Scene) -> Found | None:
    """One thing has another colour in the second picture; all else is as it was."""
    names = [thing.entity for thing in first.things]
    alone = [i for i, name in enumerate(names) if names.count(name) == 1]
    if not alone:
        return None
    at = alone[int(rng.integers(len(alone)))]
    colours = [colour for colour in world.COLOURS if colour != first.things[at].colour]
    changed = replace(first.things[at], colour=colours[int(rng.integers(len(colours)))])
    things = (*first.things[:at], changed, *first.things[at + 1 :])
    return {}, names[at], (first, replace(first, things=things))


PAIRS: Final[tuple[PairForm, ...]] = (
    PairForm(
        "pair more",
        ("comparison", "counting", TWO),
        ("which picture has more {things}, the first or the second", "in which picture are more {things}"),
        _more,
    ),
    PairForm(
        "pair place",
        ("place", TWO),
        ("do both pictures show the same place", "is the place the same in both pictures"),
        _same_place,
    ),
    PairForm(
        "pair difference",
        ("colour", "odd one out", TWO),
        (
            "which thing differs in colour between the pictures",
            "what changed its colour in the second picture",
        ),
        _difference,
    ),
)
_BY_KEY: Final = {form.key: form for form in PAIRS}


T = TypeVar("T")
VERSION: Final = "3"
LAYOUT: Final = "layout"
#: How the keys of sights begin that were drawn for questions put together from parts.
PARTS: Final = "parts: "
_TRIES: Final = 120
#: The second of two pictures has the same key with this at its end.
SECOND: Final = " (second)"
#: Other words around a question that change nothing.
FRAMES: Final = ("{}", "please: {}", "{} thank you")
#: Words that toy-vlm knows from questions and may trip over: a clause of their own.
WORDS: Final = {
    "look at the picture": "look at the picture, {}",
    "answer in one word": "{} answer in one word",
}

#: The primitive skills of every form.
SKILLS_OF: Final[dict[str, tuple[str, ...]]] = {
    **{form.key: form.skills for form in FORMS},
    **{form.key: form.skills for form in PAIRS},
}

_PICTURE: Final = ("place", "style", "time")
_WHERE: Final = frozenset(("across", "height"))


class Made(NamedTuple):
    """A question with its scenes, before it is worded."""

    form: str
    slots: Slots
    answer: str
    scenes: tuple[world.Scene, ...]


class ToyGrammar:
    """The simple forms. `images` is how many pictures a question is about: 1, or 2 for comparisons."""

    exact = True
    parts = False
    #: Those that toy-questioner was trained to be asked for; questions of all others are understood.
    skills = tuple(dict.fromkeys(form.skill for form in BASIC))

    def __init__(self, sights: Sights | None = None, images: int = 1) -> None:
        if sights is not None:
            raise ConfigError("the toybox grammar draws its own pictures", "use `images: {source: toybox}`")
        self.digest = f"{PARTS if self.parts else ''}toybox/{VERSION}"
        self._images = images

    def patterns(self) -> Sequence[Pattern]:
        keys = _keys(self.parts) if self._images == 1 else tuple(_BY_KEY)
        return [make_pattern(key, SKILLS_OF[key]) for key in keys]

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        return _sight(f"{LAYOUT} {skill}".strip(), rng.getrandbits(40), 1)

    def draft(self, pattern: Pattern, rng: random.Random, fresh: bool, like: str = "") -> Asked | None:
        if pattern.second_turn:  # the first turn is what can be asked
            first = pattern.form.partition(THEN)[0]
            pattern = make_pattern(first, SKILLS_OF.get(first, ()), pattern.clauses)
        number = rng.getrandbits(40)
        made = _made(pattern, number, self.parts)
        if made is None:
            return None
        text, wording = _worded(made, dict(pattern.clauses).get("words", ""), rng if fresh else None)
        said = make_pattern(made.form, SKILLS_OF[made.form], pattern.clauses)
        sight = _sight(f"{PARTS if self.parts else ''}{pattern.text}", number, len(made.scenes))
        features = tuple(sorted({*_features(made), *pattern.clauses}))
        return Asked(said, text, made.answer, sight, features, wording)

    def read(self, text: str, sight: Sight, wanted: Pattern | None) -> Asked | None:
        query, scene = parse_question(text), scenes_of(sight.key)[0]
        answer = query.answer(scene) if query else None
        if query is None or answer is None:
            return None
        form = query.form.key
        made = Made(form, dict(query.slots), answer, (scene,))
        return Asked(make_pattern(form, SKILLS_OF[form]), text, answer, sight, _features(made), "free")

    def narrower(self, pattern: Pattern, rng: random.Random) -> list[Pattern]:
        """Clauses of a few random questions of this pattern."""
        named = {name for name, _ in pattern.clauses}
        found = [made for _ in range(3) if (made := _made(pattern, rng.getrandbits(40), self.parts))]
        clauses = {clause for made in found for clause in _features(made) if clause[0] not in named}
        if "words" not in named and found and found[0].form in BY_KEY:
            clauses |= {("words", name) for name in WORDS}
        return [pattern.with_clause(clause) for clause in sorted(clauses)]

    def simpler(self, pattern: Pattern) -> list[Pattern]:
        """One clause less, and the clauses without the form; without clauses, forms of fewer skills."""
        if pattern.clauses:
            found = [pattern.without_clause(clause) for clause in pattern.clauses]
            named = {name for name, _ in pattern.clauses}
            if (
                pattern.form != ANY
                and "answer" not in named
                and _forms_with(pattern.clauses, self.parts) != (pattern.form,)
            ):
                found.append(make_pattern(ANY, (), pattern.clauses))
            return [one for one in found if one != Pattern(ANY)]
        if pattern.second_turn:
            forms = [key for key in pattern.form.split(THEN) if key in SKILLS_OF]
            return [make_pattern(key, SKILLS_OF[key]) for key in forms]
        if pattern.form == ANY and len(pattern.skills) > 1:
            return [make_pattern(ANY, [skill]) for skill in pattern.skills]
        return [make_pattern(key, SKILLS_OF[key]) for key in _fewer_skills(pattern.form, self.parts)]

    def tell(self, pattern: Pattern) -> tuple[str, Sequence[Clause]] | None:
        """What it means to fail at a pattern, in words."""
        return tell(pattern, world.PLURALS)

    def follow_up(self, asked: Asked, answer: str, rng: random.Random) -> FollowUp | None:
        query = parse_question(asked.text)
        found = follow(query.form.key, dict(query.slots), answer) if query else None
        if query is None or found is None:
            return None
        form, slots, expected = found
        skills = {*SKILLS_OF[query.form.key], *SKILLS_OF[form], CONSISTENCY}
        pattern = make_pattern(f"{query.form.key}{THEN}{form}", skills)
        return FollowUp(pattern, word_question(BY_KEY[form], slots), expected)


class PartsGrammar(ToyGrammar):
    """All forms, the simple ones and those put together from parts: hundreds, which share their skills."""

    parts = True


def _keys(parts: bool) -> tuple[str, ...]:
    return tuple(form.key for form in (FORMS if parts else BASIC))


def _sight(text: str, number: int, images: int) -> Sight:
    key = f"{text} #{number}"
    steps: tuple[Step, ...] = (Generate(key), Generate(key + SECOND))[:images]
    free = text.startswith(LAYOUT)
    captions = tuple(world.caption(scene) for scene in scenes_of(key)) if free else ()
    return Sight(key, steps, captions)


@lru_cache(maxsize=8192)
def scenes_of(key: str) -> tuple[world.Scene, ...]:
    """The scenes behind a sight's key. Raises `BadReply` for a text that is no such key."""
    text, _, number = key.removesuffix(SECOND).rpartition(" #")
    if not number.isdigit():
        raise BadReply(f"toy-world draws pictures by number, such as {LAYOUT} #7, but got {key!r}")
    if text.startswith(LAYOUT):
        return (_layout(int(number), text.removeprefix(LAYOUT).strip()),)
    made = _made(Pattern.parse(text.removeprefix(PARTS)), int(number), text.startswith(PARTS))
    if made is None:
        raise BadReply(f"toy-world finds no picture for {key!r}")
    return made.scenes


def scene_of(prompt: str) -> world.Scene:
    """The one scene that a prompt names."""
    scenes = scenes_of(prompt)
    return scenes[-1] if prompt.endswith(SECOND) else scenes[0]


def _layout(number: int, skill: str) -> world.Scene:
    """One that suits the skill; without one, half suit a rare form, as in the training of toy-questioner."""
    rng = np.random.default_rng(number)
    forms = [form.key for form in BASIC if not skill or skill == form.skill] or ["exists"]
    key = forms[int(rng.integers(len(forms)))] if skill or rng.random() < 0.5 else "exists"
    return scene_for(rng, key)


@lru_cache(maxsize=8192)
def _made(pattern: Pattern, number: int, parts: bool = False) -> Made | None:
    """A valid question of the pattern with its scenes; the same for the same number."""
    rng = np.random.default_rng(number)
    forms = _forms_with(pattern.clauses, parts) if pattern.form == ANY else (pattern.form,)
    wanted = {clause for clause in pattern.clauses if clause[0] != "words"}
    forms = tuple(form for form in forms if form in SKILLS_OF and set(pattern.skills) <= set(SKILLS_OF[form]))
    for _ in range(_TRIES if forms else 0):
        key = forms[int(rng.integers(len(forms)))]
        if key in BY_KEY:
            made = _try(rng, BY_KEY[key], pattern.clauses)
        else:
            found = _BY_KEY[key].make(rng, world.sample_layout(rng, repeat=0.7))
            made = Made(key, *found) if found else None

        if made is not None and wanted <= with_thresholds(_features(made)):
            return made
    return None


def _try(rng: np.random.Generator, form: Form, clauses: tuple[Clause, ...]) -> Made | None:
    scene = scene_for(rng, form.key)
    slots = draw_slots(rng, scene, form.key)
    for name, value in clauses:
        if name in _PICTURE:
            scene = _set(scene, name, value)
        elif name in slots and name != "relation":
            scene, slots = _swapped(scene, slots, slots[name], value)
    answer = form.solve(scene, slots)
    wanted = dict(clauses).get("answer")
    if answer is not None and wanted is not None and wanted != answer:
        scene, slots = _swapped(scene, slots, answer, wanted)
        answer = form.solve(scene, slots)
    return None if answer is None else Made(form.key, slots, answer, (scene,))


def _set(thing: T, name: str, value: str) -> T:
    """A copy of a scene or thing with another value of an attribute that is a text."""
    changes: dict[str, Any] = {name: value}
    return replace(thing, **changes)  # type: ignore[type-var]


def _swapped(scene: world.Scene, slots: Slots, old: str, new: str) -> tuple[world.Scene, Slots]:
    """The same scene with two things, or two colours, in each other's place. Sizes cannot change so."""
    kinds = (("entity", world.ENTITIES), ("colour", world.COLOURS))
    kind = next((name for name, values in kinds if old in values and new in values), "")
    if not kind:
        return scene, slots
    swap = {old: new, new: old}
    values = [str(getattr(thing, kind)) for thing in scene.things]
    things = [_set(t, kind, swap.get(value, value)) for t, value in zip(scene.things, values, strict=True)]
    return replace(scene, things=tuple(things)), {name: swap.get(v, v) for name, v in slots.items()}


def _features(made: Made) -> tuple[Clause, ...]:
    first = made.scenes[0]
    found = [*made.slots.items(), ("answer", made.answer), ("things", NUMBERS[len(first.things)])]
    found += [
        (name, str(getattr(first, name))) for name in _PICTURE if (name, made.form) != ("place", "place")
    ]
    return tuple(sorted([*found, *_where(made)]))


def _where(made: Made) -> Iterator[Clause]:
    """Where the one thing is that a question is about; nothing where it is not one of its kind."""
    name = made.slots.get("thing", "")
    if thing := only(made.scenes[0].things, name):
        yield "across", COLUMNS[third(thing, 0)]
        yield "height", ROWS[third(thing, 1)]


@cache
def _forms_with(clauses: tuple[Clause, ...], parts: bool) -> tuple[str, ...]:
    """Forms of which questions can have these clauses, judged by a sample of each."""
    names = {name for name, _ in clauses} - {"answer", "things", "words", *_PICTURE}
    if names & _WHERE:
        names = (names - _WHERE) | {"thing"}
    return tuple(key for key in _keys(parts) if names <= set(BY_KEY[key].slots))


@cache
def _fewer_skills(form: str, parts: bool) -> tuple[str, ...]:
    """Forms with one part less; where a form has no parts, those whose skills are a proper part of its own,
    and not a part of another such form's."""
    own = set(SKILLS_OF.get(form, ()))
    if form in BY_KEY and ":" in form:
        return tuple(dict.fromkeys(key for key in BY_KEY[form].simpler if set(SKILLS_OF[key]) < own))
    whole = [key for key in (*_keys(parts), *_BY_KEY) if ":" not in key]
    below = [key for key in whole if set(SKILLS_OF[key]) < own and key != form]
    return tuple(
        key for key in below if not any(set(SKILLS_OF[key]) < set(SKILLS_OF[other]) for other in below)
    )


def _worded(made: Made, words: str, rng: random.Random | None) -> tuple[str, str]:
    """The question in its first words, or in any others when there is a generator to choose them."""
    if made.form not in BY_KEY:
        pair = _BY_KEY[made.form]
        choice = rng.randrange(len(pair.wordings)) if rng else 0
        return pair.worded(made.slots, choice), str(choice)
    form = BY_KEY[made.form]
    choice = rng.randrange(len(form.wordings)) if rng else 0
    frame = rng.randrange(len(FRAMES)) if rng else 0
    text = word_question(form, made.slots, choice)
    return FRAMES[frame].format(WORDS.get(words, "{}").format(text)), f"{choice}.{frame}"
