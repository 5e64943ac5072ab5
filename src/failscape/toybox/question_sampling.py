"""Random slots of questions, and scenes on which rare kinds of question can be asked.

For questions put together from parts, what is asked about is mostly there. All randomness comes from the
generator that is passed in.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.forms import GROUP_OF, GROUPS, NATURAL, Form
from failscape.toybox.questions import (
    BY_KEY,
    RELATIONS,
    SIZES,
    SLOT_VALUES,
    Slots,
)
from failscape.toybox.world.scenes import LAYOUT_SIZES, SIDE, square_box

_ENTITIES: Final = ("thing", "other", "another")
_COLOURS: Final = ("colour", "tint", "unlike", "either", "else")
_TRIES: Final = 8
#: One in so many tries with the unwanted answer, or with nothing to count, is kept.
_ZEROS: Final = 6

#: How often a slot names what is in the picture.
_PRESENT: Final = 0.85

#: How often the things of a picture have two colours, or two sorts, where a question is about these.
_ALIKE: Final = 0.6

#: How far (in pixels) a thing is put from the one that it partly hides.
_OVER: Final = (6.0, 8.0)


def compound_slots(rng: np.random.Generator, scene: world.Scene, form: Form) -> Slots:
    """Slots of a valid question, if some tries find one; as often with the answer yes as with no."""
    wanted = "yes" if rng.random() < 0.5 else "no"
    slots: Slots = {}
    valid: Slots | None = None
    for _ in range(_TRIES):
        slots = _drawn(rng, scene, form)
        answer = form.solve(scene, slots)
        if answer is not None:
            valid = slots
            if answer == wanted or answer not in ("yes", "no", "zero") or not rng.integers(_ZEROS):
                return slots
    return valid or slots


def _drawn(rng: np.random.Generator, scene: world.Scene, form: Form) -> Slots:
    things = [scene.things[i] for i in rng.permutation(len(scene.things))]
    slots: Slots = {}
    for at, name in enumerate(dict.fromkeys(form.slots)):
        thing = things[at % len(things)]
        values = SLOT_VALUES[name]
        slots[name] = values[int(rng.integers(len(values)))]
        if rng.random() < _PRESENT:
            if name in _ENTITIES:
                slots[name] = thing.entity
            elif name in _COLOURS and thing.colour in world.COLOURS:
                slots[name] = thing.colour
            elif name == "group":
                slots[name] = GROUP_OF[thing.entity]
    return slots


def compound_scene(rng: np.random.Generator, form: Form) -> world.Scene:
    """A layout on which a compound form can probably be asked."""
    skills = form.skills
    if form.skill in ("style", "time and weather"):
        return world.sample_layout(rng, vary=0.9) if form.skill != "style" else _styled(rng)
    coloured = 0.97 if "colour" in skills else 0.6
    repeat = 0.85 if {"nesting", "majority", "subtraction"} & set(skills) else 0.35
    if form.key == "all alike" and rng.random() < 0.5:
        name = world.ENTITIES[int(rng.integers(len(world.ENTITIES)))]
        return world.sample_layout(rng, entities=[name] * int(rng.integers(2, 5)))
    entities = _of_two_groups(rng) if "category" in skills and rng.random() < _ALIKE else None
    scene = world.sample_layout(
        rng, int(rng.integers(3, 6)), entities=entities, repeat=repeat, coloured=coloured
    )
    if "colour" in skills and rng.random() < _ALIKE:
        scene = _two_colours(rng, scene)
    return _overlapped(rng, scene) if {"occlusion", "depth"} & set(skills) else scene


def _of_two_groups(rng: np.random.Generator) -> list[str]:
    first, second = rng.permutation(len(GROUPS))[:2]
    names = [kind.name for kind in world.KINDS if list(GROUPS).index(kind.group) in (first, second)]
    return [names[i] for i in rng.permutation(len(names))[: int(rng.integers(3, 6))]]


def _two_colours(rng: np.random.Generator, scene: world.Scene) -> world.Scene:
    """So that several things share a colour."""
    pair = [world.COLOURS[i] for i in rng.permutation(len(world.COLOURS))[:2]]
    things = tuple(
        thing if thing.colour == NATURAL else replace(thing, colour=pair[int(rng.integers(2))])
        for thing in scene.things
    )
    return replace(scene, things=things)


def _styled(rng: np.random.Generator) -> world.Scene:
    """All styles alike, but sepia, which layouts do not have."""
    styles = [style for style in world.STYLES if style != "sepia"]
    return world.sample_layout(rng, style=styles[int(rng.integers(len(styles)))])


def _overlapped(rng: np.random.Generator, scene: world.Scene) -> world.Scene:
    """One thing moved so that it partly hides another that is drawn before it."""
    back, front = sorted(int(i) for i in rng.permutation(len(scene.things))[:2])
    x, y = scene.things[back].centre
    far = rng.uniform(*_OVER)
    dx, dy = ((far, 0), (-far, 0), (0, far), (0, -far))[int(rng.integers(4))]
    x, y = (at - step if not 8 <= at + step <= SIDE - 8 else at + step for at, step in ((x, dx), (y, dy)))
    thing = scene.things[front]
    moved = replace(thing, box=square_box(x, y, thing.box[2] - thing.box[0]))
    return replace(scene, things=(*scene.things[:front], moved, *scene.things[front + 1 :]))


def _pick(rng: np.random.Generator, options: tuple[str, ...] | list[str]) -> str:
    return options[int(rng.integers(len(options)))]


def _some_thing(rng: np.random.Generator, scene: world.Scene, present: float) -> str:
    shown = rng.random() < present
    return _pick(rng, [thing.entity for thing in scene.things] if shown else world.ENTITIES)


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
    "more": lambda rng, scene: dict(zip(("thing", "other"), _pair(rng, scene), strict=True)),
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
