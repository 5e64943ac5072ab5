"""Questions with a wording of their own: about two things, three things, or the whole picture. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from failscape.toybox.conditions import (
    COLUMNS,
    GROUP_OF,
    HIDDEN,
    LINES,
    NATURAL,
    NEARER,
    ROWS,
    SIDES,
    Slots,
    adjacent,
    aligned,
    covered,
    distance,
    hidden,
    in_corner,
    lies_between,
    only,
    same_colour,
    third,
)
from failscape.toybox.forms import NUMBERS, Form, Solver, yes
from failscape.toybox.world import Scene, Thing, relations

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
        if (
            first is None
            or second is None
            or last is None
            or len({slots[n] for n in ("thing", "other", "another")}) < 3
        ):
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
    _special(
        "style", "style", "what style is this picture", lambda scene, s: scene.style, "in which style is this"
    ),
    _special("time", "time and weather", "what time or weather is this", lambda scene, s: scene.time),
    _special(
        "column", "position", "in which column is the {thing}", _one_thing(lambda c, t: COLUMNS[third(t, 0)])
    ),
    _special("row", "position", "in which row is the {thing}", _one_thing(lambda c, t: ROWS[third(t, 1)])),
    _special("corner", "corner", "is the {thing} in a corner", _one_thing(lambda c, t: yes(in_corner(t)))),
    _special(
        "hidden", "occlusion", "is the {thing} partly hidden", _one_thing(lambda c, t: yes(hidden(c, t)))
    ),
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
    _special(
        "direction", "direction, relation", "where is the {thing} seen from the {other}", _two(_direction)
    ),
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
        "nearer",
        "nearest, comparison",
        "is the {thing} nearer to the {other} than to the {another}",
        _third_thing(_nearer),
    ),
    _special("sum", "addition, counting", "how many {things} and {others} are there together", _sum),
    _special(
        "difference", "subtraction, counting", "how many more {things} than {others} are there", _difference
    ),
    _special("as many", "same or different, counting", "are there as many {things} as {others}", _as_many),
    _special(
        "either", "disjunction, existence", "is there a {thing} or a {other}", _together(lambda a, b: a or b)
    ),
    _special(
        "both",
        "conjunction, existence",
        "are there both a {thing} and a {other}",
        _together(lambda a, b: a and b),
    ),
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
    _special(
        "most",
        "majority",
        "which thing is there most often",
        lambda c, s: _most([t.entity for t in c.things]),
    ),
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
