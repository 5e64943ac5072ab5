"""Provider `diffusers`: pipelines of the Diffusers library, run in this process, to generate and to edit.

`model` is a name on the hub, `path` a folder with `model_index.json`. Needs the extra `diffusers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.providers.diffusers_pipeline import (
    INDEX,
    BatchLimit,
    DiffusersPipeline,
    DrawnPictures,
    out_of_memory,
)
from failscape.models.providers.onnx import file_digest
from failscape.models.providers.torch_models import TorchModel, one_line, require_packages
from failscape.models.roles import ROLES, Model, Reply, Usage
from failscape.models.transport.prices import charge
from failscape.pictures import Picture

BATCH = 4
"""Small enough for an SDXL at 1024 pixels on 24 GB; memory that runs out halves it."""


class DiffusersModel(TorchModel):
    """The batch is part of the identity: the last bits of a picture depend on how many were drawn with it."""

    provider = "diffusers"
    index = INDEX
    files = (INDEX, "*/config.json", "*/*.safetensors", "*/*.bin", "*/scheduler_config.json")
    task = "text-to-image"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, BATCH)
        self.pipeline = DiffusersPipeline(self.source, config.params, self.task)
        self.identity.settings["batch"] = self.batch
        if loras := self.pipeline.lora_digests():
            self.identity.settings["loras"] = loras
        self._limit = BatchLimit(self.batch)

    def _load(self) -> None:
        self.pipeline.load()

    def _draw_all(
        self, draw: Callable[[Sequence[Any]], list[DrawnPictures]], rows: Sequence[Any]
    ) -> list[Reply[Picture]]:
        began = time.monotonic()
        try:
            drawn = self._limit.run(draw, rows)
        except Exception as error:
            fix = "check `params`"
            if out_of_memory(error):
                fix = (
                    "not even one picture fits: set `dtype: float16`, a smaller size, or `cpu_offload: true`"
                )
            told = f"{type(error).__name__}: {one_line(error)}"
            raise Permanent(f"{self.source} failed: {told}", fix) from error
        usage = Usage(1, (time.monotonic() - began) / max(len(rows), 1))
        return [_reply(one, usage) for one in drawn]


def _reply(drawn: DrawnPictures, usage: Usage) -> Reply[Picture]:
    if drawn.image is None:
        return Reply(None, drawn.refused, usage=usage)
    return Reply(Picture.from_image(drawn.image), usage=usage)


class DiffusersGenerator(DiffusersModel):
    role = "generator"

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        rows = list(zip(prompts, seeds, strict=True))
        return await self._run(self._draw_all, self._draw, rows) if rows else []

    def _draw(self, rows: Sequence[tuple[str, int]]) -> list[DrawnPictures]:
        prompts, seeds = zip(*rows, strict=True)
        return self.pipeline.draw(prompts, seeds, {})


class DiffusersEditor(DiffusersModel):
    """Starts from the picture: a pipeline made for edits, else image-to-image of the same family.

    With `params.mask`, inpainting: only what is white in that picture, or inside that box, is drawn anew.
    """

    role = "editor"

    def __init__(self, config: ModelConfig) -> None:
        self._mask = config.params.get("mask")
        self.task = "image-to-image" if self._mask is None else "inpainting"
        _check_mask(self._mask)
        super().__init__(config)
        if isinstance(self._mask, str):
            self.identity.settings["mask"] = file_digest(Path(self._mask).expanduser())

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        """Pictures of one size go together."""
        shown = [picture.image.convert("RGB") for picture in images]
        order = sorted(range(len(shown)), key=lambda number: shown[number].size)
        found: dict[int, Reply[Picture]] = {}
        for _, group in groupby(order, key=lambda number: shown[number].size):
            numbers = list(group)
            rows = [(shown[number], instructions[number], seeds[number]) for number in numbers]
            found.update(zip(numbers, await self._run(self._draw_all, self._edit, rows), strict=True))
        return [found[number] for number in range(len(shown))]

    def _edit(self, rows: Sequence[tuple[Image.Image, str, int]]) -> list[DrawnPictures]:
        pictures, instructions, seeds = (list(column) for column in zip(*rows, strict=True))
        shown = {"image": pictures}
        if self._mask is not None:
            shown["mask_image"] = [self._masked(picture) for picture in pictures]
        return self.pipeline.draw(instructions, seeds, self._sizes(pictures[0]), **shown)

    def _sizes(self, picture: Image.Image) -> dict[str, int]:
        """A pipeline that has a size of its own would stretch the picture to it."""
        wanted = {"height": picture.height, "width": picture.width}
        return {name: size for name, size in wanted.items() if self._sized(name)}

    def _sized(self, name: str) -> bool:
        return name in self.pipeline.accepts and name not in self.pipeline.call

    def _masked(self, picture: Image.Image) -> Image.Image:
        if isinstance(self._mask, str):
            return Image.open(Path(self._mask).expanduser()).convert("L").resize(picture.size)
        assert self._mask is not None
        left, top, right, bottom = self._mask
        mask = Image.new("L", picture.size, 0)
        width, height = picture.size
        box = (left * width, top * height, right * width - 1, bottom * height - 1)
        ImageDraw.Draw(mask).rectangle(box, fill=255)
        return mask


def _check_mask(mask: Any) -> None:
    if mask is None or (isinstance(mask, str) and Path(mask).expanduser().is_file()):
        return
    numbers = isinstance(mask, list | tuple) and len(mask) == 4
    if not numbers or not all(isinstance(edge, int | float) and 0 <= edge <= 1 for edge in mask):
        raise ConfigError(
            f"`params.mask` must be a picture, or [left, top, right, bottom] from 0 to 1, but got {mask!r}",
            "name a file that exists; white is drawn anew",
        )


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    kinds: dict[str, type[DiffusersModel]] = {"generator": DiffusersGenerator, "editor": DiffusersEditor}
    if role not in kinds:
        raise ConfigError(f"provider diffusers cannot play the role {role}", "it plays generator and editor")
    require_packages("diffusers", "torch", "diffusers", "transformers")
    model: Model = charge(kinds[role](config), ROLES[role][1], config.price)
    return model
