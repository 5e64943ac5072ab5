"""Pictures on their way to and from models: base64 and data URIs, and a few threads for what would hold the
event loop up: decoding, shrinking, encoding and hashing.

Only what is large goes there: a change of threads costs more than a small picture. As many pictures are
decoded at one time as there are threads, however many wait, so memory stays bounded.
"""

import asyncio
import binascii
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes
from weakref import WeakKeyDictionary

import pybase64

from failscape.errors import BadReply
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.pictures import Picture

T = TypeVar("T")

#: Pillow, base64 and hashes let go of the interpreter's lock, so that threads do work side by side.
THREADS = max(2, min(8, os.cpu_count() or 1))

#: Bytes from which on work is handed over: about a tenth of a millisecond of JSON, base64 and hash.
LARGE = 1 << 16


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="failscape-pictures")


async def off_loop(large: bool, work: Callable[[], T]) -> T:
    """What `work` gives: done in a thread when it is large, here and now when it is not."""
    if not large:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def read_off_loop(work: Callable[[], T]) -> T:
    """What `work` gives, which decodes a picture: in a thread, when those before have gone on.

    Few wait in the threads' own queue. So a picture that was decoded is made ready for the next model before
    others are decoded, while its pixels are still at hand (`DecodedShelf`).
    """
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(2 * THREADS)
    async with gate:
        return await loop.run_in_executor(_threads(), work)


def picture_from_bytes(data: bytes, limits: PictureLimits = DEFAULT_LIMITS, proven: bool = True) -> Picture:
    """A picture, when the bytes are one with all its pixels. It is decoded: call this off the event loop.

    Not `proven`, nothing is decoded yet: see `PROVE_PICTURES`.
    """
    picture = Picture(data, limits=limits)
    if proven:
        picture.prove()
    else:
        picture.check()
    return picture


class Finishing(NamedTuple):
    """What is still to be done with what was read of a reply: whether it takes long, and the work itself."""

    takes_long: Callable[[Any], bool]
    work: Callable[[Any], None]


#: A file of a few KB may hold millions of pixels. From so many on, decoding takes more than a millisecond.
MANY_PIXELS = 2**16


def _pictures_in(value: Any) -> list[Picture]:
    found = value if isinstance(value, list) else [value]
    return [picture for picture in found if isinstance(picture, Picture)]


def _many_pixels(value: Any) -> bool:
    return sum(math.prod(picture.size) for picture in _pictures_in(value)) > MANY_PIXELS


def _prove_all(value: Any) -> None:
    for picture in _pictures_in(value):
        picture.prove()


#: For replies that hold pictures, read without proving them.
PROVE_PICTURES = Finishing(_many_pixels, _prove_all)


def picture_from_base64(text: str, limits: PictureLimits = DEFAULT_LIMITS, proven: bool = True) -> Picture:
    """Also takes a data URI, which some servers send in place of bare base64."""
    if not isinstance(text, str):
        raise BadReply("the reply holds an image that is not base64")
    limits.check_bytes(len(text) * 3 // 4)
    data = bytes_of_data_uri(text) if text.startswith("data:") else _decode(text)
    return picture_from_bytes(data, limits, proven)


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
