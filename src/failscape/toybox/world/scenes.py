"""Scene graphs: what a picture shows, exactly; also random ones. Frozen, comparable, read from and to JSON.

A single-thing scene is fully given by its attributes and a nuisance vector (see `NUISANCE`). All randomness
comes from the generator that is passed in.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from failscape.toybox.world.vocab import (
    ALLOWED,
    ATTRIBUTES,
    COLOURS,
    COUNTS,
    DEFAULTS,
    ENTITIES,
    MENTIONABLE,
    PLACES,
    STYLES,
    TIMES,
    check_value,
    conflicts_in,
)

SIDE: Final = 64

#: The nuisance vector, one name per dimension; every dimension is uniform on [-1, 1] and independent.
NUISANCE: Final[tuple[str, ...]] = (
    "x",
    "y",
    "scale",
    "backdrop_x",
    "backdrop_y",
    "light",
    "warmth",
    "weather",
    "x1",
    "y1",
    "x2",
    "y2",
    "x3",
    "y3",
    "x4",
    "y4",
)
NUISANCE_DIM: Final = len(NUISANCE)

Box = tuple[int, int, int, int]
Relation = Literal["left of", "right of", "above", "below"]

_SIZES_ALONE: Final = {"small": 17, "medium": 30, "large": 44}
_SIZES_TOGETHER: Final = {"small": 15, "medium": 22, "large": 29}
_ANCHORS: Final = {
    "left": (16, 33),
    "right": (48, 33),
    "top": (32, 17),
    "bottom": (32, 48),
    "centre": (32, 33),
}
#: Two things count as left, right, above or below each other from this distance of their centres on.
RELATION_MARGIN: Final = 10


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a single-thing picture shall show. An attribute left out has its default value."""

    entity: str
    colour: str = DEFAULTS["colour"]
    count: str = DEFAULTS["count"]
    size: str = DEFAULTS["size"]
    place: str = DEFAULTS["place"]
    time: str = DEFAULTS["time"]
    style: str = DEFAULTS["style"]
    position: str = DEFAULTS["position"]

    def __post_init__(self) -> None:
        for field in fields(self):
            check_value(field.name, getattr(self, field.name))

    def special(self) -> dict[str, str]:
        """Return the attributes that differ from their default: what a caption has to mention."""
        return {name: getattr(self, name) for name in ATTRIBUTES if getattr(self, name) != DEFAULTS[name]}


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing in a picture; its box is (left, top, right, bottom) in pixels and may reach over an edge."""

    entity: str
    colour: str
    size: str
    box: Box

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of the box."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: its things from back to front, where and when it is, how it is drawn, and its nuisance."""

    things: tuple[Thing, ...]
    place: str
    time: str
    style: str
    position: str | None
    noise: tuple[float, ...]
    kind: Literal["single", "layout"] = "single"

    @property
    def nuisance(self) -> NDArray[np.float32]:
        """Everything that is not said by the attributes, as a vector (see `NUISANCE`)."""
        return np.array(self.noise, dtype=np.float32)

    @property
    def attributes(self) -> Attributes:
        """The attributes of a single-thing scene."""
        if self.kind != "single" or self.position is None:
            raise ValueError(f"only a single-thing scene has attributes, but got kind={self.kind!r}")
        first = self.things[0]
        count = COUNTS[len(self.things) - 1]
        return Attributes(
            first.entity, first.colour, count, first.size, self.place, self.time, self.style, self.position
        )

    def to_json(self) -> str:
        """Return the scene as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """Read what `to_json` wrote."""
        data = json.loads(text)
        things = tuple(Thing(**{**thing, "box": tuple(thing["box"])}) for thing in data["things"])
        return cls(**{**data, "things": things, "noise": tuple(data["noise"])})


def relations(first: Thing, second: Thing) -> tuple[Relation, ...]:
    """Return how `first` lies to `second`: none, one or two relations."""
    (ax, ay), (bx, by) = first.centre, second.centre
    found: list[Relation] = []
    if abs(ax - bx) >= RELATION_MARGIN:
        found.append("left of" if ax < bx else "right of")
    if abs(ay - by) >= RELATION_MARGIN:
        found.append("above" if ay < by else "below")
    return tuple(found)


def checked_noise(noise: ArrayLike | None) -> tuple[float, ...]:
    """Return a nuisance vector clipped to [-1, 1]; none means the middle of everything."""
    if noise is None:
        return (0.0,) * NUISANCE_DIM
    values = np.asarray(noise, dtype=np.float32)
    if values.shape != (NUISANCE_DIM,):
        raise ValueError(f"a nuisance vector must have shape ({NUISANCE_DIM},), but got {values.shape}")
    return tuple(float(v) for v in np.clip(values, -1, 1))


def build_scene(attributes: Attributes, noise: ArrayLike | None = None) -> Scene:
    """Lay out a single-thing scene; the same attributes and nuisance always give the same scene."""
    values = checked_noise(noise)
    n = COUNTS.index(attributes.count) + 1
    sizes = _SIZES_ALONE if n == 1 else _SIZES_TOGETHER
    side = round(sizes[attributes.size] * (1 + 0.05 * values[2]))
    spots = _group(n, attributes.position, sizes[attributes.size])
    wide = 2.5 if attributes.position == "centre" and n == 1 else 1.5
    things = []
    for i, (x, y) in enumerate(spots):
        own = 0.0 if n == 1 else 1.2
        x += wide * values[0] + own * values[8 + 2 * i]
        y += wide * values[1] + own * values[9 + 2 * i]
        things.append(Thing(attributes.entity, attributes.colour, attributes.size, square_box(x, y, side)))
    return Scene(
        tuple(things), attributes.place, attributes.time, attributes.style, attributes.position, values
    )


def _group(n: int, position: str, side: int) -> list[tuple[float, float]]:
    """Return the centres of n things of one kind."""
    # A large thing stays in the picture: it may reach over an edge by a pixel or two.
    low, high = side / 2 - 1, SIDE - side / 2 + 1
    x, y = (min(max(anchor, low), high) for anchor in _ANCHORS[position])
    gap = side * 0.35 + 5.2
    offsets = {
        1: [(0, 0)],
        2: [(0, -gap), (0, gap)] if position in ("left", "right") else [(-gap, 0), (gap, 0)],
        3: [(0, -gap), (-gap, gap), (gap, gap)],
        4: [(-gap, -gap), (gap, -gap), (-gap, gap), (gap, gap)],
    }
    return [(x + across, y + down) for across, down in offsets[n]]


def square_box(x: float, y: float, side: int) -> Box:
    """Return the box of `side` pixels around a centre."""
    left, top = round(x - side / 2), round(y - side / 2)
    return left, top, left + side, top + side


def changed(scene: Scene, **values: str) -> Scene:
    """Return a single-thing scene with some attributes changed and the same nuisance."""
    unknown = set(values) - {"entity", *ALLOWED}
    if unknown:
        raise ValueError(f"only attributes can be changed, but got {sorted(unknown)}")
    return build_scene(replace(scene.attributes, **values), scene.noise)


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
            said = {key: value for key, value in chosen.items() if DEFAULTS.get(key) != value}
            before = len(conflicts_in(said))
            others = [value for value in MENTIONABLE[name] if value != DEFAULTS[name]]
            harmless = [value for value in others if len(conflicts_in({**said, name: value})) == before]
            if harmless:
                chosen[name] = _pick(rng, harmless)
    return Attributes(**chosen)


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
