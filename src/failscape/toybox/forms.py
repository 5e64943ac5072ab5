"""What can be said of a thing in a scene, and what a form of question is: conditions that narrow "things",
ways to pick one of them, wordings. Pure.

Every condition is decided by the scene graph alone: True, False, or None where the scene leaves it open
(the colour of a thing in its natural colours, a thing that hardly reaches over another).
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from failscape.spaces.wording import with_article
from failscape.toybox.world import DEFAULTS, KINDS, PLURALS, Scene, Thing, relations
from failscape.toybox.world.scenes import RELATION_MARGIN, SIDE

Slots = dict[str, str]
Fact = bool | None
Test = Callable[[Scene, Thing, Slots], Fact]
Choice = Callable[[Scene, Sequence[Thing], Slots], Thing | None]

NATURAL: Final = DEFAULTS["colour"]
#: Group of the taxonomy → one of it, several of it.
GROUPS: Final[dict[str, tuple[str, str]]] = {
    "animals": ("animal", "animals"),
    "food": ("piece of food", "pieces of food"),
    "plants": ("plant", "plants"),
    "vehicles": ("vehicle", "vehicles"),
    "household": ("household item", "household items"),
    "toys": ("toy", "toys"),
}
#: Thing → what one of its group is called.
GROUP_OF: Final[dict[str, str]] = {kind.name: GROUPS[kind.group][0] for kind in KINDS}
COLUMNS: Final = ("left", "middle", "right")
ROWS: Final = ("top", "middle", "bottom")
#: Side → the axis it lies on and its third.
SIDES: Final[dict[str, tuple[int, int]]] = {"left": (0, 0), "right": (0, 2), "upper": (1, 0), "lower": (1, 2)}
#: End, or the word for what is nearest to it → axis and direction.
ENDS: Final[dict[str, tuple[int, int]]] = {"left": (0, 1), "right": (0, -1), "top": (1, 1), "bottom": (1, -1)}
EXTREMES: Final = {"leftmost": "left", "rightmost": "right", "topmost": "top", "lowest": "bottom"}
RANKS: Final = {"second": 1, "third": 2}
LINES: Final = {"column": 0, "row": 1}

#: A thing is partly hidden where things before it cover this share of its box, and not hidden below `BARE`;
#: between the two nobody could say.
HIDDEN: Final = 0.3
BARE: Final = 0.1
#: Least distance (in pixels along an axis) between things whose order is asked for.
APART: Final = 6.0
#: Least difference of two distances that are compared.
NEARER: Final = 4.0
#: Things of one row or column are next to each other up to this distance: the grid has steps of 20.
NEXT: Final = 26.0


def single(things: Iterable[Thing]) -> Thing | None:
    """The one thing that there is; none where there are several."""
    found = list(things)
    return found[0] if len(found) == 1 else None


def only(things: Iterable[Thing], entity: str) -> Thing | None:
    """The thing of a kind, if there is just one."""
    return single(thing for thing in things if thing.entity == entity)


def third(thing: Thing, axis: int) -> int:
    """0, 1 or 2: in which column (axis 0) or row (axis 1) of the picture a thing is."""
    return min(2, max(0, int(3 * thing.centre[axis] / SIDE)))


def distance(first: Thing, second: Thing) -> float:
    return math.dist(first.centre, second.centre)


def covered(scene: Scene, thing: Thing, by: Thing | None = None) -> float:
    """The largest share of a thing's box that one thing drawn later covers (or that `by` does)."""
    left, top, right, bottom = thing.box
    shares = [0.0]
    for other in scene.things[scene.things.index(thing) + 1 :]:
        if by is None or other is by:
            wide = min(right, other.box[2]) - max(left, other.box[0])
            high = min(bottom, other.box[3]) - max(top, other.box[1])
            shares.append(max(0, wide) * max(0, high) / ((right - left) * (bottom - top)))
    return max(shares)


