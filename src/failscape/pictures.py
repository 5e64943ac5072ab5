"""A picture as bytes with a name made from its content. Decoding happens only when somebody looks.

All who look see the same: upright, 8 bit, RGB, the first frame, on white where it was transparent. Size and
length are checked before anything is decoded, and whatever is wrong with the bytes is a `BadReply`.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from failscape.errors import BadReply
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits

SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp", "TIFF": ".tif"}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"RIFF", "WEBP"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
)
_TELL_ROTATION = ("exif", "xmp", "XML:com.adobe.xmp")
#: Of JPEG and WebP uploads, where a config asks for them.
QUALITY = 95

#: Of uploads in a chosen format. By Pillow's own table it shrinks as well as bicubic; from 1024 to 768 pixels
#: it takes 9 ms, where bicubic takes 15, and Lanczos, which `shrunk` has always used, 20.
SHRINKING = Image.Resampling.HAMMING

_UPLOADED_AS_IS = ("RGB", "L", "P", "RGBA", "LA")


class Picture:
    """An encoded image, exactly as its source sent it. `digest` is its name everywhere."""

    limits = DEFAULT_LIMITS

    def __init__(self, data: bytes, digest: str = "", limits: PictureLimits = DEFAULT_LIMITS) -> None:
        self.data = data
        if digest:
            self.digest = digest
        if limits is not DEFAULT_LIMITS:
            self.limits = limits

    @cached_property
    def digest(self) -> str:
        return hashlib.blake2b(self.data, digest_size=16).hexdigest()

    @cached_property
    def format(self) -> str:
        """`PNG`, `JPEG` …, read from the first bytes; `""` when they are no known image."""
        return next((name for magic, name in _MAGIC if self.data.startswith(magic)), "")

    @property
    def suffix(self) -> str:
        return SUFFIXES.get(self.format, ".bin")

    @property
    def media_type(self) -> str:
        return f"image/{(self.format or 'octet-stream').lower()}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as its header says, before any rotation. Raises `BadReply` beyond the limits."""
        if self.format == "PNG" and self.data[12:16] == b"IHDR" and len(self.data) >= 24:
            width, height = struct.unpack(">II", self.data[16:24])  # the usual case, without Pillow
        else:
            width, height = self._opened().size
        self.limits.check_size(width, height)
        return width, height

    @property
    def image(self) -> Image.Image:
        """The decoded image: RGB, upright. Raises `BadReply` when the bytes are not a whole image."""
        self.limits.check_bytes(len(self.data))
        _ = self.size
        image = self._opened()
        try:
            image.load()
            return _normal(image)
        except Exception as error:
            raise self._unreadable(error) from error

    def _opened(self) -> Image.Image:
        """The image with its header read, not decoded yet."""
        try:
            return Image.open(io.BytesIO(self.data))
        except Image.DecompressionBombError as error:
            raise BadReply(f"a picture is too large to be decoded: {error}") from error
        except Exception as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> BadReply:
        start = f"{len(self.data)} bytes that start with {self.data[:24]!r}"
        if isinstance(error, UnidentifiedImageError):  # says no more than an address in memory
            return BadReply(f"not a readable image: {start}")
        return BadReply(f"not a readable image: {start} ({' '.join(str(error).split())[:100]})")

    @property
    def array(self) -> NDArray[np.uint8]:
        """Height × width × 3, 8 bit."""
        return np.asarray(self.image)

    def check(self) -> None:
        """Raise `BadReply` when it is too large, no image, cut short or damaged, as far as is cheap to see.

        Nothing is decoded: that costs more than a request. Damage inside a JPEG shows when it is looked at.
        """
        self.limits.check_bytes(len(self.data))
        if not self.format:
            held = f"{len(self.data)} bytes that are no image: they start with {self.data[:16]!r}"
            raise BadReply(f"the reply holds {held}")
        if self.format == "PNG":
            _check_png(self.data)
        elif not self._ends_well():
            raise _broken_off(self.format, self.data)
        _ = self.size

    def _ends_well(self) -> bool:
        data = self.data
        if self.format == "JPEG":
            return b"\xff\xd9" in data[-1024:]
        if self.format == "WEBP":
            return data[8:12] == b"WEBP" and len(data) >= int.from_bytes(data[4:8], "little") + 8
        return True

    def for_upload(self, longest_side: int | None = None, format: str | None = None) -> Picture:
        """Itself where it is plain, small enough and of that format; else what all see of it, made so."""
        if not format:
            return self.shrunk(longest_side) if longest_side else self.plain()
        small = not longest_side or max(self.size) <= longest_side
        if small and self.format == format.upper() and self._is_plain():
            return self
        image = self.image
        if longest_side and not small:
            image.thumbnail((longest_side, longest_side), SHRINKING)
        options = {} if format == "png" else {"quality": QUALITY}
        return Picture.from_image(image, format.upper(), **options)

    def shrunk(self, longest_side: int) -> Picture:
        """Itself when it is small enough and plain, else a JPEG or PNG of that size and the same shape."""
        if max(self.size) <= longest_side:
            return self.plain()
        image = self.image
        image.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
        return self._encoded(image)

    def plain(self) -> Picture:
        """Itself when every server shows it alike; else (EXIF, 16 bit, CMYK, animated …) as all see it."""
        return self if self._is_plain() else self._encoded(self.image)

    def _is_plain(self) -> bool:
        if self.format == "PNG" and len(self.data) > 24:
            head = self.data[: max(self.data.find(b"IDAT", 0, 2**16), 33)]
            return head[24] <= 8 and b"eXIf" not in head and b"acTL" not in head
        if self.format not in ("JPEG", "WEBP"):
            return False
        image = self._opened()
        turned = any(name in image.info for name in _TELL_ROTATION) and image.getexif().get(0x0112, 1) != 1
        return image.mode in _UPLOADED_AS_IS and not turned and getattr(image, "n_frames", 1) == 1

    def _encoded(self, image: Image.Image) -> Picture:
        return Picture.from_image(image, "JPEG" if self.format == "JPEG" else "PNG")

    @classmethod
    def from_image(cls, image: Image.Image, format: str = "PNG", **options: Any) -> Picture:
        buffer = io.BytesIO()
        if format == "PNG":
            options.setdefault("compress_level", 1)
        image.save(buffer, format, **options)
        return cls(buffer.getvalue())

    @classmethod
    def from_array(cls, pixels: NDArray[np.uint8]) -> Picture:
        return cls.from_image(Image.fromarray(pixels))


