"""Changes of a picture after which a check cannot hold any more, or must still not hold. Pure."""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from failscape.pictures import Picture
from failscape.stats.texts import words_of
from failscape.trials import Check

MIDDLE_GREY = (128, 128, 128)
#: What stays of a picture whose middle is painted over: a frame of this share of each side.
FRAME = 0.08

#: So many pixels a side are left of a blurred picture.
BLURRED = 5

SAID = "answer true"
_HUES = frozenset(("red", "orange", "yellow", "green", "blue", "purple", "pink", "violet", "cyan", "magenta"))
_SIDES = {"left", "right"}


def blank(like: Picture) -> Picture:
    """Plain grey of the same size."""
    return Picture.from_image(Image.new("RGB", like.image.size, MIDDLE_GREY))


def remove(picture: Picture) -> Picture:
    """All but a narrow frame becomes a smooth blend of its four edges: what stood there is gone."""
    pixels = picture.array.astype(np.float64)
    height, width, _ = pixels.shape
    top, left = max(1, int(height * FRAME)), max(1, int(width * FRAME))
    inner = pixels[top : height - top, left : width - left]
    rows, columns = inner.shape[:2]
    down = np.linspace(0, 1, rows)[:, None, None]
    across = np.linspace(0, 1, columns)[None, :, None]
    upper, lower = pixels[:top].mean((0, 1)), pixels[-top:].mean((0, 1))
    west, east = pixels[:, :left].mean((0, 1)), pixels[:, -left:].mean((0, 1))
    blend = (upper * (1 - down) + lower * down + west * (1 - across) + east * across) / 2
    pixels[top : height - top, left : width - left] = blend
    return Picture.from_array(pixels.round().astype(np.uint8))


def recolour(picture: Picture) -> Picture:
    """Every hue becomes the opposite one."""
    hsv = np.array(picture.image.convert("HSV"))
    hsv[..., 0] += 128
    return Picture.from_image(Image.fromarray(hsv, "HSV").convert("RGB"))


def mirror(picture: Picture) -> Picture:
    return Picture.from_image(picture.image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))


def blur(picture: Picture) -> Picture:
    """So far that nobody could name what is shown."""
    image = picture.image
    few = image.resize((BLURRED, BLURRED), Image.Resampling.BOX)
    return Picture.from_image(few.resize(image.size, Image.Resampling.BICUBIC))


def write_on(picture: Picture, text: str = SAID) -> Picture:
    """Text along the bottom, black on white, as large as a caption."""
    image = picture.image.copy()
    size = max(8, image.width // 10)
    font = ImageFont.load_default(size)
    height = int(size * 1.4)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, image.height - height, image.width, image.height), fill="white")
    draw.text((size // 3, image.height - height), text, fill="black", font=font)
    return Picture.from_image(image)


Change = Callable[[Picture], Picture]


def changes_for(check: Check) -> dict[str, Change]:
    """The changes after which this check cannot hold any more, by name."""
    if check.kind == "entity":
        return {"removed": remove, "blurred": blur}
    words = set(words_of(check.value))
    if words & _SIDES:
        return {"mirrored": mirror}
    return {"recoloured": recolour} if words & _HUES else {}
