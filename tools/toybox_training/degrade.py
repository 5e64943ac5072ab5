"""Spoilt pictures: what a weak painter, a lossy file or a bad lens makes of a scene, with honest labels.

Pure numpy and pillow. Labels are indices per head (see `failscape.toybox.eyes`); UNKNOWN means that a head
cannot be told any more and shall not be scored.
"""

import io
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.toybox import world
from failscape.toybox.eyes import HEADS, NONE, UNKNOWN, labels_of

Floats = NDArray[np.float32]
Labels = dict[str, int]
_SIDE: Final = 64
#: Heads that speak of the thing itself: unknown once the thing is gone.
THING_HEADS: Final = ("colour", "count", "size", "position")


def rendered(rng: np.random.Generator, vary: float = 0.4) -> tuple[Floats, Labels, world.Scene]:
    """Return a clean picture with its labels."""
    scene = world.sample_scene(rng, vary)
    return world.render(scene).astype(np.float32), labels_of(scene.attributes), scene


def degraded(rng: np.random.Generator, vary: float = 0.4) -> tuple[Floats, Labels]:
    """Return a spoilt picture with the labels that are still true."""
    picture, labels, scene = rendered(rng, vary)
    kind = rng.random()
    if kind < 0.14:
        picture, labels = _nothing(rng, picture, labels, scene)
    elif kind < 0.24:
        picture, labels = _two_scenes(rng, picture, labels, vary)
    elif kind < 0.34:
        picture, labels = _patched(rng, picture, labels, scene)
    elif kind < 0.44:
        picture = _ghosts(rng, scene)
    if rng.random() < 0.35:
        picture, labels = _softened(rng, picture, labels)
    if rng.random() < 0.3:
        picture = _warped(rng, picture)
    if rng.random() < 0.3:
        picture = _tinted(rng, picture)
    if rng.random() < 0.25:
        picture = picture + rng.normal(0, rng.uniform(2, 16), picture.shape).astype(np.float32)
    picture = np.clip(picture, 0, 255)
    if rng.random() < 0.2:
        picture = _jpeg(rng, picture)
    return picture, labels


def _gone(labels: Labels) -> Labels:
    return {**labels, "entity": HEADS["entity"].index(NONE), **dict.fromkeys(THING_HEADS, UNKNOWN)}


def _doubtful(labels: Labels) -> Labels:
    return {**labels, "entity": UNKNOWN, **dict.fromkeys(THING_HEADS, UNKNOWN)}


@lru_cache(maxsize=64)
def _blur_matrix(tenths: int) -> Floats:
    sigma = tenths / 10
    steps = np.arange(_SIDE)
    weight = np.exp(-((steps[:, None] - steps[None, :]) ** 2) / (2 * sigma**2))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float32)


def blurred(picture: Floats, sigma: float) -> Floats:
    """Return a picture under a Gaussian blur of `sigma` pixels."""
    matrix = _blur_matrix(max(1, round(sigma * 10)))
    rows = (matrix @ picture.reshape(_SIDE, -1)).reshape(_SIDE, _SIDE, 3)
    turned = matrix @ rows.transpose(1, 0, 2).reshape(_SIDE, -1)
    return np.ascontiguousarray(turned.reshape(_SIDE, _SIDE, 3).transpose(1, 0, 2))


def _bounds(scene: world.Scene, margin: int = 2) -> tuple[int, int, int, int]:
    boxes = np.array([thing.box for thing in scene.things])
    left, top = boxes[:, 0].min() - margin, boxes[:, 1].min() - margin
    right, bottom = boxes[:, 2].max() + margin, boxes[:, 3].max() + margin
    return max(int(left), 0), max(int(top), 0), min(int(right), _SIDE), min(int(bottom), _SIDE)


def _empty(scene: world.Scene) -> Floats:
    bare = world.Scene((), scene.place, scene.time, scene.style, scene.position, scene.noise)
    return world.render(bare).astype(np.float32)


def _nothing(
    rng: np.random.Generator, picture: Floats, labels: Labels, scene: world.Scene
) -> tuple[Floats, Labels]:
    """Take the thing away, or leave only a shapeless trace of it."""
    way = rng.integers(4)
    if way == 0:
        return _empty(scene), _gone(labels)
    left, top, right, bottom = _bounds(scene)
    out = picture.copy()
    if way == 1:
        soft = blurred(picture, rng.uniform(5, 9))
        out[top:bottom, left:right] = soft[top:bottom, left:right]
    elif way == 2:
        out = _blob(rng, picture, scene)
    else:
        out[top:bottom, left:right] = _shuffled(rng, picture[top:bottom, left:right])
    return out, _gone(labels)


def _blob(rng: np.random.Generator, picture: Floats, scene: world.Scene) -> Floats:
    """Put soft coloured blobs where the things were."""
    out = _empty(scene)
    ys, xs = np.mgrid[0:_SIDE, 0:_SIDE].astype(np.float32)
    for thing in scene.things:
        (x, y), side = thing.centre, thing.box[2] - thing.box[0]
        wide, high = side * rng.uniform(0.25, 0.5), side * rng.uniform(0.25, 0.5)
        distance = np.sqrt(((xs - x) / wide) ** 2 + ((ys - y) / high) ** 2)
        share = np.clip((1.1 - distance) * rng.uniform(1, 6), 0, rng.uniform(0.5, 1))[..., None]
        left, top, right, bottom = _bounds(scene)
        mean = picture[top:bottom, left:right].mean(axis=(0, 1)) + rng.normal(0, 30, 3)
        out = out * (1 - share) + mean.astype(np.float32) * share
    return np.asarray(np.clip(out, 0, 255), dtype=np.float32)


