"""Times of day and weather: what they do to a place, and what they put in front of everything."""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from failscape.toybox.world.places import HEIGHT, WIDTH, drawn

Floats = NDArray[np.float32]

#: Number of different rain patterns; the nuisance chooses one.
RAIN_PHASES: Final = 8


@cache
def backdrop(place: str, time: str) -> Floats:
    """Return a place at a time, larger than a picture (see `places`)."""
    picture = drawn(place)
    if time == "sunset":
        return _sunset(picture)
    if time == "night":
        return _night(picture)
    if time == "rain":
        return _over(_grey(picture, 0.65) * np.float32(0.62), 0.3, _rgb(96, 110, 132))
    if time == "fog":
        return _over(_grey(picture, 0.5), 0.5, _rgb(204, 210, 216))
    return picture


def _rgb(red: float, green: float, blue: float) -> Floats:
    return np.array([red, green, blue], dtype=np.float32)


def _over(picture: Floats, share: Floats | float, colour: Floats) -> Floats:
    return np.asarray(picture * (1 - share) + colour * share, dtype=np.float32)


def _grey(picture: Floats, share: float) -> Floats:
    return _over(picture, share, picture.mean(axis=2, keepdims=True))


def _grid() -> tuple[Floats, Floats]:
    ys, xs = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    return ys, xs


def _disc(x: float, y: float, radius: float) -> Floats:
    ys, xs = _grid()
    distance = np.sqrt((xs - x) ** 2 + (ys - y) ** 2)
    return np.clip(radius + 0.5 - distance, 0, 1)[..., None].astype(np.float32)


def _sunset(picture: Floats) -> Floats:
    ys, xs = _grid()
    part = (ys / HEIGHT)[..., None]
    sky = _rgb(250, 92, 96) * (1 - part) + _rgb(255, 160, 60) * part
    glow = np.exp(-((xs - 23) ** 2 + (ys - 15) ** 2) / 260.0)[..., None]
    lit = _grey(picture, 0.35) * _rgb(0.92, 0.66, 0.54) * 0.56 + sky * 0.44 + glow * _rgb(90, 70, 10)
    return _over(lit, _disc(23, 15, 6.5), _rgb(255, 240, 150))


def _night(picture: Floats) -> Floats:
    dark = _grey(picture, 0.45) * _rgb(0.26, 0.32, 0.5) + _rgb(4, 6, 24)
    rng = np.random.default_rng(11)
    for _ in range(16):
        x, y = int(rng.integers(0, WIDTH)), int(rng.integers(2, 26))
        dark[y, x] = (236, 238, 255)
    crescent = np.maximum(_disc(57, 13, 6.0) - _disc(53.8, 11.4, 5.4), 0)
    return _over(dark, crescent, _rgb(255, 246, 200))


@cache
def rain(phase: int) -> Floats:
    """Return the share of rain in each pixel of a picture, for one of the patterns."""
    rng = np.random.default_rng(100 + phase)
    streaks = np.zeros((64, 64, 1), dtype=np.float32)
    for _ in range(34):
        x, y, length = int(rng.integers(0, 72)), int(rng.integers(-6, 62)), int(rng.integers(5, 9))
        for step in range(length):
            row, column = y + step, x - step // 2
            if 0 <= row < 64 and 0 <= column < 64:
                streaks[row, column] = 0.55
    return streaks


@cache
def fog() -> Floats:
    """Return the share of fog in front of the things: soft bands, thickest near the ground."""
    ys, xs = np.mgrid[0:64, 0:64].astype(np.float32)
    bands = 0.5 + 0.5 * np.sin(ys / 3.6 + 1.2 * np.sin(xs / 11.0))
    share = 0.12 + 0.3 * bands * (0.35 + 0.65 * ys / 63) + 0.1 * (ys / 63) ** 2
    return np.asarray(share[..., None], dtype=np.float32)
