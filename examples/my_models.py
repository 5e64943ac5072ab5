"""Models as plain functions: `provider: python` takes any of these.

failscape doctor examples/python.yaml
failscape run examples/python.yaml --atlas runs/mine
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageColor, ImageDraw

import failscape
from failscape import Check

CORPUS = failscape.load_corpus(str(Path(__file__).parent / "corpus"))
THINGS = [entity.name for entity in CORPUS.entities]
COLOURS = [value.name for value in CORPUS.values]
SIDE, MARK = 64, 4


def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """A painter of coloured discs with a mark for the thing, that takes green for yellow half of the time."""
    words = prompt.lower()
    thing = next((name for name in THINGS if name in words), "")
    colour = next((name for name in COLOURS if name in words.split()), "gray")
    return [_picture(thing, _chosen(colour, seed), seed) for seed in seeds]


def judge(image: Image.Image, checks: Sequence[Check]) -> list[bool | None]:
    """Looks at the mark and at the disc around it. What it cannot see it leaves undecided."""
    return [_holds(image, check) for check in checks]


def _chosen(colour: str, seed: int) -> str:
    return "green" if colour == "yellow" and seed % 2 else colour


def _picture(thing: str, colour: str, seed: int) -> Image.Image:
    chance = random.Random(seed)
    image = Image.new("RGB", (SIDE, SIDE), (chance.randint(180, 255), chance.randint(180, 255), 230))
    pen = ImageDraw.Draw(image)
    pen.ellipse(_around_the_middle(chance.randint(12, 24)), fill=colour)
    pen.rectangle(_around_the_middle(MARK), fill=_mark(thing))
    return image


def _around_the_middle(reach: int) -> tuple[int, int, int, int]:
    return SIDE // 2 - reach, SIDE // 2 - reach, SIDE // 2 + reach, SIDE // 2 + reach


def _holds(image: Image.Image, check: Check) -> bool | None:
    if check.kind == "entity":
        return image.getpixel((SIDE // 2, SIDE // 2)) == _mark(check.value)
    if check.value in COLOURS:
        return image.getpixel((SIDE // 2 + 2 * MARK, SIDE // 2)) == ImageColor.getrgb(check.value)
    return None


def _mark(thing: str) -> tuple[int, int, int]:
    number = zlib.crc32(thing.encode())
    return number & 255, number >> 8 & 255, number >> 16 & 255