def _shuffled(rng: np.random.Generator, part: Floats) -> Floats:
    """Shuffle small blocks: the colours stay, the shape goes."""
    block = 4
    out = part.copy()
    rows, columns = part.shape[0] // block, part.shape[1] // block
    order = rng.permutation(rows * columns)
    for here, there in enumerate(order):
        y, x = here // columns * block, here % columns * block
        v, u = int(there) // columns * block, int(there) % columns * block
        out[y : y + block, x : x + block] = part[v : v + block, u : u + block]
    return out


def _two_scenes(
    rng: np.random.Generator, picture: Floats, labels: Labels, vary: float
) -> tuple[Floats, Labels]:
    """Blend with another scene: lightly (still the first), or half and half (no entity there)."""
    other, theirs, _ = rendered(rng, vary)
    if rng.random() < 0.5:
        share = np.float32(rng.uniform(0.05, 0.2))
        return picture * (1 - share) + other * share, labels
    share = np.float32(rng.uniform(0.42, 0.58))
    mixed = {name: value if theirs[name] == value else UNKNOWN for name, value in labels.items()}
    blend = picture * (1 - share) + other * share
    if labels["entity"] == theirs["entity"]:
        return blend, mixed
    return blend, {**_gone(labels), "place": mixed["place"], "time": mixed["time"], "style": mixed["style"]}


def _patched(
    rng: np.random.Generator, picture: Floats, labels: Labels, scene: world.Scene
) -> tuple[Floats, Labels]:
    """Lay a block of another scene over part of the picture."""
    other, _, _ = rendered(rng)
    wide, high = rng.integers(6, 25, 2)
    x, y = int(rng.integers(0, _SIDE - wide)), int(rng.integers(0, _SIDE - high))
    share = np.float32(rng.uniform(0.4, 1.0))
    out = picture.copy()
    area = (slice(y, y + high), slice(x, x + wide))
    out[area] = out[area] * (1 - share) + other[area] * share
    left, top, right, bottom = _bounds(scene, 0)
    covered = max(0, min(right, x + wide) - max(left, x)) * max(0, min(bottom, y + high) - max(top, y))
    hidden = covered / max(1, (right - left) * (bottom - top))
    return out, labels if hidden <= 0.2 else _doubtful(labels)


def _ghosts(rng: np.random.Generator, scene: world.Scene) -> Floats:
    """Average slightly different layouts of one scene, as a network does that regresses to the mean."""
    noise = scene.nuisance
    jitter = rng.uniform(0.1, 0.6)
    rows = [noise + rng.normal(0, jitter, noise.shape).astype(np.float32) for _ in range(3)]
    pictures = [world.render_attributes(scene.attributes, row).astype(np.float32) for row in rows]
    return np.asarray(np.mean(pictures, axis=0), dtype=np.float32)


def _softened(rng: np.random.Generator, picture: Floats, labels: Labels) -> tuple[Floats, Labels]:
    """Blur, or lose the fine detail. A clear blur makes the style unknown: it looks like "blurred"."""
    sigma, share = rng.uniform(0.4, 1.3), np.float32(rng.uniform(0.4, 1.0))
    soft = picture * (1 - share) + blurred(picture, sigma) * share
    if sigma * share > 0.55 and labels["style"] != HEADS["style"].index("blurred"):
        labels = {**labels, "style": UNKNOWN}
    return soft, labels


def _warped(rng: np.random.Generator, picture: Floats) -> Floats:
    """Turn, scale, shift and bend a little."""
    ys, xs = np.mgrid[0:_SIDE, 0:_SIDE].astype(np.float32)
    turn, scale = rng.uniform(-0.12, 0.12), rng.uniform(0.95, 1.05)
    dx, dy = rng.uniform(-1.2, 1.2, 2)
    bend, phase = rng.uniform(0, 1.2), rng.uniform(0, 6.3, 2)
    u, v = xs - 31.5, ys - 31.5
    x = scale * (np.cos(turn) * u - np.sin(turn) * v) + 31.5 + dx + bend * np.sin(ys / 7 + phase[0])
    y = scale * (np.sin(turn) * u + np.cos(turn) * v) + 31.5 + dy + bend * np.sin(xs / 7 + phase[1])
    x, y = np.clip(x, 0, _SIDE - 1.001), np.clip(y, 0, _SIDE - 1.001)
    x0, y0 = x.astype(np.int64), y.astype(np.int64)
    fx, fy = (x - x0)[..., None], (y - y0)[..., None]
    top = picture[y0, x0] * (1 - fx) + picture[y0, x0 + 1] * fx
    bottom = picture[y0 + 1, x0] * (1 - fx) + picture[y0 + 1, x0 + 1] * fx
    return np.asarray(top * (1 - fy) + bottom * fy, dtype=np.float32)


def _tinted(rng: np.random.Generator, picture: Floats) -> Floats:
    """Shift colours, contrast and light a little."""
    gain = rng.uniform(0.9, 1.1) * rng.uniform(0.96, 1.04, 3)
    contrast = rng.uniform(0.82, 1.08)
    mean = picture.mean(axis=(0, 1))
    return np.asarray(((picture - mean) * contrast + mean) * gain + rng.uniform(-6, 6), dtype=np.float32)


def _jpeg(rng: np.random.Generator, picture: Floats) -> Floats:
    store = io.BytesIO()
    Image.fromarray(picture.astype(np.uint8)).save(store, "JPEG", quality=int(rng.integers(35, 92)))
    with Image.open(store) as read:
        return np.asarray(read, dtype=np.float32)
