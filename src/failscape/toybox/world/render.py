"""From a scene graph to a 64x64 picture, in a style. No randomness: scene and nuisance decide every pixel."""

from collections.abc import Iterable
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from failscape.toybox.world.places import RAIN_PHASES, SLACK_X, SLACK_Y, backdrop, fog, rain
from failscape.toybox.world.scenes import SIDE, Attributes, Scene, Thing, build_scene
from failscape.toybox.world.sprites import MARGIN, patch

Floats = NDArray[np.float32]

_SIDE: Final = 64
_BLOCK: Final = 2
_TONE: Final = 42.5


def apply_style(picture: Floats, style: str) -> Floats:
    """Return a 64x64x3 picture (0 to 255) in a style."""
    if style == "sketch":
        return _sketch(picture)
    if style == "sepia":
        return _sepia(picture)
    if style == "blurred":
        return _smooth(picture, _blur_matrix(1.2))
    if style == "pixelated":
        return _pixelated(picture)
    if style == "framed":
        return _framed(picture)
    return picture


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
    ys, xs = np.mgrid[0:_SIDE, 0:_SIDE]
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
    rows = (matrix @ picture.reshape(_SIDE, -1)).reshape(_SIDE, _SIDE, 3)
    return np.ascontiguousarray(
        (matrix @ rows.transpose(1, 0, 2).reshape(_SIDE, -1)).reshape(_SIDE, _SIDE, 3).transpose(1, 0, 2)
    )


@cache
def _blur_matrix(sigma: float) -> Floats:
    steps = np.arange(_SIDE)
    weights = np.exp(-((steps[:, None] - steps[None, :]) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


@cache
def _block_matrix() -> Floats:
    block = np.minimum(np.arange(_SIDE) // _BLOCK, _SIDE // _BLOCK - 1)
    same = (block[:, None] == block[None, :]).astype(np.float32)
    return np.asarray(same / same.sum(axis=1, keepdims=True), dtype=np.float32)


@cache
def _frame() -> tuple[Floats, Floats]:
    edge = np.minimum.reduce(np.meshgrid(*(np.minimum(np.arange(_SIDE), _SIDE - 1 - np.arange(_SIDE)),) * 2))
    colours = np.array([(92, 52, 20), (190, 130, 58), (150, 96, 38), (84, 46, 16)], dtype=np.float32)
    inside = (edge >= len(colours)).astype(np.float32)[..., None]
    wood = colours[np.minimum(edge, len(colours) - 1)] * (1 - inside)
    return inside, wood.astype(np.float32)


def _framed(picture: Floats) -> Floats:
    inside, wood = _frame()
    return picture * inside + wood


Picture = NDArray[np.uint8]


def render(scene: Scene) -> Picture:
    """Draw a scene as a 64x64x3 array of bytes."""
    picture = _background(scene)
    for thing in scene.things:
        _lay(picture, thing, scene.time)
    picture = apply_style(_weather(picture, scene), scene.style)
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
        phase = min(int((scene.noise[7] + 1) / 2 * RAIN_PHASES), RAIN_PHASES - 1)
        share = rain(phase)
        return picture * (1 - share) + 225.0 * share
    if scene.time == "fog":
        share = fog()
        return picture * (1 - share) + 244.0 * share
    return picture
