"""Pictures on their way to and from models: base64, data URIs, and a cheap look at whether bytes are one."""

from __future__ import annotations

import binascii
from base64 import b64encode
from urllib.parse import unquote_to_bytes

from failscape.errors import BadReply
from failscape.pictures import Picture


def picture_from_bytes(data: bytes) -> Picture:
    """A picture, when the bytes start and end like one. Not decoded: that costs more than a request."""
    picture = Picture(data)
    if data.startswith(b"\x89PNG\r\n\x1a\n") and b"IEND" in data[-64:]:
        return picture  # the usual case, spared the look at all formats
    if not picture.format:
        raise BadReply(f"the reply holds {len(data)} bytes that are no image: they start with {data[:16]!r}")
    if not _is_whole(picture):
        raise BadReply(f"the reply holds a {picture.format} image that breaks off after {len(data)} bytes")
    return picture


def _is_whole(picture: Picture) -> bool:
    data = picture.data
    if picture.format == "PNG":
        return b"IEND" in data[-64:]
    if picture.format == "JPEG":
        return b"\xff\xd9" in data[-1024:]
    if picture.format == "WEBP":
        return data[8:12] == b"WEBP" and len(data) >= int.from_bytes(data[4:8], "little") + 8
    return True


def picture_from_base64(text: str) -> Picture:
    """Also takes a data URI, which some servers send in place of bare base64."""
    if text.startswith("data:"):
        return picture_from_bytes(bytes_of_data_uri(text))
    return picture_from_bytes(_decode(text))


def bytes_of_data_uri(uri: str) -> bytes:
    header, _, payload = uri.partition(",")
    return _decode(payload) if header.endswith(";base64") else unquote_to_bytes(payload)


def _decode(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadReply("the reply holds an image that is not base64") from error


def base64_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def data_uri(picture: Picture, max_side: int | None = None) -> str:
    """The picture for an `image_url`, shrunk when it is larger than `max_side`."""
    shown = picture.shrunk(max_side) if max_side else picture
    return f"data:{shown.media_type};base64,{base64_of(shown.data)}"
