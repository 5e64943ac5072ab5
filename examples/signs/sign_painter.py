"""A painter drawn by code that writes signs and misspells long words, and a judge for what it draws.

The colour of the frame says which thing is drawn, so that the judge needs no network. What is written is left
to a real reader: `judge: {text: {provider: ocr}}` in hunt.yaml beside this file.
"""

from __future__ import annotations

import re
from random import Random

from PIL import Image, ImageDraw, ImageFont

from failscape import Check

SIDE = 256
FRAMES = {
    "shop sign": (160, 40, 40),
    "poster": (40, 120, 60),
    "T-shirt": (40, 60, 160),
    "mug": (150, 110, 30),
}

#: Words with more letters than this lose or swap some of them, most of the time.
LONGEST = 7


def paint(prompt: str, seeds: list[int]) -> list[Image.Image]:
    """One picture for each seed."""
    text = "".join(re.findall(r'"([^"]*)"', prompt))
    thing = next((name for name in FRAMES if name in prompt), "poster")
    return [_picture(thing, _spelt(text, Random(f"{prompt} {seed}")), seed) for seed in seeds]


def _spelt(text: str, luck: Random) -> str:
    """What the painter writes. It forgets the second of two words, too."""
    words = text.split()
    if len(words) > 1 and luck.random() < 0.6:
        words = words[:1]
    return " ".join(_word(word, luck) for word in words)


def _word(word: str, luck: Random) -> str:
    if len(word) <= LONGEST or luck.random() < 0.2:
        return word
    place = luck.randrange(1, len(word) - 1)
    if luck.random() < 0.5:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _picture(thing: str, text: str, seed: int) -> Image.Image:
    luck = Random(seed)
    image = Image.new("RGB", (SIDE, SIDE), FRAMES[thing])
    draw = ImageDraw.Draw(image)
    draw.rectangle((24, 24, SIDE - 24, SIDE - 24), fill=(245, 245, 240))
    size = 56
    while size > 16 and draw.textlength(text, ImageFont.load_default(size)) > SIDE - 70:
        size -= 2
    centre = (SIDE / 2 + luck.uniform(-6, 6), SIDE / 2 + luck.uniform(-30, 30))
    draw.text(centre, text, (25, 25, 25), ImageFont.load_default(size), anchor="mm")
    return image


def judge(image: Image.Image, checks: list[Check]) -> list[bool | None]:
    """Is it the thing asked for? Nothing else is asked of this judge."""
    frame = image.convert("RGB").getpixel((4, 4))
    return [FRAMES.get(check.value) == frame if check.kind == "entity" else None for check in checks]
