"""Pictures on their way to and from models: base64 and data URIs."""

import binascii
from urllib.parse import unquote_to_bytes

import pybase64

from failscape.errors import BadReply
from failscape.models.transport.workers import LARGE
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.pictures import Picture


def picture_from_bytes(data: bytes, limits: PictureLimits = DEFAULT_LIMITS) -> Picture:
    """A picture, when the bytes are one as far as that can be seen without decoding them."""
    picture = Picture(data, limits=limits)
    picture.check()
    if len(data) >= LARGE:
        _ = picture.digest  # its name is needed soon; here it does not hold the event loop up
    return picture


def picture_from_base64(text: str, limits: PictureLimits = DEFAULT_LIMITS) -> Picture:
    """Also takes a data URI, which some servers send in place of bare base64."""
    if not isinstance(text, str):
        raise BadReply("the reply holds an image that is not base64")
    limits.check_bytes(len(text) * 3 // 4)
    data = bytes_of_data_uri(text) if text.startswith("data:") else _decode(text)
    return picture_from_bytes(data, limits)


def bytes_of_data_uri(uri: str) -> bytes:
    header, _, payload = uri.partition(",")
    return _decode(payload) if header.endswith(";base64") else unquote_to_bytes(payload)


def _decode(text: str) -> bytes:
    try:
        return pybase64.b64decode(text)
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadReply("the reply holds an image that is not base64") from error


def base64_of(data: bytes) -> str:
    return pybase64.b64encode_as_string(data)


def data_uri(picture: Picture, max_side: int | None = None, format: str | None = None) -> str:
    """The picture for an `image_url`, shrunk when it is larger than `max_side`, upright and in 8 bit."""
    shown = picture.for_upload(max_side, format)
    return f"data:{shown.media_type};base64,{base64_of(shown.data)}"
