"""Pictures for the browser: as they are, or small; small ones are kept in a bounded piece of memory.

A picture is named by the digest of its content, so browsers may keep it for ever.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict

from failscape.atlas import Atlas
from failscape.atlas.decisions import has_image
from failscape.errors import AtlasError

SIDES = (96, 192, 384)
SHOWN = frozenset({"PNG", "JPEG", "WEBP", "GIF", "BMP"})
"""What browsers show; anything else is offered as bytes, which they only save."""

MEMORY = 64 * 2**20
"""Bytes of thumbnails that are kept: about 15,000 of them at a side of 192."""

_DIGEST = re.compile(r"[0-9a-f]{32}")


class Thumbnails:
    """Safe for threads. Two that ask for one picture at once may both make it: harmless, and no waiting."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._most = memory
        self._used = 0
        self._kept: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._turn = threading.Lock()

    @property
    def used(self) -> int:
        return self._used

    def get(self, slug: str, atlas: Atlas, digest: str, side: int) -> bytes:
        """WebP bytes. Raises `AtlasError` for a picture that the atlas does not keep or cannot read."""
        key = slug, digest, side
        with self._turn:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        check_known(atlas, digest)
        data = atlas.images.thumbnail(digest, side)
        with self._turn:
            if key not in self._kept:
                self._kept[key] = data
                self._used += len(data)
            while self._used > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._used -= len(dropped)
        return data


def check_known(atlas: Atlas, digest: str) -> None:
    """Only a digest that the atlas itself lists ever becomes the name of a file."""
    if not _DIGEST.fullmatch(digest) or not has_image(atlas, digest):
        raise AtlasError("there is no such picture", "it was not kept (`runtime.keep_images`), or removed")


def whole_picture(atlas: Atlas, digest: str) -> tuple[bytes, str]:
    """The bytes as the source sent them, and their type; what is no picture is not shown as one."""
    check_known(atlas, digest)
    picture = atlas.images.get(digest)
    return picture.data, picture.media_type if picture.format in SHOWN else "application/octet-stream"
