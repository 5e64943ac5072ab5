"""Forms of questions about toybox clips. Each makes a script with the right answer, and reads it back.

`make` knows the answer because it wrote the script. `see` is the second reading: it looks at scenes only, so
that the two can be held against each other, and a reader of few frames finds out as much as they show.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from failscape.spaces.ordinals import NUMBERS
from failscape.toybox import world
from failscape.toybox.clip_world import (
    DIRECTIONS,
    FRAMES,
    SIDE,
    Actor,
    Script,
    empty_backdrop,
    moved_to,
    random_things,
)

Slots = dict[str, str]
Scenes = Sequence[world.Scene]
APART: Final = "frames apart"
#: So many frames may lie between two events: a clip has room for more, but numbers end at ten.
MOST_APART: Final = 8


class MadeClip(NamedTuple):
    """A script, what is asked about it, the right answer, and temporal facts that hold for it."""

    script: Script
    slots: Slots
    answer: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ClipForm:
    """One way to ask about a clip. `told` says what it means to fail at it."""

    key: str
    skills: tuple[str, ...]
    wordings: tuple[str, ...]
    told: str
    make: Callable[[np.random.Generator, Slots], MadeClip]
    see: Callable[[Scenes, Slots], str | None]

    def worded(self, slots: Slots, choice: int = 0) -> str:
        return self.wordings[choice % len(self.wordings)].format(**slots) + "?"


def _spots(rng: np.random.Generator, number: int) -> list[tuple[float, float]]:
    """Places that are far enough from each other for small things not to touch."""
    grid = [(x, y) for x in (12.0, 32.0, 52.0) for y in (16.0, 44.0)]
    return [grid[int(at)] for at in rng.permutation(len(grid))[:number]]


def _in_spots(rng: np.random.Generator, number: int, fixed: Slots) -> list[world.Thing]:
    things = random_things(rng, number, (16,) * number, fixed.get("thing", ""))
    return [moved_to(thing, *spot) for thing, spot in zip(things, _spots(rng, number), strict=True)]


def _seen(scenes: Scenes, name: str) -> list[tuple[int, world.Thing]]:
    """Numbers of the scenes that show a thing, and the thing there."""
    return [(at, thing) for at, scene in enumerate(scenes) for thing in scene.things if thing.entity == name]


def _motion(rng: np.random.Generator, fixed: Slots) -> MadeClip:
    way = fixed.get("answer") if fixed.get("answer") in DIRECTIONS else str(rng.choice(list(DIRECTIONS)))
    speed = float(rng.choice([1.0, 2.0, 3.0]))
    dx, dy = DIRECTIONS[str(way)]
    path = speed * (FRAMES - 1)
    mover, other = random_things(rng, 2, (16, 16), fixed.get("thing", ""))
    middle = SIDE / 2
    cross = float(rng.uniform(14, 30))
    x = middle - dx * path / 2 if dx else cross
    y = middle - dy * path / 2 if dy else cross
    actors = (Actor(moved_to(other, 52, 52)), Actor(moved_to(mover, x, y), (dx * speed, dy * speed)))
    told = {1.0: "slow", 2.0: "medium", 3.0: "fast"}[speed]
    script = Script(actors, empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, {"thing": mover.entity}, str(way), (("speed", told),))


def _see_motion(scenes: Scenes, slots: Slots) -> str | None:
    seen = _seen(scenes, slots["thing"])
    if len(seen) < 2:
        return None
    (x0, y0), (x1, y1) = seen[0][1].centre, seen[-1][1].centre
    dx, dy = x1 - x0, y1 - y0
    if not dx and not dy:
        return None
    if abs(dx) >= abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"


def _faster(rng: np.random.Generator, fixed: Slots) -> MadeClip:
    speeds = rng.permutation([1.0, 2.0, 3.0])[:2]
    things = random_things(rng, 2, (16, 16), fixed.get("thing", ""))
    actors = []
    for thing, speed, y in zip(things, speeds, (16, 46), strict=True):
        way = float(rng.choice([-1, 1]))
        step = way * float(speed)
        actors.append(Actor(moved_to(thing, SIDE / 2 - step * (FRAMES - 1) / 2, y), (step, 0.0)))
    winner = things[int(np.argmax(speeds))].entity
    script = Script(tuple(actors), empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, {"thing": things[0].entity, "other": things[1].entity}, winner)


def _see_faster(scenes: Scenes, slots: Slots) -> str | None:
    paths = {}
    for name in (slots["thing"], slots["other"]):
        seen = _seen(scenes, name)
        paths[name] = abs(seen[-1][1].centre[0] - seen[0][1].centre[0]) if seen else 0.0
    first, second = paths.values()
    return None if first == second else max(paths, key=lambda name: paths[name])


def _gap_in(rng: np.random.Generator, fixed: Slots) -> int:
    named = fixed.get(APART, "")
    return NUMBERS.index(named) if named in NUMBERS else int(rng.integers(1, MOST_APART + 1))


def _two_events(rng: np.random.Generator, fixed: Slots, leaving: bool) -> MadeClip:
    gap = _gap_in(rng, fixed)
    begins = int(rng.integers(2, FRAMES - gap - 1))
    things = _in_spots(rng, 2, fixed)
    times = [begins, begins + gap] if rng.random() < 0.5 else [begins + gap, begins]
    name = "leaves" if leaving else "enters"
    actors = [Actor(thing, **{name: time}) for thing, time in zip(things, times, strict=True)]  # type: ignore[arg-type]
    first = things[int(times[1] < times[0])].entity
    slots = {"thing": things[0].entity, "other": things[1].entity}
    script = Script(tuple(actors), empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, slots, first, ((APART, NUMBERS[gap]),))


def _see_order(scenes: Scenes, slots: Slots, leaving: bool) -> str | None:
    names = (slots["thing"], slots["other"])
    times = []
    for name in names:
        seen = [at for at, _ in _seen(scenes, name)]
        never = len(scenes) if not leaving else -1
        times.append((seen[-1] if leaving else seen[0]) if seen else never)
    return None if times[0] == times[1] else names[int(times[1] < times[0])]


def _whole_count(rng: np.random.Generator, fixed: Slots) -> MadeClip:
    number = int(rng.integers(2, 5))
    things = _in_spots(rng, number, {})
    length = FRAMES // number
    stays = int(rng.integers(length, FRAMES - (number - 1) * length + 1))
    actors = [Actor(thing, enters=at * length, leaves=at * length + stays) for at, thing in enumerate(things)]
    last = sum(actor.at(FRAMES - 1) is not None for actor in actors)
    script = Script(tuple(actors), empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, {}, NUMBERS[number], (("left at the end", NUMBERS[last]),))


def _see_count(scenes: Scenes, slots: Slots) -> str:
    return NUMBERS[len({thing.entity for scene in scenes for thing in scene.things})]


def _colour_change(rng: np.random.Generator, fixed: Slots, end: bool) -> MadeClip:
    thing, other = _in_spots(rng, 2, fixed)
    before, after = (str(colour) for colour in rng.permutation(world.COLOURS)[:2])
    turns = int(rng.integers(3, FRAMES - 2))
    actor = Actor(world.Thing(thing.entity, before, thing.size, thing.box), turns=turns, becomes=after)
    script = Script((Actor(other), actor), empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, {"thing": thing.entity}, after if end else before)


def _see_colour(scenes: Scenes, slots: Slots, end: bool) -> str | None:
    seen = _seen(scenes, slots["thing"])
    return seen[-1 if end else 0][1].colour if seen else None


def _behind(rng: np.random.Generator, fixed: Slots) -> MadeClip:
    mover, still = random_things(rng, 2, (16, 26), fixed.get("thing", ""))
    way = float(rng.choice([-1, 1]))
    step = 2.0 * way
    passing = Actor(moved_to(mover, SIDE / 2 - step * (FRAMES - 1) / 2, 34), (step, 0.0))
    standing = Actor(moved_to(still, SIDE / 2, 34))
    hidden = bool(rng.random() < 0.5)
    actors = (passing, standing) if hidden else (standing, passing)
    script = Script(actors, empty_backdrop(rng, fixed.get("place", "")))
    return MadeClip(script, {"thing": mover.entity, "other": still.entity}, "yes" if hidden else "no")


def _see_behind(scenes: Scenes, slots: Slots) -> str | None:
    for scene in scenes:
        names = [thing.entity for thing in scene.things]
        if slots["thing"] not in names or slots["other"] not in names:
            continue
        thing, other = (scene.things[names.index(slots[name])] for name in ("thing", "other"))
        if abs(thing.centre[0] - other.centre[0]) < (other.box[2] - other.box[0]) / 2:
            return "yes" if names.index(thing.entity) < names.index(other.entity) else "no"
    return None


FORMS: Final[tuple[ClipForm, ...]] = (
    ClipForm(
        "motion",
        ("motion",),
        ("which way does the {thing} move", "in which direction does the {thing} go"),
        "it gets wrong which way a thing moves",
        _motion,
        _see_motion,
    ),
    ClipForm(
        "faster",
        ("comparison", "motion"),
        ("which moves faster, the {thing} or the {other}", "what is faster, the {thing} or the {other}"),
        "it gets wrong which of two things moves faster",
        _faster,
        _see_faster,
    ),
    ClipForm(
        "appears first",
        ("appearance", "order"),
        ("which appears first, the {thing} or the {other}", "what comes first, the {thing} or the {other}"),
        "it gets wrong which of two things appears first",
        lambda rng, fixed: _two_events(rng, fixed, leaving=False),
        lambda scenes, slots: _see_order(scenes, slots, leaving=False),
    ),
    ClipForm(
        "disappears first",
        ("disappearance", "order"),
        (
            "which disappears first, the {thing} or the {other}",
            "what goes away first, the {thing} or the {other}",
        ),
        "it gets wrong which of two things disappears first",
        lambda rng, fixed: _two_events(rng, fixed, leaving=True),
        lambda scenes, slots: _see_order(scenes, slots, leaving=True),
    ),
    ClipForm(
        "count over time",
        ("counting", "memory over time"),
        ("how many different things does the clip show", "how many things appear in the whole clip"),
        "it miscounts the things that a clip shows in all",
        _whole_count,
        _see_count,
    ),
    ClipForm(
        "colour before",
        ("before and after", "colour"),
        ("what colour is the {thing} at the beginning", "which colour did the {thing} have at first"),
        "it names the wrong colour of what a thing was at the beginning",
        lambda rng, fixed: _colour_change(rng, fixed, end=False),
        lambda scenes, slots: _see_colour(scenes, slots, end=False),
    ),
    ClipForm(
        "colour after",
        ("before and after", "colour"),
        ("what colour is the {thing} at the end", "which colour does the {thing} have in the end"),
        "it names the wrong colour of what a thing is at the end",
        lambda rng, fixed: _colour_change(rng, fixed, end=True),
        lambda scenes, slots: _see_colour(scenes, slots, end=True),
    ),
    ClipForm(
        "passes behind",
        ("motion", "occlusion"),
        ("does the {thing} pass behind the {other}", "is the {thing} hidden by the {other} for a while"),
        "it gets wrong whether a thing passes behind another",
        _behind,
        _see_behind,
    ),
)
BY_KEY: Final[dict[str, ClipForm]] = {form.key: form for form in FORMS}
