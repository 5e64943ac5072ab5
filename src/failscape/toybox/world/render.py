"""From a scene graph to a 64x64 picture. No randomness: the scene and its nuisance decide every pixel."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from failscape.toybox.world.places import SLACK_X, SLACK_Y
from failscape.toybox.world.scenes import SIDE, Attributes, Scene, Thing, build_scene
from failscape.toybox.world.sprites import MARGIN, patch
from failscape.toybox.world.styles import apply_style
from failscape.toybox.world.weather import RAIN_PHASES, backdrop, fog, rain

Floats = NDArray[np.float32]
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
