"""Models as plain functions: `provider: python` takes any of these.

failscape doctor examples/python.yaml
failscape run examples/python.yaml --atlas runs/mine
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

import failscape
from failscape import Check

CORPUS = failscape.load_corpus(str(Path(__file__).parent / "corpus"))
THINGS = [entity.name for entity in CORPUS.entities]
COLOURS = [value.name for value in CORPUS.values]
SIDE = 64


def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """A painter that writes things as a coloured frame, and mixes up yellow and green half of the time."""
    words = prompt.lower()
    thing = next((name for name in THINGS if name in words), "")
    colour = next((name for name in COLOURS if name in words.split()), "gray")
    return [_picture(thing, _chosen(colour, seed), seed) for seed in seeds]


def judge(image: Image.Image, checks: Sequence[Check]) -> list[bool | None]:
    """Looks at the frame and at the middle. What it cannot see it leaves undecided."""
    return [_holds(image, check) for check in checks]


def _chosen(colour: str, seed: int) -> str:
    return "green" if colour == "yellow" and seed % 2 else colour


def _picture(thing: str, colour: str, seed: int) -> Image.Image:
    image = Image.new("RGB", (SIDE, SIDE), _frame(thing))
    size = random.Random(seed).randint(10, 24)
    middle = SIDE // 2
    ImageDraw.Draw(image).ellipse((middle - size, middle - size, middle + size, middle + size), fill=colour)
    return image


def _holds(image: Image.Image, check: Check) -> bool | None:
    if check.kind == "entity":
        return image.getpixel((0, 0)) == _frame(check.value)
    if check.value in COLOURS:
        return image.getpixel((SIDE // 2, SIDE // 2)) == Image.new("RGB", (1, 1), check.value).getpixel(
            (0, 0)
        )
    return None


def _frame(thing: str) -> tuple[int, int, int]:
    number = zlib.crc32(thing.encode())
    return number & 255, number >> 8 & 255, number >> 16 & 255
