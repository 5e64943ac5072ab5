"""Questions put together from parts: a head ("how many … are there") and things under conditions.

Pure. The parts are few, their combinations are many: each is a form of its own with all the primitive skills
it takes, the words of its parts, and an answer that follows from theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from failscape.toybox.conditions import (
    ADJECTIVES,
    AFTER,
    COLUMNS,
    GROUP_OF,
    HIDDEN,
    LINES,
    NATURAL,
    NEARER,
    ROWS,
    SELECTORS,
    SIDES,
    Condition,
    Fact,
    Selector,
    Slots,
    adjacent,
    aligned,
    all_of,
    covered,
    distance,
    hidden,
    in_corner,
    lies_between,
    only,
    same_colour,
    third,
)
from failscape.toybox.forms import NUMBERS, SIZES, Form, Solver
from failscape.toybox.world import Scene, Thing, relations

THING, GROUP = "thing", "group"


def yes(fact: Fact) -> str | None:
    """The answer that a fact gives to a yes-or-no question."""
    return None if fact is None else "yes" if fact else "no"


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
        SetHead("exists", ("existence",), ("is there a {np}", "do you see a {np}"), False, lambda t, s: yes(bool(t))),
        SetHead("absent", ("negation", "existence"), ("is there no {np}",), False, lambda t, s: yes(not t), "exists"),
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
    OneHead("size", "size", ("what size is the {one}",), lambda t: t.size if t.size in SIZES else None, "size"),
    OneHead("group", "category", ("what sort of thing is the {one}",), lambda t: GROUP_OF[t.entity], GROUP),
    OneHead("column", "position", ("in which column is the {one}",), lambda t: COLUMNS[third(t, 0)]),
    OneHead("row", "position", ("in which row is the {one}",), lambda t: ROWS[third(t, 1)]),
)
_FOR_FEW: Final = ("in corner", "diagonal", "in line", "next to", "coloured like", "hidden", "nested")
"""Conditions that seldom hold of two things, so that little can be said of all of them."""

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


Two = Callable[[Scene, Thing, Thing, Slots], str | None]


def _two(answer: Two) -> Solver:
    """A question about two things, each the only one of its kind."""

    def solve(scene: Scene, slots: Slots) -> str | None:
        first, second = only(scene.things, slots["thing"]), only(scene.things, slots["other"])
        if first is None or second is None or first is second:
            return None
        return answer(scene, first, second, slots)

    return solve


def _third_thing(answer: Callable[[Thing, Thing, Thing], str | None]) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        found = [only(scene.things, slots[name]) for name in ("thing", "other", "another")]
        first, second, last = found
        if first is None or second is None or last is None or len({slots[n] for n in ("thing", "other", "another")}) < 3:
            return None
        return answer(first, second, last)

    return solve


def _direction(scene: Scene, first: Thing, second: Thing, slots: Slots) -> str | None:
    found = relations(first, second)
    return found[0].removesuffix(" of") if len(found) == 1 else None


def _in_front(scene: Scene, first: Thing, second: Thing, slots: Slots) -> str | None:
    over, under = covered(scene, second, first), covered(scene, first, second)
    return yes(over > under) if max(over, under) >= HIDDEN else None


def _nearer(thing: Thing, other: Thing, another: Thing) -> str | None:
    first, second = distance(thing, other), distance(thing, another)
    return None if abs(first - second) < NEARER else yes(first < second)


def _number(scene: Scene, slots: Slots, name: str = "thing") -> int:
    return sum(thing.entity == slots[name] for thing in scene.things)


def _sum(scene: Scene, slots: Slots) -> str | None:
    first, second = _number(scene, slots), _number(scene, slots, "other")
    return None if slots["thing"] == slots["other"] else NUMBERS[first + second]


def _difference(scene: Scene, slots: Slots) -> str | None:
    more = _number(scene, slots) - _number(scene, slots, "other")
    return NUMBERS[more] if more > 0 and slots["thing"] != slots["other"] else None


def _as_many(scene: Scene, slots: Slots) -> str | None:
    first, second = _number(scene, slots), _number(scene, slots, "other")
    return None if slots["thing"] == slots["other"] or not first + second else yes(first == second)


def _together(decide: Callable[[bool, bool], bool]) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        if slots["thing"] == slots["other"]:
            return None
        return yes(decide(bool(_number(scene, slots)), bool(_number(scene, slots, "other"))))

    return solve


def _colours(scene: Scene, slots: Slots) -> str | None:
    found = {thing.colour for thing in scene.things}
    return None if NATURAL in found else NUMBERS[len(found)]


def _most(names: Sequence[str]) -> str | None:
    ranked = Counter(names).most_common(2)
    alone = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
    return ranked[0][0] if alone and ranked[0][1] > 1 else None


def _empty_side(scene: Scene, slots: Slots) -> str | None:
    axis, at = SIDES[slots["side"]]
    return yes(not any(third(thing, axis) == at for thing in scene.things))


def _fuller_side(scene: Scene, slots: Slots) -> str | None:
    (axis, at), (other, elsewhere) = SIDES[slots["side"]], SIDES[slots["far side"]]
    if axis != other or at == elsewhere:
        return None
    first, second = (sum(third(t, axis) == place for t in scene.things) for place in (at, elsewhere))
    return yes(first > second) if first + second else None


def _one_thing(answer: Callable[[Scene, Thing], str | None]) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        thing = only(scene.things, slots["thing"])
        return None if thing is None else answer(scene, thing)

    return solve


def _many(scene: Scene, fact: bool) -> str | None:
    return yes(fact) if len(scene.things) > 1 else None


def _special(key: str, skills: str, wording: str, solve: Solver, *others: str) -> Form:
    first, *more = skills.split(", ")
    return Form(key, first, (wording, *others), solve, tuple(more))


SPECIALS: Final = (
    _special("style", "style", "what style is this picture", lambda scene, s: scene.style, "in which style is this"),
    _special("time", "time and weather", "what time or weather is this", lambda scene, s: scene.time),
    _special("column", "position", "in which column is the {thing}", _one_thing(lambda c, t: COLUMNS[third(t, 0)])),
    _special("row", "position", "in which row is the {thing}", _one_thing(lambda c, t: ROWS[third(t, 1)])),
    _special("corner", "corner", "is the {thing} in a corner", _one_thing(lambda c, t: yes(in_corner(t)))),
    _special("hidden", "occlusion", "is the {thing} partly hidden", _one_thing(lambda c, t: yes(hidden(c, t)))),
    _special(
        "same colour",
        "same or different, colour",
        "do the {thing} and the {other} have the same colour",
        _two(lambda scene, a, b, s: None if a.colour == NATURAL else yes(same_colour(a, b))),
    ),
    _special(
        "same size",
        "same or different, size",
        "do the {thing} and the {other} have the same size",
        _two(lambda scene, a, b, s: yes(a.size == b.size)),
    ),
    _special(
        "same group",
        "same or different, category",
        "are the {thing} and the {other} of the same sort",
        _two(lambda scene, a, b, s: yes(GROUP_OF[a.entity] == GROUP_OF[b.entity])),
    ),
    _special(
        "same line",
        "alignment, same or different",
        "are the {thing} and the {other} in the same {line}",
        _two(lambda scene, a, b, s: yes(aligned(a, b, LINES[s["line"]]))),
    ),
    _special(
        "larger",
        "size order, comparison",
        "is the {thing} larger than the {other}",
        _two(lambda scene, a, b, s: yes(a.size == "large" and b.size == "small")),
    ),
    _special("direction", "direction, relation", "where is the {thing} seen from the {other}", _two(_direction)),
    _special(
        "is diagonal",
        "diagonal, relation",
        "is the {thing} {vertical} and {horizontal} the {other}",
        _two(lambda scene, a, b, s: yes({s["vertical"], s["horizontal"]} <= set(relations(a, b)))),
    ),
    _special(
        "adjacent",
        "adjacency",
        "is the {thing} next to the {other}",
        _two(lambda scene, a, b, s: yes(adjacent(a, b))),
    ),
    _special("is in front", "depth", "is the {thing} in front of the {other}", _two(_in_front)),
    _special(
        "is between",
        "between",
        "is the {thing} between the {other} and the {another}",
        _third_thing(lambda a, b, c: yes(lies_between(a, b, c))),
    ),
    _special(
        "nearer", "nearest, comparison", "is the {thing} nearer to the {other} than to the {another}", _third_thing(_nearer)
    ),
    _special("sum", "addition, counting", "how many {things} and {others} are there together", _sum),
    _special("difference", "subtraction, counting", "how many more {things} than {others} are there", _difference),
    _special("as many", "same or different, counting", "are there as many {things} as {others}", _as_many),
    _special("either", "disjunction, existence", "is there a {thing} or a {other}", _together(lambda a, b: a or b)),
    _special("both", "conjunction, existence", "are there both a {thing} and a {other}", _together(lambda a, b: a and b)),
    _special(
        "neither",
        "negation, disjunction, existence",
        "is there neither a {thing} nor a {other}",
        _together(lambda a, b: not a and not b),
    ),
    _special(
        "kinds",
        "variety, counting",
        "how many different things are there",
        lambda scene, s: NUMBERS[len({thing.entity for thing in scene.things})],
    ),
    _special("colours", "variety, colour, counting", "how many different colours are there", _colours),
    _special(
        "groups",
        "variety, category, counting",
        "how many different sorts of things are there",
        lambda scene, s: NUMBERS[len({GROUP_OF[thing.entity] for thing in scene.things})],
    ),
    _special("most", "majority", "which thing is there most often", lambda c, s: _most([t.entity for t in c.things])),
    _special(
        "most group",
        "majority, category",
        "which sort of thing is there most often",
        lambda scene, s: _most([GROUP_OF[thing.entity] for thing in scene.things]),
    ),
    _special("empty side", "emptiness, region", "is the {side} side empty", _empty_side),
    _special(
        "empty centre",
        "emptiness, centre",
        "is the centre empty",
        lambda scene, s: yes(not any(third(t, 0) == third(t, 1) == 1 for t in scene.things)),
    ),
    _special(
        "fuller side",
        "comparison, counting, region",
        "are there more things on the {side} side than on the {far side} side",
        _fuller_side,
    ),
    _special(
        "all alike",
        "universal, same or different",
        "are all things the same",
        lambda scene, s: _many(scene, len({thing.entity for thing in scene.things}) == 1),
    ),
    _special(
        "all one size",
        "universal, same or different, size",
        "do all things have the same size",
        lambda scene, s: _many(scene, len({thing.size for thing in scene.things}) == 1),
    ),
)
COMPOUNDS: Final[tuple[Form, ...]] = (*SPECIALS, *_set_forms(), *_one_forms())
"""Some 900 forms of some 700 combinations of skills."""
