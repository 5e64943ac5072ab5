"""Questions with a wording of their own: about two things, three things, or the whole picture. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from failscape.toybox.forms import (
    COLUMNS,
    GROUP_OF,
    HIDDEN,
    LINES,
    NATURAL,
    NEARER,
    NUMBERS,
    ROWS,
    SIDES,
    Form,
    Slots,
    Solver,
    adjacent,
    aligned,
    covered,
    distance,
    hidden,
    in_corner,
    lies_between,
    on_side,
    only,
    same_colour,
    third,
    yes,
)
from failscape.toybox.world import Scene, Thing, relations

Two = Callable[[Scene, Thing, Thing, Slots], str | None]


def of_two(answer: Two) -> Solver:
    """A question about two things, each the only one of its kind."""

    def solve(scene: Scene, slots: Slots) -> str | None:
        first, second = only(scene.things, slots["thing"]), only(scene.things, slots["other"])
        if first is None or second is None or first is second:
            return None
        return answer(scene, first, second, slots)

    return solve


def _of_three(answer: Callable[[Thing, Thing, Thing], str | None]) -> Solver:
    def solve(scene: Scene, slots: Slots) -> str | None:
        names = [slots[name] for name in ("thing", "other", "another")]
        found = [thing for name in names if (thing := only(scene.things, name))]
        return answer(*found) if len(found) == len(set(names)) == 3 else None

    return solve


def _in_front(scene: Scene, first: Thing, second: Thing, slots: Slots) -> str | None:
    over, under = covered(scene, second, first), covered(scene, first, second)
    return yes(over > under) if max(over, under) >= HIDDEN else None


def _nearer(thing: Thing, other: Thing, another: Thing) -> str | None:
    first, second = distance(thing, other), distance(thing, another)
    return None if abs(first - second) < NEARER else yes(first < second)


def of_two_counts(answer: Callable[[int, int], str | None]) -> Solver:
    """A question about how many there are of two different kinds."""

    def solve(scene: Scene, slots: Slots) -> str | None:
        counts = Counter(thing.entity for thing in scene.things)
        first, second = slots["thing"], slots["other"]
        return None if first == second else answer(counts[first], counts[second])

    return solve


def _colours(scene: Scene, slots: Slots) -> str | None:
    found = {thing.colour for thing in scene.things}
    return None if NATURAL in found else NUMBERS[len(found)]


def _most(names: Sequence[str]) -> str | None:
    ranked = Counter(names).most_common(2)
    alone = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
    return ranked[0][0] if alone and ranked[0][1] > 1 else None


def _fuller_side(scene: Scene, slots: Slots) -> str | None:
    near, far = slots["side"], slots["far side"]
    if near == far or SIDES[near][0] != SIDES[far][0]:
        return None
    first, second = (sum(on_side(thing, side) for thing in scene.things) for side in (near, far))
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
        of_two(lambda scene, a, b, s: None if a.colour == NATURAL else yes(same_colour(a, b))),
    ),
    _special(
        "same size",
        "same or different, size",
        "do the {thing} and the {other} have the same size",
        of_two(lambda scene, a, b, s: yes(a.size == b.size)),
    ),
    _special(
        "same group",
        "same or different, category",
        "are the {thing} and the {other} of the same sort",
        of_two(lambda scene, a, b, s: yes(GROUP_OF[a.entity] == GROUP_OF[b.entity])),
    ),
    _special(
        "same line",
        "alignment, same or different",
        "are the {thing} and the {other} in the same {line}",
        of_two(lambda scene, a, b, s: yes(aligned(a, b, LINES[s["line"]]))),
    ),
    _special(
        "larger",
        "size order, comparison",
        "is the {thing} larger than the {other}",
        of_two(lambda scene, a, b, s: yes(a.size == "large" and b.size == "small")),
    ),
    _special(
        "direction",
        "direction, relation",
        "where is the {thing} seen from the {other}",
        of_two(lambda scene, a, b, s: r[0].removesuffix(" of") if len(r := relations(a, b)) == 1 else None),
    ),
    _special(
        "is diagonal",
        "diagonal, relation",
        "is the {thing} {vertical} and {horizontal} the {other}",
        of_two(lambda scene, a, b, s: yes({s["vertical"], s["horizontal"]} <= set(relations(a, b)))),
    ),
    _special(
        "adjacent",
        "adjacency",
        "is the {thing} next to the {other}",
        of_two(lambda scene, a, b, s: yes(adjacent(a, b))),
    ),
    _special("is in front", "depth", "is the {thing} in front of the {other}", of_two(_in_front)),
    _special(
        "is between",
        "between",
        "is the {thing} between the {other} and the {another}",
        _of_three(lambda a, b, c: yes(lies_between(a, b, c))),
    ),
    _special(
        "nearer",
        "nearest, comparison",
        "is the {thing} nearer to the {other} than to the {another}",
        _of_three(_nearer),
    ),
    _special(
        "sum",
        "addition, counting",
        "how many {things} and {others} are there together",
        of_two_counts(lambda a, b: NUMBERS[a + b]),
    ),
    _special(
        "difference",
        "subtraction, counting",
        "how many more {things} than {others} are there",
        of_two_counts(lambda a, b: NUMBERS[a - b] if a > b else None),
    ),
    _special(
        "as many",
        "same or different, counting",
        "are there as many {things} as {others}",
        of_two_counts(lambda a, b: yes(a == b) if a + b else None),
    ),
    _special(
        "either",
        "disjunction, existence",
        "is there a {thing} or a {other}",
        of_two_counts(lambda a, b: yes(a + b > 0)),
    ),
    _special(
        "both",
        "conjunction, existence",
        "are there both a {thing} and a {other}",
        of_two_counts(lambda a, b: yes(a > 0 and b > 0)),
    ),
    _special(
        "neither",
        "negation, disjunction, existence",
        "is there neither a {thing} nor a {other}",
        of_two_counts(lambda a, b: yes(a + b == 0)),
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
    _special(
        "empty side",
        "emptiness, region",
        "is the {side} side empty",
        lambda scene, s: yes(not any(on_side(thing, s["side"]) for thing in scene.things)),
    ),
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
