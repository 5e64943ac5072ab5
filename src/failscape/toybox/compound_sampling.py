"""Scenes and slots for questions put together from parts: what is asked about is mostly there.

All randomness comes from the generator that is passed in.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.conditions import GROUP_OF, GROUPS, NATURAL, Slots
from failscape.toybox.forms import Form
from failscape.toybox.questions import SLOT_VALUES
from failscape.toybox.world.scenes import SIDE, square_box

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
