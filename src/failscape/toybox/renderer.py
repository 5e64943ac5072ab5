"""The world's renderer as an image generator: a caption and a seed in, an exact picture out.

What the caption does not mention is drawn as the toy classifiers' training data had it, ties included, so
that an unspecific prompt gives typical pictures: most penguins stand in snow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.toybox import spurious_correlations as ties
from failscape.toybox import world

NAME: Final = "renderer"
VERSION: Final = "1"
_ORDER: Final = ("place", "colour", "size", "count", "position", "time", "style")


class Renderer:
    """The model behind `generator: {provider: toybox, model: renderer}`."""

    def __init__(self, batch: int = 32) -> None:
        self.identity = Identity("generator", "toybox", NAME, {"version": VERSION})
        self.batch = batch
        self.parallel = 1
        self._worker: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        self._worker = ThreadPoolExecutor(1, "toybox-renderer")

    async def close(self) -> None:
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, _draw_all, prompts, seeds)


def _draw_all(prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
    drawn = [draw(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]
    return [
        Reply(None, "the prompt names nothing of this world")
        if one is None
        else Reply(Picture.from_array(one))
        for one in drawn
    ]


def scene_of(prompt: str, seed: int) -> world.Scene | None:
    """The scene of a caption; `None` when it names nothing of this world.

    Equal seeds share what captions leave open, so that pictures of two captions can be compared in pairs.
    """
    said = world.parse_caption(prompt)
    said = {**said, **said["things"][0]} if "things" in said else said
    if "entity" not in said:
        return None
    fixed = {name: value for name, value in said.items() if value in world.ALLOWED.get(name, ())}
    values = _typical(said["entity"], fixed, seed)
    # Each use has its own stream: what a caption mentions must not shift the luck of everything else.
    nuisance = world.sample_nuisance(np.random.default_rng([seed, len(_ORDER)]))
    return world.build_scene(world.Attributes(said["entity"], **values), nuisance)


def redraw(seen: Mapping[str, str], instruction: str, seed: int) -> NDArray[np.uint8] | None:
    """A picture of what was seen, changed as the instruction says; `None` when no thing was recognised."""
    if seen["entity"] not in world.ENTITIES:
        return None
    said = world.parse_caption(instruction)
    said = {**said, **said["things"][0]} if "things" in said else said
    changed = {name: value for name, value in said.items() if value in world.ALLOWED.get(name, ())}
    values = {**{name: value for name, value in seen.items() if name != "entity"}, **changed}
    for name in values:  # what was seen gives way to what is asked for
        if name not in changed and world.conflicts_in({**changed, name: values[name]}):
            values[name] = world.DEFAULTS[name]
    nuisance = world.sample_nuisance(np.random.default_rng([seed, len(_ORDER)]))
    return world.render(world.build_scene(world.Attributes(seen["entity"], **values), nuisance))


def draw(prompt: str, seed: int) -> NDArray[np.uint8] | None:
    scene = scene_of(prompt, seed)
    return None if scene is None else world.render(scene)


def _typical(entity: str, fixed: Mapping[str, str], seed: int) -> dict[str, str]:
    values = dict(fixed)
    for number, name in enumerate(_ORDER):
        if name in values:
            continue
        value = ties.typical_value(np.random.default_rng([seed, number]), entity, name)
        said = {key: text for key, text in values.items() if text != world.DEFAULTS[key] or key == "place"}
        if value != world.DEFAULTS[name] and world.conflicts_in({**said, name: value}):
            value = world.DEFAULTS[name]
        values[name] = value
    return values
