"""Questions put together from parts: a head ("how many … are there") and things under conditions.

Pure. The parts are few, their combinations are many: each is a form of its own with all the primitive skills
it takes, the words of its parts, and an answer that follows from theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from failscape.toybox.forms import (
    ADJECTIVES,
    AFTER,
    COLUMNS,
    GROUP_OF,
    NATURAL,
    NUMBERS,
    ROWS,
    SELECTORS,
    SIZES,
    Condition,
    Fact,
    Form,
    Selector,
    Slots,
    all_of,
    third,
    yes,
)
from failscape.toybox.specials import SPECIALS
from failscape.toybox.world import Scene, Thing

THING, GROUP = "thing", "group"


class Core(NamedTuple):
    """Adjectives and a noun: what a question counts, or picks one of."""

    adjectives: tuple[str, ...] = ()
    noun: str = THING

    @property
    def key(self) -> str:
        return " ".join([*self.adjectives, self.noun])

    @property
    def parts(self) -> int:
        return len(self.adjectives) + (self.noun == GROUP)

    @property
    def skills(self) -> tuple[str, ...]:
        return (*self.adjectives, *(("category",) if self.noun == GROUP else ()))

    def words(self, many: bool) -> str:
        noun = {THING: "thing", GROUP: "{group}"}[self.noun]
        plural = {THING: "things", GROUP: "{groups}"}[self.noun]
        said = [ADJECTIVES[name].words for name in self.adjectives]
        return " ".join([*said, plural if many else noun])

    def holds(self, scene: Scene, thing: Thing, slots: Slots) -> Fact:
        fits = self.noun == THING or GROUP_OF[thing.entity] == slots["group"]
        return fits and all_of(ADJECTIVES[name].holds(scene, thing, slots) for name in self.adjectives)

    def simpler(self) -> Iterator[Core]:
        for name in self.adjectives:
            yield Core(tuple(one for one in self.adjectives if one != name), self.noun)
        if self.noun == GROUP:
            yield Core(self.adjectives, THING)


PLAIN: Final = Core()
SINGLE: Final = (PLAIN, Core(("size",)), Core(("colour",)), Core((), GROUP))
CORES: Final = (*SINGLE, Core(("size", "colour")), Core(("size",), GROUP), Core(("colour",), GROUP))


class SetHead(NamedTuple):
    """What is asked of some things: how many, whether there are any. `basic` is the head it builds on."""

    key: str
    skills: tuple[str, ...]
    wordings: tuple[str, ...]
    many: bool
    answer: Callable[[Sequence[Thing], Slots], str | None]
    basic: str = ""


def _all_sized(things: Sequence[Thing], slots: Slots) -> str | None:
    return yes(all(one.size == slots["extent"] for one in things)) if len(things) > 1 else None


SET_HEADS: Final[dict[str, SetHead]] = {
    head.key: head
    for head in (
        SetHead(
            "exists",
            ("existence",),
            ("is there a {np}", "do you see a {np}"),
            False,
            lambda t, s: yes(bool(t)),
        ),
        SetHead(
            "absent",
            ("negation", "existence"),
            ("is there no {np}",),
            False,
            lambda t, s: yes(not t),
            "exists",
        ),
        SetHead(
            "count",
            ("counting",),
            ("how many {np} are there", "how many {np} do you see"),
            True,
            lambda t, s: NUMBERS[len(t)],
        ),
        SetHead(
            "at least",
            ("threshold", "counting"),
            ("are there at least {number} {np}",),
            True,
            lambda t, s: yes(len(t) >= NUMBERS.index(s["number"])),
            "count",
        ),
        SetHead(
            "exactly",
            ("exact number", "counting"),
            ("are there exactly {number} {np}",),
            True,
            lambda t, s: yes(len(t) == NUMBERS.index(s["number"])),
            "count",
        ),
        SetHead(
            "even",
            ("parity", "counting"),
            ("is the number of {np} even",),
            True,
            lambda t, s: yes(len(t) % 2 == 0) if t else None,
            "count",
        ),
        SetHead(
            "only one",
            ("uniqueness", "counting"),
            ("is there only one {np}",),
            False,
            lambda t, s: yes(len(t) == 1) if t else None,
            "count",
        ),
        SetHead("all", ("universal", "size"), ("are all {np} {extent}",), True, _all_sized),
    )
}


class OneHead(NamedTuple):
    """What is asked of one thing. `clash` names the adjective or noun that would give the answer away."""

    key: str
    skill: str
    wordings: tuple[str, ...]
    answer: Callable[[Thing], str | None]
    clash: str = ""


ONE_HEADS: Final = (
    OneHead("name", "naming", ("what is the {one}", "please name the {one}"), lambda t: t.entity),
    OneHead(
        "colour",
        "colour",
        ("what colour is the {one}", "which colour does the {one} have"),
        lambda t: None if t.colour == NATURAL else t.colour,
        "colour",
    ),
    OneHead(
        "size", "size", ("what size is the {one}",), lambda t: t.size if t.size in SIZES else None, "size"
    ),
    OneHead("group", "category", ("what sort of thing is the {one}",), lambda t: GROUP_OF[t.entity], GROUP),
    OneHead("column", "position", ("in which column is the {one}",), lambda t: COLUMNS[third(t, 0)]),
    OneHead("row", "position", ("in which row is the {one}",), lambda t: ROWS[third(t, 1)]),
)
#: Conditions that seldom hold of two things, so that little can be said of all of them.
_FOR_FEW: Final = ("in corner", "diagonal", "in line", "next to", "coloured like", "hidden", "nested")

_TELLS_PLACE: Final = ("on side", "in corner", "centre", "extreme", "ordinal")
_OLD_HOPS: Final = {"name": "hop thing", "colour": "hop colour", "size": "hop size"}


def set_key(head: str, core: Core, after: str = "") -> str:
    """The key of a form over a set; the oldest forms have names of their own."""
    old = {"count thing": "count all", "exists size colour thing": "size+colour"}
    key = " ".join(part for part in (core.key, after) if part)
    return old.get(f"{head} {key}", f"{head}: {key}")


def _twice(core: Core, skills: tuple[str, ...]) -> bool:
    """Whether a condition says something of the colour that an adjective has said already."""
    return "colour" in core.adjectives and "colour" in skills and "nesting" not in skills


def _asked(head: str, core: Core) -> bool:
    """Whether a head asks for things without a condition: that there is a thing at all is no question."""
    return core != PLAIN or head not in ("exists", "absent", "only one")


def _set_form(head: SetHead, core: Core, after: Condition | None) -> Form:
    def solve(scene: Scene, slots: Slots) -> str | None:
        facts = [
            all_of([core.holds(scene, t, slots), *([after.holds(scene, t, slots)] if after else [])])
            for t in scene.things
        ]
        found = [thing for thing, fact in zip(scene.things, facts, strict=True) if fact]
        return None if None in facts else head.answer(found, slots)

    said = core.words(head.many)
    if after:
        said = f"{said} {after.words.replace('{be}', 'are' if head.many else 'is')}"
    skills = (*(after.skills if after else ()), *head.skills, *core.skills)
    last = after.key if after else ""
    simpler = [set_key(head.key, one, last) for one in core.simpler() if after or _asked(head.key, one)]
    simpler += [set_key(head.key, core)] if after and core.parts else []
    simpler += [set_key(head.basic, core, last)] if head.basic else []
    wordings = tuple(text.replace("{np}", said) for text in head.wordings)
    key = set_key(head.key, core, last)
    return Form(key, skills[0], wordings, solve, skills[1:], tuple(simpler))


def _set_forms() -> Iterator[Form]:
    for head, core, after in product(SET_HEADS.values(), CORES, (None, *AFTER.values())):
        parts = core.parts + (after is not None)
        wide = head.key in ("exists", "count")
        if not after and not _asked(head.key, core):
            continue
        if parts > (3 if wide else 2) or _twice(core, after.skills if after else ()):
            continue
        if head.key == "all" and (core not in (PLAIN, Core((), GROUP)) or (after and after.key in _FOR_FEW)):
            continue
        if after or (head.key, core.key) not in (("exists", "size colour thing"), ("count", "thing")):
            yield _set_form(head, core, after)


def _one_form(head: OneHead, core: Core, selector: Selector) -> Form:
    def solve(scene: Scene, slots: Slots) -> str | None:
        facts = [core.holds(scene, thing, slots) for thing in scene.things]
        if None in facts:
            return None
        things = [thing for thing, fact in zip(scene.things, facts, strict=True) if fact]
        found = selector.choose(scene, things, slots)
        return None if found is None else head.answer(found)

    one = selector.words.replace("{np}", core.words(False)).replace("{be}", "is")
    skills = (*selector.skills, head.skill, *core.skills)
    simpler = [_one_key(head.key, less, selector.key) for less in core.simpler()]
    simpler += [_one_key("name", core, selector.key)] if head.key != "name" else []
    wordings = tuple(text.replace("{one}", one) for text in head.wordings)
    key = _one_key(head.key, core, selector.key)
    return Form(key, skills[0], wordings, solve, skills[1:], tuple(simpler))


def _one_key(head: str, core: Core, selector: str) -> str:
    if selector == "beside" and core == PLAIN and head in _OLD_HOPS:
        return _OLD_HOPS[head]
    return f"{head} of: {core.key} {selector}"


def _one_forms() -> Iterator[Form]:
    for head, core, selector in product(ONE_HEADS, SINGLE, SELECTORS.values()):
        if (head.clash and head.clash in (*core.adjectives, core.noun)) or _twice(core, selector.skills):
            continue
        if head.skill == "position" and (core != PLAIN or selector.key in _TELLS_PLACE):
            continue
        if selector.key != "beside" or core != PLAIN or head.key not in _OLD_HOPS:
            yield _one_form(head, core, selector)


#: Some 900 forms of some 700 combinations of skills.
COMPOUNDS: Final[tuple[Form, ...]] = (*SPECIALS, *_set_forms(), *_one_forms())
