"""The places: each one is drawn once, wider than a picture, and cropped at a different spot every time.

Times of day change the whole place and add a sun, a moon or stars behind the things.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Floats = NDArray[np.float32]
Rgb = tuple[int, int, int]

#: A place is larger than a picture by twice this much in x and y; the nuisance chooses the crop.
SLACK_X: Final = 8
SLACK_Y: Final = 3
WIDTH: Final = 64 + 2 * SLACK_X
HEIGHT: Final = 64 + 2 * SLACK_Y
_ZOOM: Final = 4


class _Canvas:
    """A drawing surface in final pixels, drawn four times as large so that edges come out smooth."""

    def __init__(self, top: Rgb, bottom: Rgb, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.image = Image.new("RGB", (WIDTH * _ZOOM, HEIGHT * _ZOOM))
        self.draw = ImageDraw.Draw(self.image)
        self.fade(0, HEIGHT, top, bottom)

    def fade(self, y0: float, y1: float, top: Rgb, bottom: Rgb) -> None:
        """Fill a horizontal band with a gradient."""
        start, stop = int(y0 * _ZOOM), int(y1 * _ZOOM)
        for row in range(start, stop):
            part = (row - start) / max(stop - start - 1, 1)
            colour = tuple(round(a + (b - a) * part) for a, b in zip(top, bottom, strict=True))
            self.draw.line([(0, row), (WIDTH * _ZOOM, row)], fill=colour)

    def hill(self, y: float, height: float, waves: float, shift: float, colour: Rgb) -> None:
        """Fill everything below a wavy line."""
        xs = np.arange(0, WIDTH + 1)
        ys = y - height * np.sin(2 * np.pi * (waves * xs / WIDTH + shift))
        points = [(x * _ZOOM, float(v) * _ZOOM) for x, v in zip(xs.tolist(), ys, strict=True)]
        self.draw.polygon([*points, (WIDTH * _ZOOM, HEIGHT * _ZOOM), (0, HEIGHT * _ZOOM)], fill=colour)

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: Rgb) -> None:
        """Fill a rectangle."""
        self.draw.rectangle([x0 * _ZOOM, y0 * _ZOOM, x1 * _ZOOM - 1, y1 * _ZOOM - 1], fill=colour)

    def disc(self, x: float, y: float, rx: float, ry: float, colour: Rgb) -> None:
        """Fill an ellipse around a centre."""
        self.draw.ellipse(
            [(x - rx) * _ZOOM, (y - ry) * _ZOOM, (x + rx) * _ZOOM, (y + ry) * _ZOOM], fill=colour
        )

    def triangle(self, x: float, top: float, base: float, half: float, colour: Rgb) -> None:
        """Fill a triangle that points up."""
        points = [(x, top), (x - half, base), (x + half, base)]
        self.draw.polygon([(a * _ZOOM, b * _ZOOM) for a, b in points], fill=colour)

    def dots(self, n: int, y0: float, y1: float, radius: float, colours: list[Rgb]) -> None:
        """Scatter small discs in a band."""
        for i in range(n):
            x, y = self.rng.uniform(0, WIDTH), self.rng.uniform(y0, y1)
            self.disc(x, y, radius, radius, colours[i % len(colours)])

    def cloud(self, x: float, y: float, colour: Rgb) -> None:
        """Draw one small cloud."""
        for dx, dy, r in ((-4, 0.6, 2.2), (0, -0.6, 3.0), (4, 0.6, 2.2)):
            self.disc(x + dx, y + dy, r * 1.3, r, colour)

    def finish(self) -> Floats:
        """Return the picture at its final size."""
        small = self.image.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32)


def _forest() -> Floats:
    c = _Canvas((150, 196, 130), (104, 158, 96), 6)
    for step, colour in enumerate(((92, 116, 80), (84, 64, 44))):
        for x in range(step * 6, WIDTH, 13 if step == 0 else 19):
            width = 1.4 if step == 0 else 2.6
            c.box(x - width, 4, x + width, 50 + step * 6, colour)
    for x in range(0, WIDTH + 8, 8):
        c.disc(x, 5 + x % 3 * 2, 7, 6.5, (46, 108, 56))
        c.disc(x + 4, 2, 7, 6, (34, 88, 46))
    c.hill(49, 1.5, 1.5, 0.2, (70, 104, 50))
    c.hill(58, 1.5, 1.2, 0.6, (56, 84, 40))
    c.dots(20, 52, HEIGHT - 1, 0.9, [(122, 150, 70), (94, 62, 36)])
    return c.finish()


def _city() -> Floats:
    c = _Canvas((158, 200, 236), (226, 236, 244), 7)
    tops = (20, 10, 26, 14, 6, 22, 12, 18)
    walls: list[Rgb] = [(122, 134, 156), (92, 104, 130), (148, 150, 166)]
    for i, top in enumerate(tops):
        x0 = i * 10
        c.box(x0, top, x0 + 10, 52, walls[i % 3])
        for row in range(top + 2, 48, 5):
            for col in (2.0, 6.0):
                lit = c.rng.random() < 0.45
                c.box(x0 + col, row, x0 + col + 2, row + 2.6, (255, 226, 140) if lit else (62, 74, 98))
    c.box(0, 51, WIDTH, 54, (190, 190, 194))
    c.box(0, 54, WIDTH, HEIGHT, (86, 88, 96))
    for x in range(2, WIDTH, 14):
        c.box(x, 61, x + 7, 62.4, (250, 250, 250))
    return c.finish()


def _space() -> Floats:
    c = _Canvas((26, 14, 62), (54, 20, 88), 8)
    glow = Image.new("RGB", c.image.size)
    pen = ImageDraw.Draw(glow)
    pen.ellipse([20, 90, 220, 190], fill=(56, 16, 70))
    pen.ellipse([160, 160, 330, 270], fill=(10, 44, 90))
    c.image.paste(Image.blend(c.image, _added(c.image, glow.filter(ImageFilter.GaussianBlur(30))), 0.9))
    c.dots(70, 0, HEIGHT, 0.45, [(255, 255, 255), (255, 236, 190), (190, 214, 255)])
    c.dots(14, 0, HEIGHT, 0.85, [(255, 255, 255)])
    c.disc(64, 13, 8, 8, (232, 150, 92))
    c.disc(62.4, 11.6, 5.2, 5.2, (246, 184, 122))
    box = [(64 - 14) * _ZOOM, (13 - 3.4) * _ZOOM, (64 + 14) * _ZOOM, (13 + 3.4) * _ZOOM]
    c.draw.arc(box, 330, 210, fill=(244, 222, 176), width=6)
    return c.finish()


def _added(a: Image.Image, b: Image.Image) -> Image.Image:
    total = np.asarray(a, dtype=np.uint16) + np.asarray(b, dtype=np.uint16)
    return Image.fromarray(np.minimum(total, 255).astype(np.uint8))


def _brick_wall() -> Floats:
    c = _Canvas((150, 204, 244), (210, 232, 248), 9)
    c.box(0, 11, WIDTH, HEIGHT, (206, 190, 176))
    tones: list[Rgb] = [(178, 84, 66), (164, 72, 58), (190, 98, 76), (154, 64, 54)]
    for row, y in enumerate(range(14, 58, 6)):
        for x in range(-12, WIDTH, 12):
            left = x + 6 * (row % 2)
            c.box(left, y, left + 11, y + 5, tones[int(c.rng.integers(4))])
    c.box(0, 10, WIDTH, 13.4, (224, 212, 198))
    c.box(0, 60, WIDTH, HEIGHT, (138, 138, 142))
    return c.finish()


_WHITE: Final = (255, 255, 255)
_SNOW: Final = (250, 252, 255)
_WAVES: Final = ((58, 142, 214), (40, 122, 200), (28, 104, 184), (18, 86, 166), (12, 70, 146), (8, 56, 126))

#: Places of a few strokes: the sky at the top and at the bottom, the seed, and each stroke of a `_Canvas`.
_STROKES: Final[dict[str, tuple[Rgb, Rgb, int, list[tuple[Any, ...]]]]] = {
    "meadow": (
        (112, 190, 250),
        (206, 236, 255),
        1,
        [
            (_Canvas.cloud, 16, 10, _WHITE),
            (_Canvas.cloud, 58, 13, _WHITE),
            (_Canvas.hill, 31, 3.5, 1.2, 0.1, (136, 206, 98)),
            (_Canvas.hill, 39, 3, 0.9, 0.55, (104, 186, 74)),
            (_Canvas.hill, 52, 2, 1.1, 0.3, (82, 166, 60)),
            (_Canvas.dots, 34, 42, HEIGHT - 1, 1.0, [_WHITE, (255, 224, 90), (255, 140, 170)]),
        ],
    ),
    "beach": (
        (120, 204, 252),
        (220, 244, 255),
        2,
        [
            (_Canvas.cloud, 54, 9, _WHITE),
            (_Canvas.fade, 22, 38, (24, 158, 196), (92, 214, 218)),
            (_Canvas.hill, 37, 1.2, 3, 0.2, _WHITE),
            (_Canvas.hill, 39.5, 1.4, 2.2, 0.4, (248, 224, 164)),
            (_Canvas.hill, 54, 1.6, 1.3, 0.1, (240, 208, 140)),
            (_Canvas.dots, 26, 43, HEIGHT - 1, 0.8, [(222, 186, 118), (255, 242, 206)]),
        ],
    ),
    "snow": (
        (156, 188, 222),
        (222, 234, 246),
        3,
        [
            *(
                stroke
                for x, top, half in ((14, 12, 20), (44, 7, 24), (70, 14, 18))
                for stroke in (
                    (_Canvas.triangle, x, top, 44, half, (140, 160, 192)),
                    (_Canvas.triangle, x, top, top + 10, half * 10 / (44 - top), _SNOW),
                )
            ),
            (_Canvas.hill, 37, 2.5, 1.0, 0.2, (232, 240, 250)),
            (_Canvas.hill, 48, 2.2, 1.2, 0.7, _SNOW),
            *(
                stroke
                for x, base in ((8, 41), (30, 38), (52, 41), (74, 39))
                for stroke in (
                    (_Canvas.triangle, x, base - 9, base, 3.2, (70, 118, 116)),
                    (_Canvas.triangle, x, base - 9, base - 5, 1.5, _SNOW),
                )
            ),
        ],
    ),
    "desert": (
        (250, 206, 130),
        (255, 236, 190),
        4,
        [
            (_Canvas.hill, 30, 4.5, 1.1, 0.05, (232, 164, 88)),
            (_Canvas.hill, 39, 5, 0.9, 0.45, (216, 140, 66)),
            (_Canvas.hill, 52, 4.5, 1.0, 0.9, (198, 118, 50)),
        ],
    ),
    "ocean": (
        (126, 196, 248),
        (214, 238, 252),
        5,
        [
            (_Canvas.cloud, 24, 6, _WHITE),
            *(
                stroke
                for i, colour in enumerate(_WAVES)
                for stroke in (
                    (_Canvas.hill, 17 + i * 9 - 0.8, 1.3, 5, i * 0.37, (168, 216, 244)),
                    (_Canvas.hill, 17 + i * 9 + 0.5, 1.3, 5, i * 0.37, colour),
                )
            ),
        ],
    ),
    "studio": (
        (214, 216, 226),
        (236, 236, 240),
        10,
        [(_Canvas.fade, 48, HEIGHT, (226, 226, 232), (196, 198, 208))],
    ),
}
_DRAW: Final = {"forest": _forest, "city": _city, "space": _space, "brick wall": _brick_wall}


@cache
def drawn(place: str) -> Floats:
    """Return a place by day, drawn once."""
    if place in _DRAW:
        return _DRAW[place]()
    top, bottom, seed, strokes = _STROKES[place]
    canvas = _Canvas(top, bottom, seed)
    for stroke, *how in strokes:
        stroke(canvas, *how)
    return canvas.finish()


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


#: What a time of day makes of a place; by day it is as it was drawn.
_TIMES: Final[dict[str, Callable[[Floats], Floats]]] = {
    "sunset": _sunset,
    "night": _night,
    "rain": lambda place: _over(_grey(place, 0.65) * np.float32(0.62), 0.3, _rgb(96, 110, 132)),
    "fog": lambda place: _over(_grey(place, 0.5), 0.5, _rgb(204, 210, 216)),
}


@cache
def backdrop(place: str, time: str) -> Floats:
    """Return a place at a time, larger than a picture (see `places`)."""
    return _TIMES[time](drawn(place)) if time in _TIMES else drawn(place)


#: Number of different rain patterns; the nuisance chooses one.
RAIN_PHASES: Final = 8


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
