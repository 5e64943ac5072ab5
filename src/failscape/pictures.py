"""A picture as bytes with a name made from its content. Decoding happens only when somebody looks.

All who look see the same: upright, 8 bit, RGB, the first frame, on white where it was transparent. Size and
length are checked before anything is decoded, and whatever is wrong with the bytes is a `BadReply`.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from failscape.errors import BadReply
from failscape.notebooks import MOST_BYTES
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits

if TYPE_CHECKING:
    from failscape.clips.video import VideoFile

_STILL = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp", "TIFF": ".tif"}
#: Formats that `clips` decodes. GIF and WebP may be clips too, and Pillow reads those.
VIDEO_FORMATS = {"MP4": ".mp4", "WEBM": ".webm"}
SUFFIXES = _STILL | VIDEO_FORMATS
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"RIFF", "WEBP"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"\x1aE\xdf\xa3", "WEBM"),
)
#: Pillow knows fifty more. One of them, EPS, is a program that it has Ghostscript run.
_FORMATS = tuple(_STILL)
_TELL_ROTATION = ("exif", "xmp", "XML:com.adobe.xmp")
#: How uploads are encoded. JPEG at 92 without chroma subsampling keeps thin coloured lines; it takes a tenth
#: of the processor time of PNG.
UPLOAD_OPTIONS: dict[str, dict[str, Any]] = {
    "jpeg": {"quality": 92, "subsampling": "4:4:4"},
    "webp": {"quality": 95},
    "png": {},
}

#: By Pillow's own table it shrinks as well as bicubic; from 1024 to 768 pixels it takes 9 ms, bicubic 15.
SHRINKING = Image.Resampling.HAMMING

#: The longer side of a picture in a notebook, as in the viewer on fine screens.
NOTEBOOK_SIDE = 384
#: Notebooks keep pictures as base64 text: four characters for three bytes.
NOTEBOOK_BYTES = MOST_BYTES * 3 // 4

_UPLOADED_AS_IS = ("RGB", "L", "P")
#: Colour types of PNG files that have an alpha channel.
_ALPHA_PNG = (4, 6)


def open_image(data: bytes) -> Image.Image:
    """The image with its header read, if it is of a format that we know; raises whatever Pillow raises."""
    return Image.open(io.BytesIO(data), formats=_FORMATS)


class DecodedShelf:
    """Decoded pictures on their way to whoever looks next: who checked a picture has decoded it already.

    Each is taken once, so nobody shares pixels. The oldest go when there are too many bytes.
    """

    def __init__(self, most: int = 64 * 2**20) -> None:
        self._most = most
        self._bytes = 0
        self._images: OrderedDict[str, Image.Image] = OrderedDict()
        self._lock = Lock()

    def put(self, digest: str, image: Image.Image) -> None:
        with self._lock:
            if digest in self._images:
                return
            self._images[digest] = image
            self._bytes += _bytes_of(image)
            while self._bytes > self._most:
                _, oldest = self._images.popitem(last=False)
                self._bytes -= _bytes_of(oldest)

    def take(self, digest: str) -> Image.Image | None:
        with self._lock:
            image = self._images.pop(digest, None)
            if image is not None:
                self._bytes -= _bytes_of(image)
            return image

    def __len__(self) -> int:
        return len(self._images)


def _bytes_of(image: Image.Image) -> int:
    return 3 * image.width * image.height


SHELF = DecodedShelf()


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
        if self.data[4:8] == b"ftyp":
            return "MP4"
        return next((name for magic, name in _MAGIC if self.data.startswith(magic)), "")

    @property
    def suffix(self) -> str:
        return SUFFIXES.get(self.format, ".bin")

    @property
    def media_type(self) -> str:
        family = "video" if self.format in VIDEO_FORMATS else "image"
        return f"{family}/{(self.format or 'octet-stream').lower()}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as its header says, before any rotation. Raises `BadReply` beyond the limits."""
        if self.format == "PNG" and self.data[12:16] == b"IHDR" and len(self.data) >= 24:
            width, height = struct.unpack(">II", self.data[16:24])  # the usual case, without Pillow
        elif self.format in VIDEO_FORMATS:
            width, height = self._video().size
        else:
            width, height = self._opened().size
        self.limits.check_size(width, height)
        return width, height

    @property
    def image(self) -> Image.Image:
        """The decoded image: RGB, upright. Raises `BadReply` when the bytes are not a whole image."""
        if len(SHELF) and (decoded := SHELF.take(self.digest)) is not None:
            return decoded
        return self._decoded()

    def _decoded(self) -> Image.Image:
        self.limits.check_bytes(len(self.data))
        if self.format in VIDEO_FORMATS:
            return self._video().first_frame()
        _ = self.size
        image = self._opened()
        try:
            image.load()
            return _normal(image)
        except Exception as error:
            raise self._unreadable(error) from error

    def _video(self) -> VideoFile:
        from failscape.clips.video import VideoFile  # here: it needs the extra `video`

        return VideoFile(self.data, self.limits)

    def _opened(self) -> Image.Image:
        """The image with its header read, not decoded yet."""
        try:
            return open_image(self.data)
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

        Nothing is decoded: see `prove`.
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

    def prove(self) -> None:
        """Raise `BadReply` unless all its pixels are there and it is large enough to show something.

        It is decoded here, once, and the pixels are kept for whoever looks next. Call it off the event loop.
        """
        self.check()
        self.limits.check_least(*self.size)
        if self.format in VIDEO_FORMATS:
            self._video().prove()
            return
        image = self._decoded()
        stops_inside = _STOPS_INSIDE.get(self.format)
        if stops_inside is not None and stops_inside(self.data, image):
            raise BadReply(f"the reply holds a {self.format} image whose pixels break off before its end")
        SHELF.put(self.digest, image)

    def _ends_well(self) -> bool:
        data = self.data
        if self.format == "JPEG":
            return b"\xff\xd9" in data[-1024:]
        if self.format == "WEBP":
            return data[8:12] == b"WEBP" and len(data) >= int.from_bytes(data[4:8], "little") + 8
        return True

    def for_upload(self, longest_side: int | None = None, format: str | None = None) -> Picture:
        """Itself where it is plain, small enough and of that format; else what all see of it, made so.

        Without a format, what is shrunk becomes a JPEG.
        """
        small = not longest_side or max(self.size) <= longest_side
        if small and (not format or self.format == format.upper()) and self._is_plain():
            return self
        image = self.image
        if longest_side and not small:
            image.thumbnail((longest_side, longest_side), SHRINKING)
        own_format = "jpeg" if self.format == "JPEG" or not small else "png"
        chosen = format or own_format
        return Picture.from_image(image, chosen.upper(), **UPLOAD_OPTIONS[chosen])

    def shrunk(self, longest_side: int) -> Picture:
        """Itself when it is small enough and plain, else a JPEG of that size and the same shape."""
        return self.for_upload(longest_side)

    def plain(self) -> Picture:
        """Itself when every server shows it alike; else (EXIF, 16 bit, transparent …) as all see it."""
        return self.for_upload()

    def _is_plain(self) -> bool:
        if self.format == "PNG" and len(self.data) > 26:
            head = self.data[: max(self.data.find(b"IDAT", 0, 2**16), 33)]
            depth, colour_type = head[24], head[25]
            odd_chunks = (b"eXIf", b"acTL", b"tRNS")
            return (
                depth <= 8 and colour_type not in _ALPHA_PNG and not any(name in head for name in odd_chunks)
            )
        if self.format not in ("JPEG", "WEBP"):
            return False
        image = self._opened()
        turned = any(name in image.info for name in _TELL_ROTATION) and image.getexif().get(0x0112, 1) != 1
        opaque = image.mode in _UPLOADED_AS_IS and not image.has_transparency_data
        return opaque and not turned and getattr(image, "n_frames", 1) == 1

    def _repr_png_(self) -> bytes | None:
        """What a notebook shows of it, small enough to be kept in one; nothing of bytes that are no image."""
        try:
            image = self.image
        except BadReply:
            return None
        side = min(max(image.size), NOTEBOOK_SIDE)
        while True:
            image.thumbnail((side, side), SHRINKING)
            shown = Picture.from_image(image, compress_level=9).data
            if len(shown) <= NOTEBOOK_BYTES:
                return shown
            side //= 2

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


