"""A picture as bytes with a name made from its content. Decoding happens only when somebody looks."""

from __future__ import annotations

import hashlib
import io
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.errors import BadReply

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


class Picture:
    """An encoded image, exactly as its source sent it. `digest` is its name everywhere."""

    def __init__(self, data: bytes, digest: str = "") -> None:
        self.data = data
        if digest:
            self.digest = digest

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
    def image(self) -> Image.Image:
        """The decoded image. Raises `BadReply` when the bytes are not a whole image."""
        try:
            image = Image.open(io.BytesIO(self.data))
            image.load()
        except Exception as error:
            start = f"{len(self.data)} bytes that start with {self.data[:24]!r}"
            raise BadReply(f"not a readable image: {start}") from error
        return image

    @property
    def array(self) -> NDArray[np.uint8]:
        """Height × width × 3, 8 bit."""
        return np.asarray(self.image.convert("RGB"))

    def shrunk(self, longest_side: int) -> Picture:
        """Itself when it is small enough, else a smaller JPEG or PNG of the same shape."""
        image = self.image
        if max(image.size) <= longest_side:
            return self
        image.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
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
