"""From a scene graph to a 64x64 picture, in a style. No randomness: scene and nuisance decide every pixel.

Sprites are read once, recoloured and scaled on demand, and kept in a cache.
"""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageFilter

from failscape.toybox.world.places import RAIN_PHASES, SLACK_X, SLACK_Y, backdrop, fog, rain
from failscape.toybox.world.scenes import SIDE, Attributes, Scene, Thing, build_scene
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


_BLOCK: Final = 2
_TONE: Final = 42.5


def _grey(picture: Floats) -> Floats:
    grey: Floats = picture @ np.array([0.30, 0.59, 0.11], dtype=np.float32)
    return grey


def _sketch(picture: Floats) -> Floats:
    grey = _grey(picture)
    edge = np.zeros_like(grey)
    edge[:-1] += np.abs(grey[1:] - grey[:-1])
    edge[:, :-1] += np.abs(grey[:, 1:] - grey[:, :-1])
    line = np.clip((edge - 10.0) / 105.0, 0, 0.85)[..., None]
    wash = 252.0 - (255.0 - picture) * 0.55
    return np.asarray(wash * _hatching() * (1 - line) + 48.0 * line, dtype=np.float32)


@cache
def _hatching() -> Floats:
    # Faint slanted pencil strokes make a sketch recognisable even where there is nothing to outline.
    ys, xs = np.mgrid[0:SIDE, 0:SIDE]
    return np.asarray(np.where((xs + ys) % 5 == 0, 0.86, 1.0), dtype=np.float32)[..., None]


def _sepia(picture: Floats) -> Floats:
    tone = (_grey(picture) / 255.0)[..., None]
    warm = np.array([255, 226, 178], dtype=np.float32) * tone
    return np.asarray(warm * 0.9 + np.array([26, 12, 2], dtype=np.float32), dtype=np.float32)


def _pixelated(picture: Floats) -> Floats:
    # Few tones as well as few pixels: larger blocks would hide what small things are.
    blocks = _smooth(picture, _block_matrix())
    return np.round(blocks / _TONE) * np.float32(_TONE)


def _smooth(picture: Floats, matrix: Floats) -> Floats:
    # One matrix for rows and columns: much faster than a filter at this size.
    rows = (matrix @ picture.reshape(SIDE, -1)).reshape(SIDE, SIDE, 3)
    return np.ascontiguousarray(
        (matrix @ rows.transpose(1, 0, 2).reshape(SIDE, -1)).reshape(SIDE, SIDE, 3).transpose(1, 0, 2)
    )


@cache
def _blur_matrix(sigma: float) -> Floats:
    steps = np.arange(SIDE)
    weights = np.exp(-((steps[:, None] - steps[None, :]) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


@cache
def _block_matrix() -> Floats:
    block = np.minimum(np.arange(SIDE) // _BLOCK, SIDE // _BLOCK - 1)
    same = (block[:, None] == block[None, :]).astype(np.float32)
    return np.asarray(same / same.sum(axis=1, keepdims=True), dtype=np.float32)


@cache
def _frame() -> tuple[Floats, Floats]:
    edge = np.minimum.reduce(np.meshgrid(*(np.minimum(np.arange(SIDE), SIDE - 1 - np.arange(SIDE)),) * 2))
    colours = np.array([(92, 52, 20), (190, 130, 58), (150, 96, 38), (84, 46, 16)], dtype=np.float32)
    inside = (edge >= len(colours)).astype(np.float32)[..., None]
    wood = colours[np.minimum(edge, len(colours) - 1)] * (1 - inside)
    return inside, wood.astype(np.float32)


def _framed(picture: Floats) -> Floats:
    inside, wood = _frame()
    return picture * inside + wood


#: What a style makes of a 64x64x3 picture (0 to 255); a plain one stays as it is.
_STYLES: Final[dict[str, Callable[[Floats], Floats]]] = {
    "sketch": _sketch,
    "sepia": _sepia,
    "blurred": lambda picture: _smooth(picture, _blur_matrix(1.2)),
    "pixelated": _pixelated,
    "framed": _framed,
}
Picture = NDArray[np.uint8]


def render(scene: Scene) -> Picture:
    """Draw a scene as a 64x64x3 array of bytes."""
    picture = _background(scene)
    for thing in scene.things:
        _lay(picture, thing, scene.time)
    picture = _weather(picture, scene)
    if scene.style in _STYLES:
        picture = _STYLES[scene.style](picture)

    np.clip(picture, 0, 255, out=picture)
    return (picture + 0.5).astype(np.uint8)


def render_attributes(attributes: Attributes, nuisance: ArrayLike | None = None) -> Picture:
    """Draw a single-thing picture straight from its attributes and a nuisance vector."""
    return render(build_scene(attributes, nuisance))


def render_many(scenes: Iterable[Scene]) -> Picture:
    """Draw scenes into one array of shape (n, 64, 64, 3)."""
    pictures = [render(scene) for scene in scenes]
    return np.stack(pictures) if pictures else np.zeros((0, SIDE, SIDE, 3), dtype=np.uint8)


def _background(scene: Scene) -> Floats:
    noise = scene.noise
    x = round((noise[3] + 1) * SLACK_X)
    y = round((noise[4] + 1) * SLACK_Y)
    crop = backdrop(scene.place, scene.time)[y : y + SIDE, x : x + SIDE]
    light, warmth = 1 + 0.06 * noise[5], 0.03 * noise[6]
    tint = np.array([light + warmth, light, light - warmth], dtype=np.float32)
    return np.asarray(crop * tint, dtype=np.float32)


def _lay(picture: Floats, thing: Thing, time: str) -> None:
    left, top, right, _ = thing.box
    colour, clear = patch(thing.entity, thing.colour, right - left, time)
    x0, y0 = left - MARGIN, top - MARGIN
    side = colour.shape[0]
    ax, ay = max(x0, 0), max(y0, 0)
    bx, by = min(x0 + side, SIDE), min(y0 + side, SIDE)
    inside = (slice(ay - y0, by - y0), slice(ax - x0, bx - x0))
    area = picture[ay:by, ax:bx]
    area *= clear[inside]
    area += colour[inside]


def _weather(picture: Floats, scene: Scene) -> Floats:
    if scene.time == "rain":
        share = rain(min(int((scene.noise[7] + 1) / 2 * RAIN_PHASES), RAIN_PHASES - 1))
        return picture * (1 - share) + 225.0 * share
    if scene.time == "fog":
        share = fog()
        return picture * (1 - share) + 244.0 * share
    return picture
