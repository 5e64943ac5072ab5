"""Questions about scenes: a grammar in which every question has one exact answer, or none.

Pure: a question is parsed into a form with slots, and the scene graph answers it. A question whose
presupposition fails ("what colour is the cow?" without a cow, or with two) is not valid for that scene.
The simple forms are here, those put together from parts in `compounds`; random questions are made in
`question_sampling`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from failscape.toybox.compounds import COMPOUNDS
from failscape.toybox.forms import (
    COLUMNS,
    ENDS,
    EXTREMES,
    GROUP_PLURALS,
    GROUPS,
    LINES,
    NATURAL,
    NUMBERS,
    ONE,
    RANKS,
    RELATIONS,
    ROWS,
    SIDES,
    SIZES,
    Form,
    Slots,
    Solver,
    only,
    single,
    word_question,
    words,
    yes,
)
from failscape.toybox.specials import of_two, of_two_counts
from failscape.toybox.world import COLOURS, ENTITIES, PLACES, PLURALS, STYLES, TIMES, Scene, Thing, relations

__all__ = [
    "ANSWERS",
    "BY_KEY",
    "FORMS",
    "NUMBERS",
    "RELATIONS",
    "SIZES",
    "SKILLS",
    "Form",
    "Query",
    "Slots",
    "normal_answer",
    "parse_question",
    "vocabulary",
    "word_question",
    "words",
]

#: All answers there are.
ANSWERS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(
        [
            *("yes", "no", *NUMBERS, *COLOURS, *SIZES, *PLACES, *ENTITIES),
            *(*STYLES, *TIMES, *GROUP_PLURALS, *COLUMNS, *ROWS, "above", "below"),
        ]
    )
)


@dataclass(frozen=True)
class Query:
    """A question that was understood."""

    form: Form
    slots: tuple[tuple[str, str], ...]

    def answer(self, scene: Scene) -> str | None:
        """Return the one right answer, or None where the question makes no sense for the scene."""
        return self.form.solve(scene, dict(self.slots))


def _number(scene: Scene, slots: Slots) -> int:
    return sum(thing.entity == slots["thing"] for thing in scene.things)


def _colour(thing: Thing | None) -> str | None:
    # A thing in its natural colours has no one colour that could be named.
    return None if thing is None or thing.colour == NATURAL else thing.colour


def _size(thing: Thing | None) -> str | None:
    return thing.size if thing is not None and thing.size in SIZES else None


def _count_not_size(scene: Scene, slots: Slots) -> str | None:
    if any(thing.size not in SIZES for thing in scene.things):
        return None
    return NUMBERS[sum(thing.size != slots["size"] for thing in scene.things)]


def _has_all(scene: Scene, slots: Slots) -> str | None:
    """Is there a thing with all the given attributes? No answer if natural colours leave it open."""
    fits = [
        thing
        for thing in scene.things
        if slots.get("thing", thing.entity) == thing.entity and slots.get("size", thing.size) == thing.size
    ]
    if "colour" not in slots:
        return yes(bool(fits))
    if any(thing.colour == slots["colour"] for thing in fits):
        return "yes"
    return None if any(thing.colour == NATURAL for thing in fits) else "no"


def _odd(attribute: str) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        values = [str(getattr(thing, attribute)) for thing in scene.things]
        alone = [i for i, value in enumerate(values) if values.count(value) == 1]
        if len(values) < 3 or len(alone) != 1 or len(set(values)) != 2 or NATURAL in values:
            return None
        return scene.things[alone[0]].entity

    return solve


def _beside(scene: Scene, slots: Slots) -> Thing | None:
    """Return the only thing that lies in a relation to another, one-of-its-kind thing."""
    anchor = only(scene.things, slots["other"])

    if anchor is None:
        return None
    return single(t for t in scene.things if t is not anchor and slots["relation"] in relations(t, anchor))


BASIC: Final[tuple[Form, ...]] = (
    Form(
        "exists",
        "existence",
        ("is there {a thing}", "do you see {a thing}"),
        lambda scene, slots: yes(_number(scene, slots) > 0),
    ),
    Form(
        "colour",
        "colour",
        ("what colour is the {thing}", "which colour does the {thing} have"),
        lambda scene, slots: _colour(only(scene.things, slots["thing"])),
    ),
    Form(
        "count",
        "counting",
        ("how many {things} are there", "how many {things} do you see"),
        lambda scene, slots: NUMBERS[_number(scene, slots)],
    ),
    Form(
        "count all",
        "counting",
        ("how many things are there",),
        lambda scene, slots: NUMBERS[len(scene.things)],
    ),
    Form(
        "size",
        "size",
        ("is the {thing} small or large", "what size is the {thing}"),
        lambda scene, slots: _size(only(scene.things, slots["thing"])),
    ),
    Form("place", "place", ("what place is this", "where is this"), lambda scene, slots: scene.place),
    Form(
        "relation",
        "relation",
        ("is the {thing} {relation} the {other}",),
        of_two(lambda scene, a, b, slots: yes(slots["relation"] in relations(a, b))),
    ),
    Form(
        "more",
        "comparison",
        ("are there more {things} than {others}",),
        of_two_counts(lambda first, second: yes(first > second) if first + second else None),
        ("counting",),
    ),
    Form(
        "absent",
        "negation",
        ("is there no {thing}",),
        lambda scene, slots: yes(not _number(scene, slots)),
        ("existence",),
    ),
    Form("not size", "negation", ("how many things are not {size}",), _count_not_size, ("counting", "size")),
    Form("colour+thing", "conjunction", ("is there a {colour} {thing}",), _has_all, ("colour", "existence")),
    Form("size+thing", "conjunction", ("is there a {size} {thing}",), _has_all, ("existence", "size")),
    Form("size+colour", "conjunction", ("is there a {size} {colour} thing",), _has_all, ("colour", "size")),
    Form(
        "size+colour+thing",
        "conjunction",
        ("is there a {size} {colour} {thing}",),
        _has_all,
        ("colour", "existence", "size"),
    ),
    Form("odd size", "odd one out", ("which thing differs in size",), _odd("size"), ("size",)),
    Form("odd colour", "odd one out", ("which thing differs in colour",), _odd("colour"), ("colour",)),
    Form("odd kind", "odd one out", ("which thing differs in kind",), _odd("entity")),
    Form(
        "hop thing",
        "two-hop",
        ("which thing is {relation} the {other}",),
        lambda scene, slots: getattr(_beside(scene, slots), "entity", None),
        ("relation",),
    ),
    Form(
        "hop colour",
        "two-hop",
        ("what colour is the thing {relation} the {other}",),
        lambda scene, slots: _colour(_beside(scene, slots)),
        ("colour", "relation"),
    ),
    Form(
        "hop size",
        "two-hop",
        ("what size is the thing {relation} the {other}",),
        lambda scene, slots: _size(_beside(scene, slots)),
        ("relation", "size"),
    ),
)
FORMS: Final[tuple[Form, ...]] = (*BASIC, *COMPOUNDS)
#: Every primitive skill, in the order in which forms bring them in.
SKILLS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys([*(form.skill for form in BASIC), *(skill for form in COMPOUNDS for skill in form.skills)])
)
BY_KEY: Final[dict[str, Form]] = {form.key: form for form in FORMS}
_SINGULAR: Final = {plural: name for name, plural in PLURALS.items()}


def _one_of(name: str, values: Sequence[str]) -> str:
    ranked = sorted(values, key=len, reverse=True)
    return f"(?P<{name}>{'|'.join(re.escape(value) for value in ranked)})"


_SLOT_PATTERNS: Final[dict[str, str]] = {
    "{a thing}": f"an? {_one_of('thing', ENTITIES)}",
    "{thing}": _one_of("thing", ENTITIES),
    "{other}": _one_of("other", ENTITIES),
    "{things}": _one_of("things", tuple(_SINGULAR)),
    "{others}": _one_of("others", tuple(_SINGULAR)),
    "{colour}": _one_of("colour", COLOURS),
    "{size}": _one_of("size", SIZES),
    "{relation}": _one_of("relation", RELATIONS),
}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Form], ...]:
    table = []
    for form in BASIC:
        for wording in form.wordings:
            pattern = wording.replace("is there a {", "is there an? {")
            for slot, part in _SLOT_PATTERNS.items():
                pattern = pattern.replace(slot, part)
            table.append((re.compile(pattern), form))
    return tuple(table)


def parse_question(text: str) -> Query | None:
    """Understand a question, or return None if the grammar does not have it."""
    plain = " ".join(words(text))
    for pattern, form in _patterns():
        match = pattern.fullmatch(plain)
        if match is not None:
            found = match.groupdict()
            for many, one in (("things", "thing"), ("others", "other")):
                if many in found:
                    found[one] = _SINGULAR[found.pop(many)]
            return Query(form, tuple(sorted(found.items())))
    return _parse_compound(plain)


#: What can be put into each slot of a compound form.
SLOT_VALUES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("thing", "other", "another"), ENTITIES),
    **dict.fromkeys(("colour", "tint", "unlike", "either", "else"), COLOURS),
    **dict.fromkeys(("size", "extent"), SIZES),
    **dict.fromkeys(("side", "far side"), tuple(SIDES)),
    **dict.fromkeys(("relation", "second"), RELATIONS),
    "group": tuple(GROUP_PLURALS),
    "horizontal": RELATIONS[:2],
    "vertical": RELATIONS[2:],
    "line": tuple(LINES),
    "number": NUMBERS[2:4],
    "extreme": tuple(EXTREMES),
    "rank": tuple(RANKS),
    "end": tuple(ENDS),
}
#: Value of a slot, or its plural → the mark that stands for values of its kind.
_MARKS: Final[dict[str, str]] = {
    value: f"<{kind}>"
    for kind, values in {
        "thing": (*ENTITIES, *_SINGULAR),
        "group": (*GROUP_PLURALS, *GROUP_PLURALS.values()),
        "where": (*SIDES, *ENDS),
        **{
            name: SLOT_VALUES[name]
            for name in ("colour", "size", "relation", "line", "number", "extreme", "rank")
        },
    }.items()
    for value in values
}
_VALUES: Final = re.compile(rf"\b(?:{'|'.join(sorted(_MARKS, key=len, reverse=True))})\b")
_SAMPLES: Final = {name: values[0] for name, values in SLOT_VALUES.items()}
_ONE_OF_MANY: Final = {**_SINGULAR, **{many: one for one, many in GROUP_PLURALS.items()}}


def _skeleton(plain: str) -> tuple[str, list[str]]:
    """A question with marks in place of values, and the values in order."""
    found: list[str] = []

    def mark(match: re.Match[str]) -> str:
        found.append(match[0])
        return _MARKS[match[0]]

    return re.sub(r"\ban\b", "a", _VALUES.sub(mark, plain)), found


@cache
def _skeletons() -> dict[str, list[tuple[Form, int, tuple[str, ...]]]]:
    """Skeleton → forms, which of their wordings it is, and the slot that each value fills ("" for none)."""
    table: dict[str, list[tuple[Form, int, tuple[str, ...]]]] = {}
    for form in COMPOUNDS:
        for at, wording in enumerate(form.wordings):
            slots: list[str] = []
            for part in re.split(r"(\{[a-z ]+\})", wording):
                named = part.startswith("{")
                slots += [ONE.get(part[1:-1], part[1:-1])] if named else [""] * len(_skeleton(part)[1])
            plain = " ".join(words(word_question(form, _SAMPLES, at)))
            table.setdefault(_skeleton(plain)[0], []).append((form, at, tuple(slots)))
    return table


def _parse_compound(plain: str) -> Query | None:
    """Look the question up by its skeleton; worded again with the slots read, it must be the same text."""
    skeleton, values = _skeleton(plain)
    for form, at, names in _skeletons().get(skeleton, ()):
        pairs = zip(names, values, strict=True)
        slots = {name: _ONE_OF_MANY.get(value, value) for name, value in pairs if name}
        legal = all(value in SLOT_VALUES[name] for name, value in slots.items())
        if legal and words(word_question(form, slots, at)) == words(plain):
            return Query(form, tuple(sorted(slots.items())))
    return None


def normal_answer(text: str) -> str:
    """Return the answer that a text gives: lower case, digits as words, no articles or marks."""
    plain = re.sub(r"^(an?|the) ", "", " ".join(re.findall(r"[a-z]+|\d+", text.lower())))
    known = plain.isdigit() and int(plain) < len(NUMBERS)
    return NUMBERS[int(plain)] if known else _SINGULAR.get(plain, plain)


@cache
def vocabulary() -> tuple[str, ...]:
    """Return every word that questions can use, sorted."""
    texts = [*ENTITIES, *PLURALS.values(), *(text for pair in GROUPS.values() for text in pair), "a", "an"]
    texts += [value for values in SLOT_VALUES.values() for value in values]
    texts += [re.sub(r"\{[a-z ]+\}", " ", wording) for form in FORMS for wording in form.wordings]
    return tuple(sorted({word for text in texts for word in words(text)}))
