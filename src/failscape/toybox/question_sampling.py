"""Random slots of questions, and scenes on which rare kinds of question can be asked.

All randomness comes from the generator that is passed in.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.compound_sampling import compound_scene, compound_slots
from failscape.toybox.questions import (
    BY_KEY,
    RELATIONS,
    SIZES,
    Slots,
)
from failscape.toybox.world.sampling import LAYOUT_SIZES
from failscape.toybox.world.scenes import square_box


def _pick(rng: np.random.Generator, options: tuple[str, ...] | list[str]) -> str:
    return options[int(rng.integers(len(options)))]


def _some_thing(rng: np.random.Generator, scene: world.Scene, present: float) -> str:
    if rng.random() < present:
        return _pick(rng, [thing.entity for thing in scene.things])
    return _pick(rng, world.ENTITIES)


def _pair(rng: np.random.Generator, scene: world.Scene) -> tuple[str, str]:
    names = sorted({thing.entity for thing in scene.things})
    if len(names) >= 2 and rng.random() < 0.85:
        first, second = rng.permutation(len(names))[:2]
        return names[first], names[second]
    return _some_thing(rng, scene, 0.9), _pick(rng, world.ENTITIES)


def _conjunction(rng: np.random.Generator, scene: world.Scene, names: tuple[str, ...]) -> Slots:
    """Take the attributes of a real thing and, half of the time, spoil one of them."""
    thing = scene.things[int(rng.integers(len(scene.things)))]
    colour = thing.colour if thing.colour in world.COLOURS else _pick(rng, world.COLOURS)
    slots = {"thing": thing.entity, "colour": colour, "size": thing.size if thing.size in SIZES else "large"}
    slots = {name: slots[name] for name in names}
    if rng.random() < 0.5:
        options = {"thing": world.ENTITIES, "colour": world.COLOURS, "size": SIZES}
        spoilt = _pick(rng, names)
        slots[spoilt] = _pick(rng, [value for value in options[spoilt] if value != slots[spoilt]])
    return slots


def _relation(rng: np.random.Generator, scene: world.Scene) -> Slots:
    """Prefer relations that hold a little: at random only one in three would."""
    first, second = _pair(rng, scene)
    things = {thing.entity: thing for thing in scene.things}
    held = world.relations(things[first], things[second]) if {first, second} <= things.keys() else ()
    relation = _pick(rng, list(held)) if held and rng.random() < 0.3 else _pick(rng, RELATIONS)
    return {"thing": first, "other": second, "relation": relation}


def _hop(rng: np.random.Generator, scene: world.Scene) -> Slots:
    return {"other": _some_thing(rng, scene, 1.0), "relation": _pick(rng, RELATIONS)}


def _more(rng: np.random.Generator, scene: world.Scene) -> Slots:
    first, second = _pair(rng, scene)
    return {"thing": first, "other": second}


Slotter = Callable[[np.random.Generator, world.Scene], Slots]
_SLOTTERS: Final[dict[str, Slotter]] = {
    "exists": lambda rng, scene: {"thing": _some_thing(rng, scene, 0.5)},
    "absent": lambda rng, scene: {"thing": _some_thing(rng, scene, 0.5)},
    "colour": lambda rng, scene: {"thing": _some_thing(rng, scene, 1.0)},
    "count": lambda rng, scene: {"thing": _some_thing(rng, scene, 0.85)},
    "count all": lambda rng, scene: {},
    "size": lambda rng, scene: {"thing": _some_thing(rng, scene, 1.0)},
    "place": lambda rng, scene: {},
    "relation": _relation,
    "more": _more,
    "not size": lambda rng, scene: {"size": _pick(rng, SIZES)},
    "colour+thing": lambda rng, scene: _conjunction(rng, scene, ("colour", "thing")),
    "size+thing": lambda rng, scene: _conjunction(rng, scene, ("size", "thing")),
    "size+colour": lambda rng, scene: _conjunction(rng, scene, ("size", "colour")),
    "size+colour+thing": lambda rng, scene: _conjunction(rng, scene, ("size", "colour", "thing")),
    "odd size": lambda rng, scene: {},
    "odd colour": lambda rng, scene: {},
    "odd kind": lambda rng, scene: {},
    "hop thing": _hop,
    "hop colour": _hop,
    "hop size": _hop,
}


def draw_slots(rng: np.random.Generator, scene: world.Scene, key: str) -> Slots:
    """Return random slots for a form; the question need not be valid for the scene."""
    slotter = _SLOTTERS.get(key)
    return slotter(rng, scene) if slotter else compound_slots(rng, scene, BY_KEY[key])


def scene_for(rng: np.random.Generator, key: str) -> world.Scene:
    """Return a layout on which a form can probably be asked."""
    if key not in _SLOTTERS:
        return compound_scene(rng, BY_KEY[key])
    if key == "odd kind":
        first, second = rng.permutation(len(world.ENTITIES))[:2]
        names = [world.ENTITIES[first]] * int(rng.integers(2, 5)) + [world.ENTITIES[second]]
        return world.sample_layout(rng, entities=[names[i] for i in rng.permutation(len(names))])
    if key in ("odd size", "odd colour"):
        return _one_differs(rng, world.sample_layout(rng, int(rng.integers(3, 6))), key.removeprefix("odd "))
    if key in ("count", "more"):
        return world.sample_layout(rng, int(rng.integers(2, 6)), repeat=0.7)
    if key == "place":
        return world.sample_layout(rng, vary=0.9)
    if key in ("relation", "hop thing", "hop colour", "hop size"):
        return world.sample_layout(rng, int(rng.integers(2, 6)), coloured=0.9 if key == "hop colour" else 0.6)
    return world.sample_layout(rng, coloured=0.9 if key == "colour" else 0.6)


def _one_differs(rng: np.random.Generator, scene: world.Scene, attribute: str) -> world.Scene:
    options = SIZES if attribute == "size" else world.COLOURS
    first, second = (options[int(i)] for i in rng.permutation(len(options))[:2])
    odd = int(rng.integers(len(scene.things)))
    things = []
    for i, thing in enumerate(scene.things):
        value = second if i == odd else first
        if attribute == "colour":
            things.append(replace(thing, colour=value))
        else:
            things.append(replace(thing, size=value, box=square_box(*thing.centre, LAYOUT_SIZES[value])))
    return replace(scene, things=tuple(things))
