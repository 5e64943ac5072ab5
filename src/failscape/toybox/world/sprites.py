"""The sprites: read once, recoloured and scaled on demand, and kept in a cache."""

from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from failscape.toybox.world.vocab import ENTITIES

Floats = NDArray[np.float32]

SPRITE: Final = 64
COLUMNS: Final = 8
SHEET: Final = Path(__file__).parent / "data" / "sprites.png"
#: Room around a sprite for its outline and its shadow, in pixels.
MARGIN: Final = 3

#: Shadow, middle and light of each colour. Three stops keep the shape of a thing readable in any colour.
RAMPS: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "red": ((120, 0, 10), (222, 22, 28), (255, 120, 110)),
    "orange": ((184, 74, 0), (255, 134, 10), (255, 196, 110)),
    "yellow": ((190, 146, 0), (255, 218, 20), (255, 246, 150)),
    "green": ((0, 82, 22), (36, 164, 48), (150, 230, 130)),
    "blue": ((8, 30, 130), (24, 92, 230), (120, 184, 255)),
    "purple": ((58, 8, 110), (132, 44, 196), (204, 146, 250)),
    "pink": ((196, 40, 122), (255, 112, 182), (255, 200, 228)),
    "brown": ((52, 26, 8), (118, 68, 30), (186, 136, 92)),
    "black": ((4, 4, 6), (34, 34, 38), (108, 108, 116)),
    "white": ((150, 154, 164), (236, 238, 242), (255, 255, 255)),
}
#: How the light of each time falls on things: a factor per channel, so that their own colour stays readable.
LIGHT: Final[dict[str, tuple[float, float, float]]] = {
    "day": (1.0, 1.0, 1.0),
    "sunset": (1.04, 0.93, 0.84),
    "night": (0.74, 0.77, 0.9),
    "rain": (0.86, 0.89, 0.93),
    "fog": (0.97, 0.98, 1.0),
}


class Patch(NamedTuple):
    """A sprite ready to be laid on a picture: colour times opacity, and what shines through."""

    colour: Floats
    clear: Floats


@cache
def _sheet() -> dict[str, Image.Image]:
    with Image.open(SHEET) as picture:
        sheet = picture.convert("RGBA")
    corners = [(i % COLUMNS * SPRITE, i // COLUMNS * SPRITE) for i in range(len(ENTITIES))]
    return {
        name: sheet.crop((x, y, x + SPRITE, y + SPRITE))
        for name, (x, y) in zip(ENTITIES, corners, strict=True)
    }


@cache
def sprite(entity: str, colour: str = "natural") -> Image.Image:
    """Return the full-size sprite of a thing in a colour."""
    picture = _sheet()[entity]
    return picture if colour == "natural" else _recolour(picture, colour)


def _recolour(picture: Image.Image, colour: str) -> Image.Image:
    rgba = np.asarray(picture, dtype=np.float32)
    grey = rgba[..., :3] @ np.array([0.30, 0.59, 0.11], dtype=np.float32)
    low, high = np.percentile(grey[rgba[..., 3] > 128], [4, 96])
    # The middle of the ramp covers most of the range: the asked colour must dominate.
    tone = np.clip((grey - low) / max(high - low, 40.0), 0, 1)
    stops = np.array(RAMPS[colour], dtype=np.float32)
    channels = [np.interp(tone, [0.0, 0.55, 1.0], stops[:, c]) for c in range(3)]
    out = np.dstack([*channels, rgba[..., 3]])
    return Image.fromarray(out.round().astype(np.uint8), "RGBA")


@lru_cache(maxsize=6000)
def patch(entity: str, colour: str, side: int, time: str) -> Patch:
    """Return a sprite of `side` pixels with outline and shadow, lit for a time of day."""
    small = sprite(entity, colour).resize((side, side), Image.Resampling.LANCZOS)
    full = side + 2 * MARGIN
    canvas = Image.new("RGBA", (full, full), (0, 0, 0, 0))
    canvas.paste(small, (MARGIN, MARGIN))
    alpha = canvas.getchannel("A")
    rim = _as_float(alpha.filter(ImageFilter.MaxFilter(3))) * 0.9
    shade = _as_float(alpha.filter(ImageFilter.MaxFilter(3)).filter(ImageFilter.GaussianBlur(1.3))) * 0.55
    # The shadow falls one pixel below its thing.
    shade[1:] = shade[:-1].copy()
    solid = _as_float(alpha)
    rgb = np.asarray(canvas, dtype=np.float32)[..., :3] * solid
    # From the back to the front: dark shadow, light rim, the thing. One of the two edges shows anywhere.
    rgb = rgb + (1 - solid) * rim * 250.0 + (1 - solid) * (1 - rim) * shade * 30.0
    clear = (1 - solid) * (1 - rim) * (1 - shade)
    light = np.array(LIGHT[time], dtype=np.float32)
    return Patch((rgb * light).astype(np.float32), clear.astype(np.float32))


def _as_float(channel: Image.Image) -> Floats:
    return (np.asarray(channel, dtype=np.float32) / 255.0)[..., None]