def _check_png(data: bytes) -> None:
    """Every chunk is whole and has the checksum it names, and the last one is the end: a few GB a second."""
    view, position, kind = memoryview(data), 8, b""
    while kind != b"IEND":
        if position + 12 > len(data):
            raise _broken_off("PNG", data)
        length = int.from_bytes(data[position : position + 4], "big")
        kind, end = data[position + 4 : position + 8], position + 8 + length
        if end + 4 > len(data):
            raise _broken_off("PNG", data)
        if zlib.crc32(view[position + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            raise BadReply(f"the reply holds a PNG image that is damaged at byte {position}")
        position = end + 4


def _broken_off(kind: str, data: bytes) -> BadReply:
    return BadReply(f"the reply holds a {kind} image that breaks off after {len(data)} bytes")


def _normal(image: Image.Image) -> Image.Image:
    """8-bit RGB, turned as EXIF says, on white where it is transparent."""
    if any(name in image.info for name in _TELL_ROTATION):
        image = ImageOps.exif_transpose(image)
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_eight_bit(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        seen = image.convert("RGBA")
        white = Image.new("RGBA", seen.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, seen).convert("RGB")
    return image.convert("RGB")


def _eight_bit(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Grey values as 8 bit: 16 bit by its own range, 0 to 1 and 0 to 255 as such, others by what is there."""
    values = pixels.astype(np.float64)
    values[~np.isfinite(values)] = 0
    low, high = float(values.min()), float(values.max())
    if low >= 0 and pixels.dtype.kind in "iu" and high <= 65535:
        low, high = 0.0, 65535.0
    elif low >= 0 and pixels.dtype.kind == "f" and high <= 255:
        low, high = 0.0, 1.0 if high <= 1 else 255.0
    scaled = (values - low) / ((high - low) or 1.0) * 255
    return scaled.round().astype(np.uint8)