def hidden(scene: Scene, thing: Thing) -> Fact:
    share = covered(scene, thing)
    return True if share >= HIDDEN else False if share <= BARE else None


def is_colour(thing: Thing, colour: str) -> Fact:
    return None if thing.colour == NATURAL else thing.colour == colour


def same_colour(first: Thing, second: Thing) -> Fact:
    return None if second.colour == NATURAL else is_colour(first, second.colour)


def aligned(first: Thing, second: Thing, axis: int) -> bool:
    """Whether two things are in one column (axis 0) or row (axis 1)."""
    return abs(first.centre[axis] - second.centre[axis]) < RELATION_MARGIN


def adjacent(first: Thing, second: Thing) -> bool:
    in_line = aligned(first, second, 0) or aligned(first, second, 1)
    return in_line and distance(first, second) <= NEXT


def lies_between(thing: Thing, first: Thing, second: Thing) -> bool:
    """Near the straight line from one thing to another, and on the way."""
    (ax, ay), (bx, by), (x, y) = first.centre, second.centre, thing.centre
    length = math.dist((ax, ay), (bx, by))
    if length == 0:
        return False
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length
    aside = abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length
    return APART <= along <= length - APART and aside < NEXT / 3


def negated(fact: Fact) -> Fact:
    return None if fact is None else not fact


def all_of(facts: Iterable[Fact]) -> Fact:
    """One that is false decides; else one that is open leaves it open."""
    known = list(facts)
    return False if False in known else None if None in known else True


class Condition(NamedTuple):
    """A part of "things …" with its words. `{be}` stands for is or are."""

    key: str
    skills: tuple[str, ...]  # the one it is asked for first
    words: str
    holds: Test


def _to(test: Callable[[Thing, Thing, Slots], Fact]) -> Test:
    """A condition on a thing and another one-of-its-kind thing; open where there is no such one."""

    def holds(scene: Scene, thing: Thing, slots: Slots) -> Fact:
        anchor = only(scene.things, slots["other"])
        return None if anchor is None else thing is not anchor and test(thing, anchor, slots)

    return holds


def _nested(scene: Scene, thing: Thing, slots: Slots) -> Fact:
    named = [one for one in scene.things if one.entity == slots["other"]]
    found = single(one for one in named if one.colour == slots["tint"])
    if found is None or any(one.colour == NATURAL for one in named):
        return None
    return thing is not found and slots["relation"] in relations(thing, found)


def _either_colour(scene: Scene, thing: Thing, slots: Slots) -> Fact:
    colours = {slots["either"], slots["else"]}
    return None if len(colours) == 1 or thing.colour == NATURAL else thing.colour in colours


def on_side(thing: Thing, side: str) -> bool:
    axis, at = SIDES[side]
    return third(thing, axis) == at


def in_corner(thing: Thing) -> bool:
    return third(thing, 0) != 1 and third(thing, 1) != 1


