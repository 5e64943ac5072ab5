"""Random scenes. All randomness comes from the generator that is passed in."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from failscape.toybox.world.scenes import NUISANCE_DIM, Attributes, Scene, Thing, build_scene, square_box
from failscape.toybox.world.vocab import (
    ATTRIBUTES,
    COLOURS,
    DEFAULTS,
    ENTITIES,
    MENTIONABLE,
    PLACES,
    STYLES,
    TIMES,
    check_value,
    conflicts_in,
)

#: Sides in pixels of the things of a layout, and the grid they stand on.
LAYOUT_SIZES: Final = {"small": 15, "large": 21}
#: Sepia would hide the colours that questions ask for.
_LAYOUT_STYLES: Final = tuple(style for style in STYLES if style != "sepia")
_COLUMNS: Final = (12, 32, 52)
_ROWS: Final = (12, 33, 53)


def sample_nuisance(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return a nuisance vector: uniform on [-1, 1] in every dimension."""
    return rng.uniform(-1, 1, NUISANCE_DIM).astype(np.float32)


def sample_attributes(rng: np.random.Generator, vary: float = 0.4, **fixed: str) -> Attributes:
    """Return random attributes without contradictions.

    Each attribute not fixed by keyword differs from its default with probability `vary`. Fixed values are
    kept as they are, even when they contradict each other.
    """
    for name, value in fixed.items():
        check_value(name, value)
    chosen = dict(fixed)
    if "entity" not in chosen:
        chosen["entity"] = _pick(rng, ENTITIES)
    free = [name for name in ATTRIBUTES if name not in fixed]
    for index in rng.permutation(len(free)):
        name = free[index]
        if rng.random() < vary:
            options = _harmless(name, chosen)
            if options:
                chosen[name] = _pick(rng, options)
    return Attributes(**chosen)


def _harmless(name: str, chosen: dict[str, str]) -> list[str]:
    said = {key: value for key, value in chosen.items() if DEFAULTS.get(key) != value}
    before = len(conflicts_in(said))
    return [
        value
        for value in MENTIONABLE[name]
        if value != DEFAULTS[name] and len(conflicts_in({**said, name: value})) == before
    ]


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]


def sample_scene(rng: np.random.Generator, vary: float = 0.4, **fixed: str) -> Scene:
    """Return a random single-thing scene; fix attributes by keyword (entity=, colour=, place= ...)."""
    return build_scene(sample_attributes(rng, vary, **fixed), sample_nuisance(rng))


def sample_layout(
    rng: np.random.Generator,
    n: int | None = None,
    *,
    entities: Sequence[str] | None = None,
    repeat: float = 0.35,
    coloured: float = 0.6,
    vary: float = 0.4,
    **fixed: str,
) -> Scene:
    """Return a scene of 1 to 5 things on a loose 3 x 3 grid, for questions about relations and numbers.

    `entities` sets the things exactly. Otherwise they differ from each other, except that with probability
    `repeat` one kind occurs two or three times. `fixed` may hold place, time and style.
    """
    if unknown := set(fixed) - {"place", "time", "style"}:
        raise ValueError(f"a layout can fix place, time and style only, but got {sorted(unknown)}")
    for name, value in fixed.items():
        check_value(name, value)
    names = list(entities) if entities is not None else _names(rng, n, repeat)
    if not 1 <= len(names) <= 5:
        raise ValueError(f"a layout holds 1 to 5 things, but got {len(names)}")
    cells = rng.permutation(9)[: len(names)]
    things = [_place_thing(rng, name, int(cell), coloured) for name, cell in zip(names, cells, strict=True)]
    time = fixed.get("time") or _vary(rng, TIMES, "time", vary)
    places = [p for p in PLACES if not conflicts_in({"place": p, "time": time}) or time == DEFAULTS["time"]]
    place = fixed.get("place") or _vary(rng, places, "place", vary)
    style = fixed.get("style") or _vary(rng, _LAYOUT_STYLES, "style", vary / 4)
    noise = tuple(float(v) for v in sample_nuisance(rng))
    return Scene(tuple(things), place, time, style, None, noise, "layout")


def _vary(rng: np.random.Generator, values: Sequence[str], name: str, vary: float) -> str:
    others = [value for value in values if value != DEFAULTS[name]]
    return _pick(rng, others) if rng.random() < vary else DEFAULTS[name]


def _names(rng: np.random.Generator, n: int | None, repeat: float) -> list[str]:
    total = int(rng.integers(1, 6)) if n is None else n
    names = [ENTITIES[i] for i in rng.permutation(len(ENTITIES))[:total]]
    if total >= 2 and rng.random() < repeat:
        copies = int(rng.integers(2, min(total, 3) + 1))
        names[:copies] = [names[0]] * copies
    return names


def _place_thing(rng: np.random.Generator, entity: str, cell: int, coloured: float) -> Thing:
    colour = _pick(rng, COLOURS) if rng.random() < coloured else DEFAULTS["colour"]
    size = _pick(rng, tuple(LAYOUT_SIZES))
    x = _COLUMNS[cell % 3] + rng.uniform(-1.5, 1.5)
    y = _ROWS[cell // 3] + rng.uniform(-1.5, 1.5)
    return Thing(entity, colour, size, square_box(x, y, LAYOUT_SIZES[size]))
