"""Pictures without their pixels are no pictures: each of these was judged once as if it showed something."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from failscape.errors import BadReply
from failscape.models.transport.encoding import picture_from_bytes
from failscape.picture_limits import PictureLimits
from failscape.pictures import SHELF, DecodedShelf, Picture


def scene(side: int = 96, flat_corner: bool = False) -> Image.Image:
    """Noise that no encoder leaves out; with a flat ground below it where that is asked for."""
    noise = np.random.default_rng(1).integers(0, 255, (side, side, 3), dtype=np.uint8)
    if flat_corner:
        noise[side // 2 :] = 200
    return Image.fromarray(noise)


def encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, packed: bytes | None) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = b"" if packed is None else chunk(b"IDAT", packed)
    return b"\x89PNG\r\n\x1a\n" + head + pixels + chunk(b"IEND", b"")


ROW = b"\0" + bytes(range(192))
NO_PICTURES = {
    "a header without pixels": png(64, 64, None),
    "no pixel data": png(64, 64, b""),
    "one row of 64": png(64, 64, zlib.compress(ROW)),
    "half the rows": png(64, 64, zlib.compress(ROW * 32)),
    "packed pixels that break off": png(64, 64, zlib.compress(ROW * 64)[:-12]),
    "pixels that are not packed": png(64, 64, ROW * 64),
    "1 × 1": png(1, 1, zlib.compress(b"\0\1\2\3")),
    "2 × 2000": png(2, 2000, zlib.compress((b"\0" + b"\7" * 6) * 2000)),
    "half a GIF": encoded(scene(), "GIF")[:3000],
    "half a BMP": encoded(scene(), "BMP")[:9000],
    "half a WebP": encoded(scene(), "WEBP")[:2000],
}


@pytest.mark.parametrize("data", NO_PICTURES.values(), ids=NO_PICTURES)
def test_what_has_no_pixels_is_a_bad_reply(data: bytes) -> None:
    with pytest.raises(BadReply):
        picture_from_bytes(data)


KINDS_OF_JPEG: dict[str, dict[str, Any]] = {
    "baseline": {},
    "in passes": {"progressive": True},
    "with restarts": {"restart_marker_blocks": 2},
    "4:4:4": {"subsampling": 0},
}


@pytest.mark.parametrize("options", KINDS_OF_JPEG.values(), ids=KINDS_OF_JPEG)
@pytest.mark.parametrize("flat_corner", [False, True])
def test_a_jpeg_is_taken_whole_and_refused_when_it_breaks_off(
    options: dict[str, Any], flat_corner: bool
) -> None:
    """The end marker is put back: libjpeg fills the rest up and says nothing."""
    whole = encoded(scene(flat_corner=flat_corner), "JPEG", quality=90, **options)
    assert picture_from_bytes(whole).data == whole
    for share in (0.3, 0.5, 0.7):
        with pytest.raises(BadReply):
            picture_from_bytes(whole[: int(len(whole) * share)] + b"\xff\xd9")


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_grey_and_printing_jpegs_are_taken(mode: str) -> None:
    picture_from_bytes(encoded(scene(flat_corner=True).convert(mode), "JPEG"))


def test_pngs_with_a_flat_end_are_taken() -> None:
    flat = scene(flat_corner=True)
    for image in (flat, flat.convert("P"), flat.convert("L"), flat.convert("1"), flat.convert("RGBA")):
        picture_from_bytes(encoded(image, "PNG"))


def test_the_least_side_is_a_setting() -> None:
    small = encoded(scene(4), "PNG")
    with pytest.raises(BadReply, match=r"4 × 4 pixels shows nothing: the least side is 8"):
        picture_from_bytes(small)
    assert picture_from_bytes(small, PictureLimits(least_side=1)).size == (4, 4)


def see_through(mode: str = "RGBA") -> Image.Image:
    """Black and wholly transparent on the left, red on the right."""
    image = Image.new("RGBA", (32, 32), (0, 0, 0, 0))
    image.paste((200, 20, 20, 255), (16, 0, 32, 32))
    return image.convert(mode)


@pytest.mark.parametrize(
    "data",
    [
        encoded(see_through(), "PNG"),
        encoded(see_through("LA"), "PNG"),
        encoded(see_through(), "WEBP", lossless=True),
        encoded(see_through("P"), "PNG", transparency=0),
    ],
    ids=["RGBA", "LA", "WebP", "palette"],
)
@pytest.mark.parametrize("format", [None, "png", "jpeg", "webp"])
@pytest.mark.parametrize("side", [None, 16, 64])
def test_transparent_pictures_are_uploaded_on_white(
    data: bytes, format: str | None, side: int | None
) -> None:
    sent = Picture(data).for_upload(side, format)
    opened = Image.open(io.BytesIO(sent.data))
    assert not opened.has_transparency_data
    if data != encoded(see_through("P"), "PNG", transparency=0):
        assert np.asarray(opened.convert("RGB"))[4, 2].min() > 240


def test_what_is_shrunk_is_a_fine_jpeg_unless_a_format_is_set() -> None:
    picture = Picture(encoded(scene(), "PNG"))
    sent = picture.for_upload(48)
    assert (sent.format, sent.size) == ("JPEG", (48, 48))
    (layers,) = {layer[1:3] for layer in Image.open(io.BytesIO(sent.data)).layer}  # type: ignore[attr-defined]
    assert layers == (1, 1), "no colour is thinned out"
    assert picture.for_upload(48, "png").format == "PNG"
    assert picture.for_upload(48, "webp").format == "WEBP"
    assert picture.for_upload(96) is picture


def test_a_picture_is_decoded_once_for_the_check_and_for_who_looks_next(monkeypatch: Any) -> None:
    decoded: list[str] = []
    plain = Picture._decoded
    monkeypatch.setattr(Picture, "_decoded", lambda self: decoded.append(self.digest) or plain(self))
    picture = picture_from_bytes(encoded(scene(), "PNG"))
    assert picture.for_upload(48).size == (48, 48)
    assert len(decoded) == 1
    assert np.array_equal(picture.array, np.asarray(scene())), "shrinking has not touched what others see"
    assert len(decoded) == 2


def test_the_shelf_holds_few_pictures_and_gives_each_once() -> None:
    shelf = DecodedShelf(most=3 * 3 * 64 * 64)
    images = {str(number): Image.new("RGB", (64, 64), (number, 0, 0)) for number in range(5)}
    for name, image in images.items():
        shelf.put(name, image)
        shelf.put(name, image)
    assert len(shelf) == 3
    assert shelf.take("0") is None
    taken: list[Image.Image | None] = []
    threads = [threading.Thread(target=lambda: taken.append(shelf.take("4"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [image for image in taken if image is not None] == [images["4"]]


@pytest.fixture(autouse=True)
def _empty_shelf() -> None:
    while len(SHELF):
        SHELF._images.popitem()
    SHELF._bytes = 0