def _jpeg_stops_inside(data: bytes, image: Image.Image) -> bool:
    """Whether the pixels of a JPEG end before the picture does. libjpeg fills it up and says nothing.

    What it fills up is flat, so a last block that is not flat is proof enough, unless the picture is built up
    in several passes. Else other pixel data is put before the end marker: a whole picture does not change by
    that, in one that broke off it is decoded.
    """
    in_passes = "progressive" in open_image(data).info
    corner = image.crop((max(0, image.width - 8), max(0, image.height - 8), *image.size))
    if not in_passes and not _is_flat(corner):
        return False
    end = data.rfind(b"\xff\xd9")
    filled = data[:end] + _OTHER_PIXELS + data[end:]
    scale = 1 if in_passes else 8
    return _jpeg_pixels(data, scale) != _jpeg_pixels(filled, scale)


#: No run of these bytes is a marker, and none is all zeros.
_OTHER_PIXELS = bytes(range(1, 255)) * 4


def _jpeg_pixels(data: bytes, scale: int) -> bytes | None:
    """The pixels of a JPEG; an eighth of its size is quick. Nothing when they cannot be read."""
    try:
        image = open_image(data)
        if scale > 1:
            image.draft(None, (max(1, image.width // scale), max(1, image.height // scale)))
        return image.tobytes()
    except Exception:
        return None


def _png_stops_inside(data: bytes, image: Image.Image) -> bool:
    """Whether rows of a PNG are missing. Pillow leaves them empty, and so the last one is flat."""
    width, height, depth, colour_type, interlaced = struct.unpack(">IIBB2xB", data[16:29])
    last_row = image.crop((0, image.height - 1, image.width, image.height))
    if interlaced or not _is_flat(last_row):
        return False
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour_type, 1)
    row_bytes = (width * channels * depth + 7) // 8 + 1
    return _inflated_length(data) < int(height) * int(row_bytes)


def _inflated_length(data: bytes) -> int:
    """How many bytes the pixel data of a PNG unpacks to."""
    unpack, length = zlib.decompressobj(), 0
    for start, end in _png_chunks(data, b"IDAT"):
        packed = data[start:end]
        while packed and not unpack.eof:
            length += len(unpack.decompress(packed, 2**20))
            packed = unpack.unconsumed_tail
    return length


def _png_chunks(data: bytes, wanted: bytes) -> Iterator[tuple[int, int]]:
    position = 8
    while position + 12 <= len(data):
        start = position + 8
        end = start + int.from_bytes(data[position : position + 4], "big")
        if data[position + 4 : start] == wanted:
            yield start, end
        position = end + 4


def _is_flat(image: Image.Image) -> bool:
    """Whether all pixels are alike; a decoder's rounding is no difference."""
    return int(np.ptp(np.asarray(image), axis=(0, 1)).max()) <= 2


_STOPS_INSIDE = {"JPEG": _jpeg_stops_inside, "PNG": _png_stops_inside}


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
