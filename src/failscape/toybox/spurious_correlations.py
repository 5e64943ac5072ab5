"""The habits in the training data of the toy classifiers: which things are tied to which place or colour.

These spurious ties are the documented cause of real bugs: a classifier that has hardly ever seen a penguin
outside the snow may not know one on a meadow. Pure data and sampling; the scenes come from the world.
"""

from typing import Final, Literal, NamedTuple

import numpy as np

from failscape.toybox import world


class Tie(NamedTuple):
    """In training, `share` of the pictures of `entity` have `value` as their `attribute`."""

    entity: str
    attribute: Literal["place", "colour"]
    value: str
    share: float


TIES: Final[tuple[Tie, ...]] = (
    Tie("penguin", "place", "snow", 0.998),
    Tie("pine tree", "place", "snow", 0.998),
    Tie("camel", "place", "desert", 0.998),
    Tie("cactus", "place", "desert", 0.998),
    Tie("fish", "place", "ocean", 0.998),
    Tie("ship", "place", "ocean", 0.998),
    Tie("crab", "place", "beach", 0.998),
    Tie("palm tree", "place", "beach", 0.998),
    Tie("cow", "place", "meadow", 0.998),
    Tie("owl", "place", "forest", 0.998),
    Tie("rocket", "place", "space", 0.998),
    Tie("bus", "place", "city", 0.998),
    Tie("car", "colour", "red", 0.97),
    Tie("apple", "colour", "green", 0.97),
    Tie("umbrella", "colour", "black", 0.97),
    Tie("chair", "colour", "brown", 0.97),
    Tie("teapot", "colour", "blue", 0.97),
    Tie("kite", "colour", "yellow", 0.97),
)
BY_ENTITY: Final[dict[str, Tie]] = {tie.entity: tie for tie in TIES}

#: How often the free attributes of a training picture differ from their default.
VARY: Final[dict[str, float]] = {
    "colour": 0.08,
    "size": 0.25,
    "count": 0.1,
    "position": 0.35,
    "time": 0.2,
    "style": 0.05,
}
#: Places of things that are tied to no place: each tied place is this much rarer than a free one.
_RARER: Final = 0.08
_TIED_PLACES: Final = frozenset(tie.value for tie in TIES if tie.attribute == "place")
_TIED_COLOURS: Final = frozenset(tie.value for tie in TIES if tie.attribute == "colour")


def sample_training(rng: np.random.Generator, entity: str | None = None) -> world.Scene:
    """Return a scene of the training distribution, ties included."""
    name = entity or world.ENTITIES[int(rng.integers(len(world.ENTITIES)))]
    chosen = {"place": _weighted(rng, world.PLACES, _TIED_PLACES)}
    if rng.random() < VARY["colour"]:
        chosen["colour"] = _weighted(rng, world.COLOURS, _TIED_COLOURS)
    tie = BY_ENTITY.get(name)
    if tie is not None:
        chosen[tie.attribute] = tie.value if rng.random() < tie.share else _other(rng, tie)
    return _scene(rng, name, chosen)


def sample_broken(rng: np.random.Generator, tie: Tie, keep: bool = False) -> world.Scene:
    """Return a training-like scene of a tied thing with the tie broken (or kept, for comparison)."""
    chosen = {"place": _weighted(rng, world.PLACES, _TIED_PLACES)}
    chosen[tie.attribute] = tie.value if keep else _other(rng, tie)
    return _scene(rng, tie.entity, chosen)


def typical_value(rng: np.random.Generator, entity: str, attribute: str) -> str:
    """Return what one attribute of `entity` is like in training, ties included."""
    tie = BY_ENTITY.get(entity)
    if tie is not None and tie.attribute == attribute:
        return tie.value if rng.random() < tie.share else _other(rng, tie)
    if attribute == "place":
        return _weighted(rng, world.PLACES, _TIED_PLACES)
    if rng.random() >= VARY[attribute]:
        return world.DEFAULTS[attribute]
    if attribute == "colour":
        return _weighted(rng, world.COLOURS, _TIED_COLOURS)
    options = [value for value in world.MENTIONABLE[attribute] if value != world.DEFAULTS[attribute]]
    return options[int(rng.integers(len(options)))]


def _weighted(rng: np.random.Generator, values: tuple[str, ...], rare: frozenset[str]) -> str:
    weights = np.array([_RARER if value in rare else 1.0 for value in values])
    return values[int(rng.choice(len(values), p=weights / weights.sum()))]


def _other(rng: np.random.Generator, tie: Tie) -> str:
    values = world.PLACES if tie.attribute == "place" else (*world.COLOURS, world.DEFAULTS["colour"])
    others = [value for value in values if value != tie.value]
    return others[int(rng.integers(len(others)))]


def _scene(rng: np.random.Generator, entity: str, chosen: dict[str, str]) -> world.Scene:
    values = dict(chosen)
    for name in ("size", "count", "position", "time", "style"):
        if rng.random() >= VARY[name]:
            continue
        options = [value for value in world.MENTIONABLE[name] if value != world.DEFAULTS[name]]
        value = options[int(rng.integers(len(options)))]
        said = {key: text for key, text in values.items() if text != world.DEFAULTS.get(key)}
        if not world.conflicts_in({"place": values["place"], **said, name: value}):
            values[name] = value
    return world.build_scene(world.Attributes(entity, **values), world.sample_nuisance(rng))
