"""Odd pictures: whatever a model or a camera sends, all who look see the same, or get one clear error."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from failscape.atlas.images import size_of
from failscape.errors import BadReply
from failscape.models.transport.encoding import data_uri, picture_from_bytes
from failscape.picture_limits import PictureLimits
from failscape.pictures import Picture

RED, GREEN = (200, 20, 20), (20, 200, 20)


def encoded(image: Image.Image, format: str, **options: Any) -> Picture:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return Picture(buffer.getvalue())


def two_halves(mode: str = "RGB") -> Image.Image:
    """Left red, right green, twice as wide as high."""
    image = Image.new("RGB", (32, 16), RED)
    image.paste(GREEN, (16, 0, 32, 16))
    return image.convert(mode)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bare_png(width: int, height: int, depth: int = 8, kind: int = 2, pixels: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def grey16() -> Picture:
    rows = [b"\0" + struct.pack(">32H", *range(0, 65536, 2114 - 2)[:32]) for _ in range(8)]
    return Picture(bare_png(32, 8, 16, 0, b"".join(rows)))


@pytest.mark.parametrize(
    ("picture", "tolerance"),
    [
        (encoded(two_halves("CMYK"), "JPEG", quality=95), 30),
        (encoded(two_halves("P"), "PNG"), 60),
        (encoded(two_halves("RGBA"), "PNG"), 0),
        (encoded(two_halves("YCbCr"), "TIFF"), 6),
        (encoded(two_halves(), "BMP"), 0),
        (encoded(two_halves(), "GIF", save_all=True, append_images=[Image.new("RGB", (32, 16))]), 60),
        (encoded(two_halves(), "WEBP", lossless=True), 0),
    ],
    ids=["cmyk", "palette", "alpha", "ycbcr", "bmp", "animation", "webp"],
)
def test_every_kind_is_seen_alike(picture: Picture, tolerance: int) -> None:
    for shown in (picture, picture.plain(), picture.shrunk(64), picture.shrunk(16)):
        pixels = shown.array.astype(int)
        assert shown.image.mode == "RGB"
        assert pixels.shape[1] == 2 * pixels.shape[0]
        assert np.abs(pixels[2, 2] - RED).max() <= tolerance + 4
        assert np.abs(pixels[2, -3] - GREEN).max() <= tolerance + 4


@pytest.mark.parametrize("orientation", range(1, 9))
def test_phone_photos_are_upright_for_everybody(orientation: int) -> None:
    upright = two_halves()
    exif = Image.Exif()
    exif[0x0112] = orientation
    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(turns[orientation]) if orientation > 1 else upright
    photo = encoded(stored, "JPEG", quality=95, exif=exif)
    for shown in (photo, photo.plain(), photo.shrunk(16), photo.shrunk(64)):
        pixels = shown.array
        assert pixels.shape[1] == 2 * pixels.shape[0]
        assert pixels[1, 1, 0] > 150 > pixels[1, -2, 0]
    assert (photo.plain() is photo) == (orientation == 1)
    assert "data:image/jpeg" in data_uri(photo)


def test_sixteen_bit_grey_is_brought_to_eight_by_its_range() -> None:
    picture = grey16()
    seen = picture.array[0, :, 0].astype(int)
    assert np.abs(seen - np.arange(0, 65536, 2112)[:32] / 257).max() <= 1
    assert picture.shrunk(16).image.size == (16, 4), "this stopped a hunt for good"
    assert picture.plain().array[0, -1, 0] == seen[-1]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 255.0), (-3.0, 7.0)])
def test_floats_are_brought_to_eight_bit(low: float, high: float) -> None:
    ramp = np.linspace(low, high, 32, dtype=np.float32)[None].repeat(4, axis=0)
    picture = encoded(Image.fromarray(ramp), "TIFF")
    assert picture.array[0, 0, 0] == 0
    assert picture.array[0, -1, 0] == 255
    ramp[0, 5] = np.nan
    assert encoded(Image.fromarray(ramp), "TIFF").image.mode == "RGB"


def test_what_is_transparent_is_white() -> None:
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert (encoded(clear, "PNG").array == 255).all()


def test_plain_pictures_stay_byte_for_byte() -> None:
    for picture in (
        encoded(two_halves(), "PNG"),
        encoded(two_halves(), "JPEG"),
        encoded(two_halves(), "WEBP"),
    ):
        assert picture.plain() is picture
        assert picture.shrunk(32) is picture


@pytest.mark.parametrize("format", ["jpeg", "webp", "png"])
def test_uploads_in_the_format_that_is_asked_for(format: str) -> None:
    for source in ("PNG", "JPEG", "WEBP"):
        picture = encoded(two_halves(), source)
        shown = picture.for_upload(16, format)
        assert (shown.format, shown.image.size) == (format.upper(), (16, 8))
        whole = picture.for_upload(None, format)
        assert (whole.format, whole.image.size) == (format.upper(), (32, 16))
        assert (whole is picture) == (source == format.upper())


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def test_a_damaged_png_is_a_bad_reply_though_it_ends_well() -> None:
    whole = encoded(Image.effect_noise((64, 64), 80).convert("RGB"), "PNG").data
    assert picture_from_bytes(whole).data == whole
    for at in (20, 60, len(whole) // 2, len(whole) - 20):
        with pytest.raises(BadReply, match=r"damaged|breaks off"):
            picture_from_bytes(damaged(whole, at))
    with pytest.raises(BadReply, match="breaks off"):
        picture_from_bytes(whole[:-30])


GARBAGE = [
    b"", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP", b"GIF89a", b"BM", b"II*\0", b"\xff\xd8\xff", b"<html>",
    bare_png(0, 0), bare_png(4, 4, 3), bare_png(4, 4, 8, 2, b"short"), bare_png(4, 4, 8, 9),
]  # fmt: skip


@pytest.mark.parametrize("data", GARBAGE)
def test_every_failure_is_a_bad_reply(data: bytes) -> None:
    picture = Picture(data)
    for look in (lambda: picture.image, lambda: picture.array, lambda: picture.shrunk(2)):
        with pytest.raises(BadReply):
            look()


def test_no_picture_is_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow has Ghostscript run what an EPS file says. One may stand in the atlas of a stranger."""
    ran: list[Any] = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *words: ran.append(words))
    picture = encoded(two_halves(), "EPS")
    for look in (lambda: picture.image, lambda: picture.size, picture.plain, picture.prove):
        with pytest.raises(BadReply):
            look()
    assert size_of(picture) == (0, 0)
    assert not ran


@pytest.mark.parametrize("format", ["PPM", "TGA", "ICO", "PCX", "SGI"])
def test_only_known_formats_are_decoded(format: str) -> None:
    with pytest.raises(BadReply, match="not a readable image"):
        _ = encoded(two_halves(), format).image


def test_limits_are_checked_before_decoding() -> None:
    huge = bare_png(13_000, 13_000, pixels=b"\0" * 1000)
    tracemalloc.start()
    for look in (
        lambda: Picture(huge).image,
        lambda: picture_from_bytes(huge),
        lambda: Picture(huge).shrunk(64),
    ):
        with pytest.raises(BadReply, match="13,000 × 13,000 pixels is too large") as caught:
            look()
        assert "image_max_pixels" in caught.value.fix
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    with pytest.raises(BadReply, match="bytes is too large"):
        picture_from_bytes(encoded(two_halves(), "BMP").data, PictureLimits(bytes=1000))
    with pytest.raises(BadReply, match="32 × 16 pixels"):
        picture_from_bytes(encoded(two_halves(), "PNG").data, PictureLimits(pixels=500))
