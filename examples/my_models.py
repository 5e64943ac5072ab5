"""Models as plain functions: `provider: python` takes any of these.

failscape run examples/python.yaml --atlas runs/mine
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

from PIL import Image, ImageDraw

from failscape.trials import Check

COLOURS = {
    "red": "red",
    "green": "green",
    "blue": "blue",
    "yellow": "yellow",
    "black": "black",
    "white": "white",
}


def draw(prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
    """A painter that knows only disks, and mixes up yellow and green half of the time."""
    colour = next((name for name in COLOURS if name in prompt.lower()), "grey")
    return [_disk("green" if colour == "yellow" and seed % 2 else colour) for seed in seeds]


def judge(image: Image.Image, checks: Sequence[Check]) -> list[bool]:
    """Looks at the middle of the picture. It takes any thing for granted: only colours are judged."""
    seen = _name_of(image.getpixel((32, 32)))
    return [check.value == seen or "colo" not in check.kind.lower() for check in checks]


def _disk(colour: str) -> Image.Image:
    image = Image.new("RGB", (64, 64), "lightsteelblue")
    ImageDraw.Draw(image).ellipse((12, 12, 52, 52), fill=colour)
    return image


def _name_of(pixel: object) -> str:
    red, green, blue = (value / 255 for value in pixel)  # type: ignore[attr-defined]
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if saturation < 0.2:
        return "white" if value > 0.9 else "black" if value < 0.1 else "grey"
    return min(
        {"red": 0.0, "yellow": 1 / 6, "green": 1 / 3, "blue": 2 / 3}.items(), key=lambda c: abs(c[1] - hue)
    )[0]