#: Said before the noun.
ADJECTIVES: Final[dict[str, Condition]] = {
    "size": Condition("size", ("size",), "{size}", lambda scene, thing, s: thing.size == s["size"]),
    "colour": Condition(
        "colour", ("colour",), "{colour}", lambda scene, thing, s: is_colour(thing, s["colour"])
    ),
}
#: Said after the noun.
AFTER: Final[dict[str, Condition]] = {
    one.key: one
    for one in (
        Condition(
            "on side",
            ("region",),
            "on the {side} side",
            lambda scene, thing, slots: on_side(thing, slots["side"]),
        ),
        Condition(
            "not on side",
            ("negation", "region"),
            "that {be} not on the {side} side",
            lambda scene, thing, slots: not on_side(thing, slots["side"]),
        ),
        Condition("in corner", ("corner",), "in a corner", lambda scene, thing, slots: in_corner(thing)),
        Condition(
            "beside",
            ("relation",),
            "{relation} the {other}",
            _to(lambda thing, other, slots: slots["relation"] in relations(thing, other)),
        ),
        Condition(
            "diagonal",
            ("diagonal", "relation"),
            "{vertical} and {horizontal} the {other}",
            _to(
                lambda thing, other, slots: (
                    {slots["vertical"], slots["horizontal"]} <= {*relations(thing, other)}
                )
            ),
        ),
        Condition(
            "in line",
            ("alignment",),
            "in the same {line} as the {other}",
            _to(lambda thing, other, slots: aligned(thing, other, LINES[slots["line"]])),
        ),
        Condition(
            "next to",
            ("adjacency",),
            "next to the {other}",
            _to(lambda thing, other, slots: adjacent(thing, other)),
        ),
        Condition(
            "coloured like",
            ("matching", "colour"),
            "with the same colour as the {other}",
            _to(lambda thing, other, slots: same_colour(thing, other)),
        ),
        Condition(
            "sized like",
            ("matching", "size"),
            "of the same size as the {other}",
            _to(lambda thing, other, slots: thing.size == other.size),
        ),
        Condition("besides", ("exclusion",), "other than the {other}", _to(lambda thing, other, slots: True)),
        Condition(
            "hidden",
            ("occlusion",),
            "that {be} partly hidden",
            lambda scene, thing, slots: hidden(scene, thing),
        ),
        Condition(
            "not colour",
            ("negation", "colour"),
            "that {be} not {unlike}",
            lambda scene, thing, slots: negated(is_colour(thing, slots["unlike"])),
        ),
        Condition("either colour", ("disjunction", "colour"), "that {be} {either} or {else}", _either_colour),
        Condition("nested", ("nesting", "relation", "colour"), "{relation} the {tint} {other}", _nested),
    )
}


class Selector(NamedTuple):
    """A way to name one thing of several. `words` hold `{np}`, the things it is one of."""

    key: str
    skills: tuple[str, ...]
    words: str
    choose: Choice


def _ranked(things: Sequence[Thing], end: str, rank: int) -> Thing | None:
    """The thing at a place in the order from an end; None where the order is in doubt there."""
    axis, sign = ENDS[end]
    order = sorted(things, key=lambda thing: sign * thing.centre[axis])
    if len(order) < rank + 1 or len(order) < 2:
        return None
    near = [order[at] for at in (rank - 1, rank + 1) if 0 <= at < len(order)]
    clear = all(abs(one.centre[axis] - order[rank].centre[axis]) >= APART for one in near)
    return order[rank] if clear else None


def _by_distance(sign: int) -> Choice:
    def choose(scene: Scene, things: Sequence[Thing], slots: Slots) -> Thing | None:
        anchor = only(scene.things, slots["other"])
        if anchor is None:
            return None
        order = sorted(
            (sign * distance(one, anchor), at) for at, one in enumerate(things) if one is not anchor
        )
        clear = len(order) > 1 and order[1][0] - order[0][0] >= NEARER
        return things[order[0][1]] if clear else None

    return choose


def _between(scene: Scene, things: Sequence[Thing], slots: Slots) -> Thing | None:
    first, second = only(scene.things, slots["other"]), only(scene.things, slots["another"])
    if first is None or second is None or first is second:
        return None
    return single(
        [t for t in things if t is not first and t is not second and lies_between(t, first, second)]
    )


def _in_front(scene: Scene, things: Sequence[Thing], slots: Slots) -> Thing | None:
    behind = only(scene.things, slots["other"])
    if behind is None or hidden(scene, behind) is not True:
        return None
    later = scene.things[scene.things.index(behind) + 1 :]
    over = single(one for one in later if covered(scene, behind, one) > BARE)
    return over if over in things and covered(scene, behind, over) >= HIDDEN else None


def _chain(scene: Scene, things: Sequence[Thing], slots: Slots) -> Thing | None:
    anchor = only(scene.things, slots["other"])
    if anchor is None:
        return None
    middle = single(t for t in scene.things if t is not anchor and slots["second"] in relations(t, anchor))

    if middle is None:
        return None
    return single(t for t in things if t is not middle and slots["relation"] in relations(t, middle))


