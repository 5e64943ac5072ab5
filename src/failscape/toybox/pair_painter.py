"""A painter of two-thing scenes with planted weaknesses, and a judge that reads scenes exactly.

No network is involved. The painter understands the captions of pair spaces over the toybox corpus, draws them
with the world's renderer, and makes the mistakes that real models make with two things, for known requests
and at known rates (`WEAKNESSES`). A picture carries its scene in the lowest bit of its pixels. The judge
decides every check from that scene, so that its answers are the truth.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from failscape.models.in_process import Unloaded
from failscape.models.roles import Identity, Reply, Usage
from failscape.pictures import Picture
from failscape.spaces.pairs import RELATION_KIND, RELATIONS, SECOND_FAMILY, SECOND_THING_KIND
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.toybox import world
from failscape.toybox.world import Scene, Thing
from failscape.toybox.world.two_things import DRAWN_RELATIONS, WantedThing, holds, lay_out, merged
from failscape.trials import Check, seed_from_text

PAIR_PAINTER: Final = "pair-painter"
SCENE_JUDGE: Final = "scene-judge"
VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class PairRequest:
    """What a caption asks for. `second` is `None` where any object will do, and so is its colour then."""

    first: WantedThing
    relation: str = ""
    second: WantedThing | None = None
    second_colour: str = ""
    second_size: str = ""


Mistake = Literal[
    "swap colours", "opposite relation", "drop second", "merge", "mistake first", "mistake second"
]


@dataclass(frozen=True, slots=True)
class Weakness:
    """A mistake that the painter makes with some requests. A condition left empty holds for all.

    Attributes:
        mistake: What goes wrong.
        rate: How often.
        first: Entities of the first thing.
        second: Entities of the second thing.
        relation: The relation.
        colours: Colours of the two things, in either order.
    """

    mistake: Mistake
    rate: float
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    relation: str = ""
    colours: tuple[str, ...] = ()

    def applies(self, asked: PairRequest) -> bool:
        second = asked.second.entity if asked.second else ""
        colours = sorted((asked.first.colour, asked.second_colour))
        return (
            (not self.first or asked.first.entity in self.first)
            and (not self.second or second in self.second)
            and (not self.relation or asked.relation == self.relation)
            and (not self.colours or colours == sorted(self.colours))
        )


WEAKNESSES: Final = (
    Weakness("swap colours", 0.75, colours=("red", "blue")),
    Weakness("opposite relation", 0.8, first=("penguin", "flamingo", "owl"), relation="right of"),
    Weakness("drop second", 0.7, second=("butterfly", "ladybug")),
    Weakness("merge", 0.85, first=("teapot",), second=("umbrella",)),
    Weakness("merge", 0.85, first=("umbrella",), second=("teapot",)),
    Weakness("mistake first", 0.6, first=("guitar",)),
    Weakness("mistake second", 0.6, second=("guitar",)),
)

_OPPOSITES: Final = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}


def success_rate(asked: PairRequest, weaknesses: Sequence[Weakness] = WEAKNESSES) -> float:
    """How often the painter draws what is asked: every weakness that applies may strike by itself."""
    rate = 1.0
    for weakness in weaknesses:
        if weakness.applies(asked):
            rate *= 1 - weakness.rate
    return rate


# From captions to requests

_JOINTS: Final = {phrase: name for name, relation in RELATIONS.items() for phrase in relation.phrases} | {
    "and": ""
}


@cache
def _joint_pattern() -> re.Pattern[str]:
    longest_first = sorted(_JOINTS, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b")


def understand(caption: str) -> PairRequest | None:
    """What a caption of a pair space asks for; `None` where it names no thing of the world."""
    text = caption.lower()
    joint = _joint_pattern().search(text)
    first_words = text[: joint.start()] if joint else text
    second_words = text[joint.end() :] if joint else ""
    first = _thing_in(first_words)
    if first is None:
        return None
    colour = _word_in(second_words, world.COLOURS)
    size = _word_in(second_words, ("small", "large"))
    relation = _JOINTS[joint.group(1)] if joint else ""
    return PairRequest(first, relation, _thing_in(second_words), colour, size)


def _thing_in(text: str) -> WantedThing | None:
    name = _word_in(text, _names())
    if not name:
        return None
    wanted = WantedThing(_names()[name])
    colour = _word_in(text, world.COLOURS)
    size = _word_in(text, ("small", "large"))
    return replace(wanted, colour=colour or wanted.colour, size=size or wanted.size)


@cache
def _names() -> dict[str, str]:
    """Words for things, also for several of them, the longest first → the thing."""
    plurals = {plural: name for name, plural in world.PLURALS.items()}
    names = {**plurals, **{name: name for name in world.ENTITIES}}
    return {name: names[name] for name in sorted(names, key=len, reverse=True)}


def _word_in(text: str, words: Iterable[str]) -> str:
    return next((word for word in words if re.search(rf"\b{word}\b", text)), "")


def asks_for_two(caption: str) -> bool:
    return _joint_pattern().search(caption.lower()) is not None


# Drawing

#: What is drawn in place of a thing that the painter mistakes.
MISTAKEN_FOR: Final = "drum"
#: What is drawn where any object will do: things without a weakness as the second.
_ANY_THINGS: Final = ("car", "apple", "chair", "boat", "cupcake")


def paint_scene(caption: str, seed: int, weaknesses: Sequence[Weakness] = WEAKNESSES) -> Scene | None:
    """The scene that the painter draws; `None` where the caption names nothing of the world."""
    asked = understand(caption)
    if asked is None:
        return None
    rng = np.random.default_rng(seed_from_text(f"{caption}/{seed}"))
    mistakes = {one.mistake for one in weaknesses if rng.random() < one.rate and one.applies(asked)}
    if "mistake first" in mistakes:
        asked = replace(asked, first=replace(asked.first, entity=MISTAKEN_FOR))
    if "mistake second" in mistakes and asked.second is not None:
        asked = replace(asked, second=replace(asked.second, entity=MISTAKEN_FOR))
    return _two(asked, mistakes, rng) if asks_for_two(caption) else _single(caption, asked.first, rng)


def _single(caption: str, first: WantedThing, rng: np.random.Generator) -> Scene:
    said = {**world.parse_caption(caption), "entity": first.entity}
    return world.build_scene(world.Attributes(**said), world.sample_nuisance(rng))


def _two(asked: PairRequest, mistakes: set[Mistake], rng: np.random.Generator) -> Scene:
    first = asked.first
    second = asked.second or WantedThing(_some_other(first, rng))
    colour, size = asked.second_colour or second.colour, asked.second_size or second.size
    second = replace(second, colour=colour, size=size)
    relation = asked.relation if asked.relation in DRAWN_RELATIONS else ""
    if relation == "same colour as":
        shared = first.colour if first.colour in world.COLOURS else str(rng.choice(world.COLOURS))
        first, second = replace(first, colour=shared), replace(second, colour=shared)
    if "swap colours" in mistakes:
        first, second = replace(first, colour=second.colour), replace(second, colour=first.colour)
    if "opposite relation" in mistakes:
        relation = _OPPOSITES[relation]
    scene = lay_out(first, second, relation, rng)
    if "drop second" in mistakes:
        return replace(scene, things=tuple(one for one in scene.things if one.entity != second.entity))
    if "merge" in mistakes:
        box = scene.things[0].box
        return replace(scene, things=tuple(replace(one, box=box) for one in scene.things))
    return scene


def _some_other(first: WantedThing, rng: np.random.Generator) -> str:
    others = [name for name in _ANY_THINGS if name != first.entity]
    return others[int(rng.integers(len(others)))]


# Scenes in pixels

_MAGIC: Final = b"TWO1"


def with_scene(pixels: NDArray[np.uint8], scene: Scene) -> NDArray[np.uint8]:
    """The picture with its scene in the lowest bits. A value changes by 1 of 255 at most."""
    data = zlib.compress(replace(scene, noise=()).to_json().encode(), 9)
    payload = _MAGIC + len(data).to_bytes(2, "big") + data
    bits = np.unpackbits(np.frombuffer(payload, dtype=np.uint8))
    flat = pixels.ravel().copy()
    if len(bits) > len(flat):
        raise ValueError(f"a scene of {len(payload)} bytes does not fit into {len(flat)} values")
    flat[: len(bits)] = flat[: len(bits)] & 0xFE | bits
    return flat.reshape(pixels.shape)


def scene_in(pixels: NDArray[np.uint8]) -> Scene | None:
    """The scene that a picture carries; `None` for any other picture."""
    data = np.packbits(pixels.ravel()[: pixels.size // 8 * 8] & 1).tobytes()
    size = int.from_bytes(data[4:6], "big")
    if data[:4] != _MAGIC or 6 + size > len(data):
        return None
    try:
        return Scene.from_json(zlib.decompress(data[6 : 6 + size]).decode())
    except (zlib.error, ValueError, TypeError, KeyError, json.JSONDecodeError):
        return None


# Judging


def decide_checks(scene: Scene, checks: Sequence[Check]) -> list[bool | None]:
    """What is true of the scene, for each check; `None` for what a scene cannot tell."""
    asked = {check.kind: check.value for check in checks}
    first = _named(scene, asked.get("entity", ""))
    second = _second_in(scene, asked, first)
    return [_decide(scene, check, first, second) for check in checks]


def _named(scene: Scene, entity: str) -> Thing | None:
    return next((thing for thing in scene.things if thing.entity == entity), None)


def _second_in(scene: Scene, asked: dict[str, str], first: Thing | None) -> Thing | None:
    if SECOND_THING_KIND in asked:
        return _named(scene, asked[SECOND_THING_KIND])
    others = [thing for thing in scene.things if thing is not first]
    return others[0] if others else None


def _decide(scene: Scene, check: Check, first: Thing | None, second: Thing | None) -> bool | None:
    if check.kind == "entity":
        return first is not None
    if check.kind == SECOND_THING_KIND:
        return second is not None and (first is None or not merged(first, second))
    if check.kind == RELATION_KIND:
        return first is not None and second is not None and holds(check.value, first, second, scene)
    family, _, name = check.kind.partition(": ")
    if family == SECOND_FAMILY:
        return _has(second, name, check.value)
    return _has(first, name, check.value) if name in ("colour", "size") else _is_so(scene, name, check.value)


def _has(thing: Thing | None, name: str, value: str) -> bool | None:
    if thing is None:
        return False
    return getattr(thing, name) == value if name in ("colour", "size") else None


def _is_so(scene: Scene, name: str, value: str) -> bool | None:
    """Of the scene itself: where and when it is, how many things it has, how it is drawn."""
    if scene.kind == "single":
        return None if name not in world.ATTRIBUTES else getattr(scene.attributes, name) == value
    return getattr(scene, name) == value if name in ("place", "time", "style") else None


# Models


class PairPainter(Unloaded):
    """`generator: {provider: toybox, model: pair-painter}`: planted weaknesses, no network."""

    def __init__(self, weaknesses: Sequence[Weakness] = WEAKNESSES) -> None:
        self.weaknesses = tuple(weaknesses)
        planted = repr(self.weaknesses).encode()
        mark = {"version": VERSION, "weaknesses": f"{zlib.crc32(planted):08x}"}
        self.identity = Identity("generator", "toybox", PAIR_PAINTER, mark)

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [self.draw(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def draw(self, prompt: str, seed: int) -> Reply[Picture]:
        free = Usage(requests=0)
        scene = paint_scene(prompt, seed, self.weaknesses)
        if scene is None:
            return Reply(None, "the prompt names nothing of this world", usage=free)
        return Reply(Picture.from_array(with_scene(world.render(scene), scene)), usage=free)


class SceneJudge(Unloaded):
    """`judge: {provider: toybox, model: scene-judge}`: reads the scene that a picture carries. No errors."""

    def __init__(self) -> None:
        self.identity = Identity("judge", "toybox", SCENE_JUDGE, {"version": VERSION})

    @property
    def accuracy(self) -> JudgeAccuracy:
        return replace(JudgeAccuracy.perfect(), judge=self.identity.digest)

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [self.decide(image, asked) for image, asked in zip(images, checks, strict=True)]

    def decide(self, image: Picture, checks: Sequence[Check]) -> Reply[list[bool | None]]:
        free = Usage(requests=0)
        scene = scene_in(image.array)
        if scene is None:
            return Reply(None, f"the picture carries no scene: only {PAIR_PAINTER} draws such", usage=free)
        return Reply(decide_checks(scene, checks), usage=free)
