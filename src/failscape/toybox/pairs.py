"""Questions about two pictures: comparison and spot the difference, with exact answers. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.questions import Slots

TWO: Final = "two pictures"
Pair = tuple[world.Scene, world.Scene]
Found = tuple[Slots, str, Pair]
"""The slots of a question, its answer and the two scenes."""


@dataclass(frozen=True)
class PairForm:
    """One way to ask about two pictures."""

    key: str
    skills: tuple[str, ...]
    wordings: tuple[str, ...]
    make: Callable[[np.random.Generator, world.Scene], Found | None]

    def worded(self, slots: Slots, choice: int) -> str:
        text = self.wordings[choice % len(self.wordings)]
        return text.format(**slots, things=world.PLURALS.get(slots.get("thing", ""), "things")) + "?"


def _count(scene: world.Scene, entity: str) -> int:
    return sum(thing.entity == entity for thing in scene.things)


def _more(rng: np.random.Generator, first: world.Scene) -> Found | None:
    second = world.sample_layout(rng, repeat=0.7)
    names = sorted({thing.entity for scene in (first, second) for thing in scene.things})
    name = names[int(rng.integers(len(names)))]
    counts = _count(first, name), _count(second, name)
    if counts[0] == counts[1]:
        return None
    return {"thing": name}, "first" if counts[0] > counts[1] else "second", (first, second)


def _same_place(rng: np.random.Generator, first: world.Scene) -> Found | None:
    second = world.sample_layout(rng, vary=0.9)
    if rng.random() < 0.5:
        second = replace(second, place=first.place)
    return {}, "yes" if first.place == second.place else "no", (first, second)


def _difference(rng: np.random.Generator, first: world.Scene) -> Found | None:
    """One thing has another colour in the second picture; all else is as it was."""
    names = [thing.entity for thing in first.things]
    alone = [i for i, name in enumerate(names) if names.count(name) == 1]
    if not alone:
        return None
    at = alone[int(rng.integers(len(alone)))]
    colours = [colour for colour in world.COLOURS if colour != first.things[at].colour]
    changed = replace(first.things[at], colour=colours[int(rng.integers(len(colours)))])
    things = (*first.things[:at], changed, *first.things[at + 1 :])
    return {}, names[at], (first, replace(first, things=things))


PAIRS: Final[tuple[PairForm, ...]] = (
    PairForm(
        "pair more",
        ("comparison", "counting", TWO),
        ("which picture has more {things}, the first or the second", "in which picture are more {things}"),
        _more,
    ),
    PairForm(
        "pair place",
        ("place", TWO),
        ("do both pictures show the same place", "is the place the same in both pictures"),
        _same_place,
    ),
    PairForm(
        "pair difference",
        ("colour", "odd one out", TWO),
        (
            "which thing differs in colour between the pictures",
            "what changed its colour in the second picture",
        ),
        _difference,
    ),
)
_BY_KEY: Final = {form.key: form for form in PAIRS}


def make_pair(rng: np.random.Generator, key: str) -> Found | None:
    """Two scenes with a question of the form about them, or None if this draw has none."""
    return _BY_KEY[key].make(rng, world.sample_layout(rng, repeat=0.7))
