"""Scenes of two things: laying them out as a relation asks, and what is true of them. Pure.

The truth comes from boxes, sizes and colours of the scene: it is exact, whatever the layout was meant to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from failscape.toybox.world.scenes import NUISANCE_DIM, Scene, Thing, relations, square_box
from failscape.toybox.world.vocab import DEFAULTS

#: Sides in pixels of things in a scene of two.
SIDES: Final = {"small": 14, "medium": 21, "large": 29}
#: One thing counts as larger from this ratio of sides on: what people see at a glance.
CLEARLY_LARGER: Final = 1.25
#: Things whose centres are nearer than this, and which are of about one size, are one blob.
MERGED_WITHIN: Final = 5
#: A thing stands on another if its lower edge is this near the other's upper edge.
TOUCHING: Final = 4

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class WantedThing:
    """A thing to draw. A size or colour left out is the usual one."""

    entity: str
    colour: str = DEFAULTS["colour"]
    size: str = DEFAULTS["size"]


#: Centres of the first and the second thing.
_LAYOUTS: Final[dict[str, tuple[Point, Point]]] = {
    "left of": ((17, 34), (47, 34)),
    "right of": ((47, 34), (17, 34)),
    "above": ((32, 17), (32, 47)),
    "below": ((32, 47), (32, 17)),
    "in front of": ((38, 38), (26, 28)),
    "behind": ((26, 28), (38, 38)),
    "inside": ((32, 34), (32, 34)),
}
#: Relations that can be laid out and decided.
DRAWN_RELATIONS: Final = (*_LAYOUTS, "on", "under", "larger than", "smaller than", "same colour as")
_ANYWHERE: Final = ("left of", "right of", "above", "below")


def lay_out(first: WantedThing, second: WantedThing, relation: str, rng: np.random.Generator) -> Scene:
    """A scene in which the first thing stands to the second as asked; without a relation, anywhere beside it.

    Raises:
        ValueError: The relation cannot be drawn, such as `holding`.
    """
    if relation and relation not in DRAWN_RELATIONS:
        raise ValueError(f"relation must be one of {', '.join(DRAWN_RELATIONS)}, but is {relation!r}")
    sides = _sides(first, second, relation)
    spots = _spots(relation, sides, rng)
    shift = rng.uniform(-1.5, 1.5, size=(2, 2))
    if relation in ("on", "under", "inside"):
        shift[1] = shift[0]  # they move together, or they would come apart
    things = [
        Thing(wanted.entity, wanted.colour, wanted.size, square_box(x + dx, y + dy, side))
        for wanted, (x, y), (dx, dy), side in zip((first, second), spots, shift, sides, strict=True)
    ]
    # From back to front: the first thing is in front unless it is asked to be behind.
    ordered = things if relation == "behind" else things[::-1]
    noise = tuple(float(value) for value in rng.uniform(-1, 1, NUISANCE_DIM))
    return Scene(
        tuple(ordered), DEFAULTS["place"], DEFAULTS["time"], DEFAULTS["style"], None, noise, "layout"
    )


def _sides(first: WantedThing, second: WantedThing, relation: str) -> tuple[int, int]:
    if relation == "larger than":
        return SIDES["large"], SIDES["small"]
    if relation == "smaller than":
        return SIDES["small"], SIDES["large"]
    if relation == "inside":
        return SIDES["small"], 2 * SIDES["medium"]
    return SIDES[first.size], SIDES[second.size]


def _spots(relation: str, sides: tuple[int, int], rng: np.random.Generator) -> tuple[Point, Point]:
    apart = sum(sides) / 2
    if relation == "on":
        return (32, 36 - apart / 2), (32, 36 + apart / 2)
    if relation == "under":
        return (32, 36 + apart / 2), (32, 36 - apart / 2)
    if relation not in _LAYOUTS:
        relation = _ANYWHERE[int(rng.integers(len(_ANYWHERE)))]
    return _LAYOUTS[relation]


def merged(first: Thing, second: Thing) -> bool:
    """Whether two things are drawn as one blob. A small thing inside a large one is seen apart."""
    (ax, ay), (bx, by) = first.centre, second.centre
    near = max(abs(ax - bx), abs(ay - by)) < MERGED_WITHIN
    return near and max(_side(first), _side(second)) < CLEARLY_LARGER * min(_side(first), _side(second))


def holds(relation: str, first: Thing, second: Thing, scene: Scene) -> bool | None:
    """Whether the first thing stands to the second like this; `None` where a picture cannot show it."""
    if relation in ("left of", "right of", "above", "below"):
        return relation in relations(first, second)
    decide = _DECIDED.get(relation)
    return None if decide is None else decide(first, second, scene)


def _in_front(first: Thing, second: Thing, scene: Scene) -> bool:
    return scene.things.index(first) > scene.things.index(second) and _overlap(first, second)


def _on(first: Thing, second: Thing, scene: Scene) -> bool:
    shares_column = first.box[0] < second.box[2] and second.box[0] < first.box[2]
    return shares_column and abs(first.box[3] - second.box[1]) <= TOUCHING


def _inside(first: Thing, second: Thing, scene: Scene) -> bool:
    left, top, right, bottom = first.box
    return (
        left >= second.box[0] and top >= second.box[1] and right <= second.box[2] and bottom <= second.box[3]
    )


def _larger(first: Thing, second: Thing, scene: Scene) -> bool:
    return _side(first) >= CLEARLY_LARGER * _side(second)


def _same_colour(first: Thing, second: Thing, scene: Scene) -> bool:
    """Things in their natural colours have different ones."""
    return first.colour == second.colour != DEFAULTS["colour"]


Decision = Callable[[Thing, Thing, Scene], bool]

_DECIDED: Final[dict[str, Decision]] = {
    "in front of": _in_front,
    "behind": lambda first, second, scene: _in_front(second, first, scene),
    "on": _on,
    "under": lambda first, second, scene: _on(second, first, scene),
    "inside": _inside,
    "larger than": _larger,
    "smaller than": lambda first, second, scene: _larger(second, first, scene),
    "same colour as": _same_colour,
}


def _side(thing: Thing) -> int:
    return thing.box[2] - thing.box[0]


def _overlap(first: Thing, second: Thing) -> bool:
    a, b = first.box, second.box
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
