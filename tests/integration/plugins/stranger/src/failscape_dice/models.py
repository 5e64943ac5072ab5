"""A painter that cannot draw a six, and a judge that reads what a picture shows from its first pixel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import failscape

from . import FACES


class _Die:
    """Both in one. The model `fair` draws a six, too."""

    batch = 4
    parallel = 1

    def __init__(self, role: str, config: failscape.ModelConfig) -> None:
        self.identity = failscape.Identity(role, "dice", config.model or "die", {})
        self._faces = len(FACES) if config.model == "fair" else len(FACES) - 1

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[failscape.Reply[Any]]:
        return [
            failscape.Reply(self._draw(prompt, seed)) for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def _draw(self, prompt: str, seed: int) -> failscape.Picture:
        pixels = np.full((8, 8, 3), 255, np.uint8)
        pixels[0, 0, 0] = min(FACES.index(prompt.split()[-1]), self._faces - 1)
        pixels[1, 0] = seed % 251, seed // 251 % 251, 0
        return failscape.Picture.from_array(pixels)

    async def judge(
        self, images: Sequence[failscape.Picture], checks: Sequence[Iterable[failscape.Check]]
    ) -> list[failscape.Reply[Any]]:
        shown = [FACES[int(image.array[0, 0, 0])] for image in images]
        return [
            failscape.Reply([check.value == face for check in asked])
            for face, asked in zip(shown, checks, strict=True)
        ]


PROVIDER = failscape.Provider("dice", _Die, ("generator", "judge"), "a die that never shows six")