def _unique(condition: Condition) -> Selector:
    def choose(scene: Scene, things: Sequence[Thing], slots: Slots) -> Thing | None:
        facts = [condition.holds(scene, thing, slots) for thing in things]
        if None in facts or len(things) < 2:
            return None
        return single([thing for thing, fact in zip(things, facts, strict=True) if fact])

    return Selector(condition.key, condition.skills, "{np} " + condition.words, choose)


#: Conditions that hold of too many things to name one by them.
_NEVER_ONE: Final = ("besides", "not colour", "not on side")

SELECTORS: Final[dict[str, Selector]] = {
    one.key: one
    for one in (
        Selector(
            "extreme",
            ("extreme position",),
            "{extreme} {np}",
            lambda scene, things, slots: _ranked(things, EXTREMES[slots["extreme"]], 0),
        ),
        Selector(
            "ordinal",
            ("ordinal position",),
            "{rank} {np} from the {end}",
            lambda scene, things, slots: _ranked(things, slots["end"], RANKS[slots["rank"]]),
        ),
        Selector("nearest", ("nearest",), "{np} nearest to the {other}", _by_distance(1)),
        Selector("farthest", ("farthest",), "{np} farthest from the {other}", _by_distance(-1)),
        Selector("between", ("between",), "{np} between the {other} and the {another}", _between),
        Selector(
            "centre",
            ("centre",),
            "{np} in the centre",
            lambda scene, things, slots: (
                single([t for t in things if third(t, 0) == third(t, 1) == 1]) if len(things) > 1 else None
            ),
        ),
        Selector("in front", ("depth",), "{np} in front of the {other}", _in_front),
        Selector(
            "chain", ("three-hop", "relation"), "{np} {relation} the thing {second} the {other}", _chain
        ),
        *(_unique(condition) for key, condition in AFTER.items() if key not in _NEVER_ONE),
    )
}

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five")
SIZES: Final = ("small", "large")
RELATIONS: Final = ("left of", "right of", "above", "below")
GROUP_PLURALS: Final = dict(GROUPS.values())
Solver = Callable[[Scene, Slots], str | None]


@dataclass(frozen=True)
class Form:
    """One way to ask: its key, its main skill, its wordings (the first is canonical) and how it is answered.

    `more` are the other primitive skills that it takes, `simpler` the keys of forms with one part less.
    """

    key: str
    skill: str
    wordings: tuple[str, ...]
    solve: Solver
    more: tuple[str, ...] = ()
    simpler: tuple[str, ...] = ()

    @property
    def skills(self) -> tuple[str, ...]:
        """All primitive skills, sorted."""
        return tuple(sorted({self.skill, *self.more}))

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The names of what is put into its wording, in order."""
        return tuple(ONE.get(name, name) for name in re.findall(r"\{([a-z ]+)\}", self.wordings[0]))


ONE: Final = {"things": "thing", "a thing": "thing", "others": "other", "groups": "group"}


def words(text: str) -> list[str]:
    """Split a question into lower-case words."""
    return ["colour" if word == "color" else word for word in re.findall(r"[a-z]+", text.lower())]


def word_question(form: Form, slots: Slots, wording: int = 0) -> str:
    """Put slots into a wording of a form."""
    text = form.wordings[wording % len(form.wordings)]
    values = dict(slots)
    if "thing" in values:
        values["things"] = PLURALS[values["thing"]]
        values["a thing"] = with_article(values["thing"])
    if "other" in values:
        values["others"] = PLURALS[values["other"]]
    if "group" in values:
        values["groups"] = GROUP_PLURALS[values["group"]]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    text = re.sub(r"\ba (?=[aeiou])", "an ", text)
    return f"{text}?"


def yes(fact: Fact) -> str | None:
    """The answer that a fact gives to a yes-or-no question."""
    return None if fact is None else "yes" if fact else "no"
