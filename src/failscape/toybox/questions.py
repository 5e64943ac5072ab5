"""Questions about scenes: a small grammar in which every question has one exact answer, or none.

Pure: a question is parsed into a form with slots, and the scene graph answers it. A question whose
presupposition fails ("what colour is the cow?" without a cow, or with two) is not valid for that scene.
Random questions are made in `question_sampling`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from failscape.spaces.wording import with_article
from failscape.toybox.world import COLOURS, DEFAULTS, ENTITIES, PLACES, PLURALS, Scene, Thing, relations

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five")
SIZES: Final = ("small", "large")
RELATIONS: Final = ("left of", "right of", "above", "below")
#: All answers there are.
ANSWERS: Final[tuple[str, ...]] = ("yes", "no", *NUMBERS, *COLOURS, *SIZES, *PLACES, *ENTITIES)
SKILLS: Final = (
    "existence",
    "colour",
    "counting",
    "size",
    "place",
    "relation",
    "comparison",
    "negation",
    "conjunction",
    "odd one out",
    "two-hop",
)
_NATURAL: Final = DEFAULTS["colour"]

Slots = dict[str, str]
Solver = Callable[[Scene, Slots], str | None]


@dataclass(frozen=True)
class Form:
    """One way to ask: its key, its skill, its wordings (the first is canonical) and how it is answered."""

    key: str
    skill: str
    wordings: tuple[str, ...]
    solve: Solver


@dataclass(frozen=True)
class Query:
    """A question that was understood."""

    form: Form
    slots: tuple[tuple[str, str], ...]

    def answer(self, scene: Scene) -> str | None:
        """Return the one right answer, or None where the question makes no sense for the scene."""
        return self.form.solve(scene, dict(self.slots))


@dataclass(frozen=True)
class Question:
    """A question with its right answer, the skill it needs, and the form it has (its composition)."""

    text: str
    answer: str
    skill: str
    form: str


@dataclass(frozen=True)
class Checked:
    """What the grammar says of a question and an answer. `right` is None when the question is not valid."""

    valid: bool
    right: bool | None
    truth: str
    skill: str
    reason: str


def _of(scene: Scene, entity: str) -> list[Thing]:
    return [thing for thing in scene.things if thing.entity == entity]


def _only(scene: Scene, entity: str) -> Thing | None:
    found = _of(scene, entity)
    return found[0] if len(found) == 1 else None


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _colour(thing: Thing | None) -> str | None:
    # A thing in its natural colours has no one colour that could be named.
    return None if thing is None or thing.colour == _NATURAL else thing.colour


def _size(thing: Thing | None) -> str | None:
    return thing.size if thing is not None and thing.size in SIZES else None


def _exists(scene: Scene, slots: Slots) -> str | None:
    return _yes(bool(_of(scene, slots["thing"])))


def _absent(scene: Scene, slots: Slots) -> str | None:
    return _yes(not _of(scene, slots["thing"]))


def _colour_of(scene: Scene, slots: Slots) -> str | None:
    return _colour(_only(scene, slots["thing"]))


def _size_of(scene: Scene, slots: Slots) -> str | None:
    return _size(_only(scene, slots["thing"]))


def _count(scene: Scene, slots: Slots) -> str | None:
    return NUMBERS[len(_of(scene, slots["thing"]))]


def _count_all(scene: Scene, slots: Slots) -> str | None:
    return NUMBERS[len(scene.things)]


def _count_not_size(scene: Scene, slots: Slots) -> str | None:
    if any(thing.size not in SIZES for thing in scene.things):
        return None
    return NUMBERS[sum(thing.size != slots["size"] for thing in scene.things)]


def _place(scene: Scene, slots: Slots) -> str | None:
    return scene.place


def _related(scene: Scene, slots: Slots) -> str | None:
    first, second = _only(scene, slots["thing"]), _only(scene, slots["other"])
    if first is None or second is None or first is second:
        return None
    return _yes(slots["relation"] in relations(first, second))


def _more(scene: Scene, slots: Slots) -> str | None:
    if slots["thing"] == slots["other"]:
        return None
    first, second = len(_of(scene, slots["thing"])), len(_of(scene, slots["other"]))
    return None if first == second == 0 else _yes(first > second)


def _has_all(scene: Scene, slots: Slots) -> str | None:
    """Is there a thing with all the given attributes? No answer if natural colours leave it open."""
    fits = [
        thing
        for thing in scene.things
        if slots.get("thing", thing.entity) == thing.entity and slots.get("size", thing.size) == thing.size
    ]
    if "colour" not in slots:
        return _yes(bool(fits))
    if any(thing.colour == slots["colour"] for thing in fits):
        return "yes"
    return None if any(thing.colour == _NATURAL for thing in fits) else "no"


def _odd(attribute: str) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        values = [str(getattr(thing, attribute)) for thing in scene.things]
        alone = [i for i, value in enumerate(values) if values.count(value) == 1]
        if len(values) < 3 or len(alone) != 1 or len(set(values)) != 2 or _NATURAL in values:
            return None
        return scene.things[alone[0]].entity

    return solve


def _beside(scene: Scene, slots: Slots) -> Thing | None:
    """Return the only thing that lies in a relation to another, one-of-its-kind thing."""
    anchor = _only(scene, slots["other"])
    if anchor is None:
        return None
    found = [t for t in scene.things if t is not anchor and slots["relation"] in relations(t, anchor)]
    return found[0] if len(found) == 1 else None


def _hop_thing(scene: Scene, slots: Slots) -> str | None:
    thing = _beside(scene, slots)
    return None if thing is None else thing.entity


def _hop_colour(scene: Scene, slots: Slots) -> str | None:
    return _colour(_beside(scene, slots))


def _hop_size(scene: Scene, slots: Slots) -> str | None:
    return _size(_beside(scene, slots))


FORMS: Final[tuple[Form, ...]] = (
    Form("exists", "existence", ("is there {a thing}", "do you see {a thing}"), _exists),
    Form(
        "colour", "colour", ("what colour is the {thing}", "which colour does the {thing} have"), _colour_of
    ),
    Form("count", "counting", ("how many {things} are there", "how many {things} do you see"), _count),
    Form("count all", "counting", ("how many things are there",), _count_all),
    Form("size", "size", ("is the {thing} small or large", "what size is the {thing}"), _size_of),
    Form("place", "place", ("what place is this", "where is this"), _place),
    Form("relation", "relation", ("is the {thing} {relation} the {other}",), _related),
    Form("more", "comparison", ("are there more {things} than {others}",), _more),
    Form("absent", "negation", ("is there no {thing}",), _absent),
    Form("not size", "negation", ("how many things are not {size}",), _count_not_size),
    Form("colour+thing", "conjunction", ("is there a {colour} {thing}",), _has_all),
    Form("size+thing", "conjunction", ("is there a {size} {thing}",), _has_all),
    Form("size+colour", "conjunction", ("is there a {size} {colour} thing",), _has_all),
    Form("size+colour+thing", "conjunction", ("is there a {size} {colour} {thing}",), _has_all),
    Form("odd size", "odd one out", ("which thing differs in size",), _odd("size")),
    Form("odd colour", "odd one out", ("which thing differs in colour",), _odd("colour")),
    Form("odd kind", "odd one out", ("which thing differs in kind",), _odd("entity")),
    Form("hop thing", "two-hop", ("which thing is {relation} the {other}",), _hop_thing),
    Form("hop colour", "two-hop", ("what colour is the thing {relation} the {other}",), _hop_colour),
    Form("hop size", "two-hop", ("what size is the thing {relation} the {other}",), _hop_size),
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
    for form in FORMS:
        for wording in form.wordings:
            pattern = wording.replace("is there a {", "is there an? {")
            for slot, part in _SLOT_PATTERNS.items():
                pattern = pattern.replace(slot, part)
            table.append((re.compile(pattern), form))
    return tuple(table)


def words(text: str) -> list[str]:
    """Split a question into lower-case words."""
    return ["colour" if word == "color" else word for word in re.findall(r"[a-z]+", text.lower())]


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
    return None


def word_question(form: Form, slots: Slots, wording: int = 0) -> str:
    """Put slots into a wording of a form."""
    text = form.wordings[wording % len(form.wordings)]
    values = dict(slots)
    if "thing" in values:
        values["things"] = PLURALS[values["thing"]]
        values["a thing"] = with_article(values["thing"])
    if "other" in values:
        values["others"] = PLURALS[values["other"]]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    text = re.sub(r"\ba (?=[aeiou])", "an ", text)
    return f"{text}?"


def normal_answer(text: str) -> str:
    """Return the answer that a text gives: lower case, digits as words, no articles or marks."""
    plain = " ".join(re.findall(r"[a-z]+|\d+", text.lower()))
    plain = re.sub(r"^(an?|the) ", "", plain)
    if plain.isdigit() and int(plain) < len(NUMBERS):
        return NUMBERS[int(plain)]
    return _SINGULAR.get(plain, plain)


def check_answer(scene: Scene, question: str, answer: str) -> Checked:
    """Say whether a question is valid for a scene, and whether an answer is right. Exact, no judgement."""
    query = parse_question(question)
    if query is None:
        return Checked(False, None, "", "", "the question is not one of the grammar")
    truth = query.answer(scene)
    if truth is None:
        return Checked(False, None, "", query.form.skill, "the question has no one answer for this picture")
    right = normal_answer(answer) == truth
    return Checked(True, right, truth, query.form.skill, "right" if right else f"the right answer is {truth}")


@cache
def vocabulary() -> tuple[str, ...]:
    """Return every word that questions can use, sorted."""
    texts = [*ENTITIES, *PLURALS.values(), *COLOURS, *SIZES, *RELATIONS, "a", "an"]
    texts += [re.sub(r"\{[a-z ]+\}", " ", wording) for form in FORMS for wording in form.wordings]
    return tuple(sorted({word for text in texts for word in words(text)}))
