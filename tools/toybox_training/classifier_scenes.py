"""Scenes for the toy classifiers: those they are trained on, ties included, and those that break a tie.

All randomness comes from the generator that is passed in.
"""

import numpy as np

from failscape.toybox import world
from failscape.toybox.renderer import BY_ENTITY, TIED_COLOURS, TIED_PLACES, VARY, Tie, another, weighted


def sample_training(rng: np.random.Generator, entity: str | None = None) -> world.Scene:
    """Return a scene of the training distribution, ties included."""
    name = entity or world.ENTITIES[int(rng.integers(len(world.ENTITIES)))]
    chosen = {"place": weighted(rng, world.PLACES, TIED_PLACES)}
    if rng.random() < VARY["colour"]:
        chosen["colour"] = weighted(rng, world.COLOURS, TIED_COLOURS)
    tie = BY_ENTITY.get(name)
    if tie is not None:
        chosen[tie.attribute] = tie.value if rng.random() < tie.share else another(rng, tie)
    return _scene(rng, name, chosen)


def sample_broken(rng: np.random.Generator, tie: Tie, keep: bool = False) -> world.Scene:
    """Return a training-like scene of a tied thing with the tie broken (or kept, for comparison)."""
    chosen = {"place": weighted(rng, world.PLACES, TIED_PLACES)}
    chosen[tie.attribute] = tie.value if keep else another(rng, tie)
    return _scene(rng, tie.entity, chosen)


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
