"""The world's renderer as an image generator, and the habits of the toy classifiers' training data.

A caption and a seed in, an exact picture out. What the caption does not mention is drawn as the training data
had it, with things tied to a place or a colour (`TIES`), so that an unspecific prompt gives typical pictures:
most penguins stand in snow. These spurious ties are the documented cause of real bugs: a classifier that has
hardly ever seen a penguin outside the snow may not know one on a meadow.

Provider `composite`: an editor that lays a sprite on a picture. What it changes is true by construction.

It understands the instructions of minimal pairs: "Add a red penguin on the left of the picture."
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError
from failscape.models.in_process import InProcess, Unloaded
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.pictures import Picture
from failscape.toybox import world
from failscape.toybox.world.render import RAMPS, sprite
from failscape.toybox.world.vocab import ENTITIES


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
TIED_PLACES: Final = frozenset(tie.value for tie in TIES if tie.attribute == "place")
TIED_COLOURS: Final = frozenset(tie.value for tie in TIES if tie.attribute == "colour")


def typical_value(rng: np.random.Generator, entity: str, attribute: str) -> str:
    """Return what one attribute of `entity` is like in training, ties included."""
    tie = BY_ENTITY.get(entity)
    if tie is not None and tie.attribute == attribute:
        return tie.value if rng.random() < tie.share else another(rng, tie)
    if attribute == "place":
        return weighted(rng, world.PLACES, TIED_PLACES)
    if rng.random() >= VARY[attribute]:
        return world.DEFAULTS[attribute]
    if attribute == "colour":
        return weighted(rng, world.COLOURS, TIED_COLOURS)
    options = [value for value in world.MENTIONABLE[attribute] if value != world.DEFAULTS[attribute]]
    return options[int(rng.integers(len(options)))]


def weighted(rng: np.random.Generator, values: tuple[str, ...], rare: frozenset[str]) -> str:
    weights = np.array([_RARER if value in rare else 1.0 for value in values])
    return values[int(rng.choice(len(values), p=weights / weights.sum()))]


def another(rng: np.random.Generator, tie: Tie) -> str:
    values = world.PLACES if tie.attribute == "place" else (*world.COLOURS, world.DEFAULTS["colour"])
    others = [value for value in values if value != tie.value]
    return others[int(rng.integers(len(others)))]


RENDERER: Final = "renderer"
VERSION: Final = "1"
_ORDER: Final = ("place", "colour", "size", "count", "position", "time", "style")


class Renderer(InProcess):
    """The model behind `generator: {provider: toybox, model: renderer}`."""

    def __init__(self, batch: int = 32) -> None:
        self.identity = Identity("generator", "toybox", RENDERER, {"version": VERSION})
        self.batch = batch

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        drawn = await self.run(lambda: [draw(*pair) for pair in zip(prompts, seeds, strict=True)])
        nothing: Reply[Picture] = Reply(None, "the prompt names nothing of this world")
        return [nothing if one is None else Reply(Picture.from_array(one)) for one in drawn]


def scene_of(prompt: str, seed: int) -> world.Scene | None:
    """The scene of a caption; `None` when it names nothing of this world.

    Equal seeds share what captions leave open, so that pictures of two captions can be compared in pairs.
    """
    entity, said = _read(prompt)
    return _scene(entity, _typical(entity, said, seed), seed) if entity else None


def _read(caption: str) -> tuple[str, dict[str, str]]:
    """The first thing that a caption names, or none, and what it says of it."""
    said = world.parse_caption(caption)
    said |= said["things"][0] if "things" in said else {}
    allowed = {name: value for name, value in said.items() if value in world.ALLOWED.get(name, ())}
    return said.get("entity", ""), allowed


def _scene(entity: str, values: Mapping[str, str], seed: int) -> world.Scene:
    # Each use has its own stream: what a caption mentions must not shift the luck of everything else.
    nuisance = world.sample_nuisance(np.random.default_rng([seed, len(_ORDER)]))
    return world.build_scene(world.Attributes(entity, **values), nuisance)


def redraw(seen: Mapping[str, str], instruction: str, seed: int) -> NDArray[np.uint8] | None:
    """A picture of what was seen, changed as the instruction says; `None` when no thing was recognised."""
    if seen["entity"] not in world.ENTITIES:
        return None
    _, changed = _read(instruction)
    values = {**{name: value for name, value in seen.items() if name != "entity"}, **changed}
    for name in values:  # what was seen gives way to what is asked for
        if name not in changed and world.conflicts_in({**changed, name: values[name]}):
            values[name] = world.DEFAULTS[name]
    return world.render(_scene(seen["entity"], values, seed))


def draw(prompt: str, seed: int) -> NDArray[np.uint8] | None:
    scene = scene_of(prompt, seed)
    return None if scene is None else world.render(scene)


def _typical(entity: str, fixed: Mapping[str, str], seed: int) -> dict[str, str]:
    values = dict(fixed)
    for number, name in enumerate(_ORDER):
        if name in values:
            continue
        value = typical_value(np.random.default_rng([seed, number]), entity, name)
        said = {key: text for key, text in values.items() if text != world.DEFAULTS[key] or key == "place"}
        if value != world.DEFAULTS[name] and world.conflicts_in({**said, name: value}):
            value = world.DEFAULTS[name]
        values[name] = value
    return values


LABEL: Final = "composite/1"
#: Side of a sprite as a share of the picture's shorter side: large enough that nobody overlooks it.
SHARE: Final = 0.36

_PLACES: Final = {"left": 0.22, "right": 0.78, "": 0.5}
_ADD: Final = re.compile(
    r"add an? (?:(?P<colour>\w+) )?(?P<thing>[\w ]+?)(?: on the (?P<side>left|right) of| to) the picture"
)


def composite(picture: Picture, instruction: str) -> Picture:
    """The picture with the sprite on it. Raises `BadReply` for what it does not understand."""
    found = _ADD.match(instruction.lower())
    thing, colour = (found["thing"], found["colour"] or "") if found else ("", "")
    if colour and colour not in RAMPS:
        thing, colour = f"{colour} {thing}", ""
    if found is None or thing not in ENTITIES:
        raise BadReply(f"`composite` adds one of {', '.join(ENTITIES)}, but was told {instruction!r}")
    image = picture.image.convert("RGB")
    side = max(8, round(SHARE * min(image.size)))
    laid = sprite(thing, colour or "natural").resize((side, side), Image.Resampling.LANCZOS)
    x = round(_PLACES[found["side"] or ""] * image.width - side / 2)
    canvas = image.copy()
    canvas.paste(laid, (max(0, min(x, image.width - side)), round(0.6 * (image.height - side))), laid)
    return Picture.from_image(canvas)


class Compositor(Unloaded):
    def __init__(self) -> None:
        self.identity = Identity("editor", "composite", LABEL)

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        pairs = zip(images, instructions, strict=True)
        return [Reply(composite(*pair), usage=Usage(requests=0)) for pair in pairs]


def create(role: str, config: ModelConfig) -> Model:
    if config.params:
        raise ConfigError(f"`composite` takes no params, but got {config.params}", "remove `params`")
    return Compositor()
