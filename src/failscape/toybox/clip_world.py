"""Toybox clips: what happens in them, exactly. A script of actors makes sixteen scenes, one for each frame.

Pure. Every thing of a script is of another kind, so a name says which one is meant.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.world.scenes import square_box

FRAMES: Final = 16
FPS: Final = 8.0
SIDE: Final = 64
DIRECTIONS: Final = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


@dataclass(frozen=True, slots=True)
class Actor:
    """A thing over time: where it is in the first frame, how far it moves a frame, and when it is there.

    It is there from frame `enters` to the frame before `leaves`. From frame `turns` on it has the colour
    `becomes`.
    """

    thing: world.Thing
    step: tuple[float, float] = (0.0, 0.0)
    enters: int = 0
    leaves: int = FRAMES
    turns: int = FRAMES
    becomes: str = ""

    @property
    def entity(self) -> str:
        return self.thing.entity

    def at(self, frame: int) -> world.Thing | None:
        """The thing as this frame shows it; None where it is not there."""
        if not self.enters <= frame < self.leaves:
            return None
        x, y = self.thing.centre
        side = self.thing.box[2] - self.thing.box[0]
        box = square_box(x + frame * self.step[0], y + frame * self.step[1], side)
        colour = self.becomes if frame >= self.turns else self.thing.colour
        return replace(self.thing, box=box, colour=colour)


@dataclass(frozen=True, slots=True)
class Script:
    """A clip: actors from back to front before a backdrop, which is a scene without things."""

    actors: tuple[Actor, ...]
    backdrop: world.Scene

    def scenes(self) -> tuple[world.Scene, ...]:
        """The scene of every frame."""
        shown = ([actor.at(frame) for actor in self.actors] for frame in range(FRAMES))
        return tuple(
            replace(self.backdrop, things=tuple(thing for thing in things if thing)) for things in shown
        )

    def actor(self, entity: str) -> Actor:
        return next(actor for actor in self.actors if actor.entity == entity)


def played_backwards(script: Script) -> Script:
    """The same clip from its end to its beginning."""
    return replace(script, actors=tuple(_backwards(actor) for actor in script.actors))


def _backwards(actor: Actor) -> Actor:
    last = FRAMES - 1
    x, y = actor.thing.centre
    side = actor.thing.box[2] - actor.thing.box[0]
    box = square_box(x + last * actor.step[0], y + last * actor.step[1], side)
    colour = actor.becomes if actor.turns < FRAMES else actor.thing.colour
    return replace(
        actor,
        thing=replace(actor.thing, box=box, colour=colour),
        step=(-actor.step[0], -actor.step[1]),
        enters=FRAMES - actor.leaves,
        leaves=FRAMES - actor.enters,
        turns=FRAMES - actor.turns if actor.turns < FRAMES else FRAMES,
        becomes=actor.thing.colour if actor.turns < FRAMES else "",
    )


def with_events_swapped(script: Script, first: str, second: str) -> Script:
    """Two things enter and leave at each other's times; all else stays."""
    one, other = script.actor(first), script.actor(second)
    swapped = {
        first: replace(one, enters=other.enters, leaves=other.leaves),
        second: replace(other, enters=one.enters, leaves=one.leaves),
    }
    return replace(script, actors=tuple(swapped.get(actor.entity, actor) for actor in script.actors))


def with_segment_cut(script: Script, entity: str) -> Script:
    """Without the frames that show this thing alone: it never appears."""
    return replace(script, actors=tuple(actor for actor in script.actors if actor.entity != entity))


def empty_backdrop(rng: np.random.Generator, place: str = "") -> world.Scene:
    scene = world.sample_layout(rng, 1, style=world.DEFAULTS["style"], time=world.DEFAULTS["time"])
    return replace(scene, things=(), place=place or scene.place)


def random_things(
    rng: np.random.Generator, number: int, sides: tuple[int, ...], first: str = ""
) -> list[world.Thing]:
    """Things of different kinds and colours, each of its side in pixels, all in the middle."""
    names = [name for name in rng.permutation(world.ENTITIES).tolist() if name != first]
    names = [*([first] if first else []), *names][:number]
    colours = rng.permutation(world.COLOURS).tolist()
    size = {True: "large", False: "small"}
    return [
        world.Thing(name, colours[at], size[side > 18], square_box(SIDE / 2, SIDE / 2, side))
        for at, (name, side) in enumerate(zip(names, sides, strict=True))
    ]


def moved_to(thing: world.Thing, x: float, y: float) -> world.Thing:
    return replace(thing, box=square_box(x, y, thing.box[2] - thing.box[0]))
