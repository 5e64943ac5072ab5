"""Puts the pictures of a report where its page finds them: small files beside it, or inside it.

A picture without a readable file is counted and shown as an empty frame; it never stops the report.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from failscape.atlas import ImageStore
from failscape.atlas.images import link_or_copy, write_whole
from failscape.errors import AtlasError

SIDE = 224
FOLDER = "thumbs"
SUFFIX = ".thumb.webp"
_OURS = re.compile(rf"[0-9a-f]{{32}}{re.escape(SUFFIX)}")
WORKERS = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """`source` is what the page shows, `full` the original to open, or "" where there is no way to it."""

    source: str
    full: str = ""


class PicturePlacer:
    """Thumbnails for one page. `page` is the folder of the page, or `None` to put pictures inside it."""

    def __init__(self, store: ImageStore, page: Path | None) -> None:
        self._store = store
        self._page = page
        self._placed: dict[str, Placed | None] = {}
        # Only a report inside the atlas folder moves with it; links from elsewhere would soon be broken.
        self._linked = page is not None and store.folder.parent.resolve() in page.resolve().parents

    @property
    def missing(self) -> int:
        return sum(placed is None for placed in self._placed.values())

    @property
    def shown(self) -> int:
        return len(self._placed) - self.missing

    def prepare(self, digests: Iterable[str]) -> None:
        """Make all thumbnails at once: decoding lets other threads work."""
        new = [digest for digest in dict.fromkeys(digests) if digest not in self._placed]
        with ThreadPoolExecutor(WORKERS) as pool:
            self._placed.update(zip(new, pool.map(self._place, new), strict=True))

    def forget_others(self) -> None:
        """Remove thumbnails that an earlier report left and this page does not show."""
        if self._page is not None:
            for path in (self._page / FOLDER).glob(f"*{SUFFIX}"):
                ours = _OURS.fullmatch(path.name)  # the folder may hold files of others
                if ours and path.name.removesuffix(SUFFIX) not in self._placed:
                    path.unlink(missing_ok=True)

    def find(self, digest: str) -> Placed | None:
        return self._placed.get(digest)

    def _place(self, digest: str) -> Placed | None:
        try:
            if self._page is None:
                data = self._thumbnail(digest)
                data = data.read_bytes() if isinstance(data, Path) else data
                return Placed("data:image/webp;base64," + base64.b64encode(data).decode())
            path = self._page / FOLDER / f"{digest}{SUFFIX}"
            if not path.exists():
                self._put(self._thumbnail(digest), path)
        except AtlasError:
            return None
        full = self._store.find(digest) if self._linked else None
        way = Path(os.path.relpath(full.resolve(), self._page.resolve())).as_posix() if full else ""
        return Placed(f"{FOLDER}/{path.name}", way)

    def _thumbnail(self, digest: str) -> Path | bytes:
        """The file that the atlas keeps for the next report; bytes where nothing can be written there."""
        try:
            return self._store.thumbnail(digest, SIDE)
        except AtlasError:
            return self._store.thumbnail_bytes(digest, SIDE)

    def _put(self, thumbnail: Path | bytes, path: Path) -> None:
        if isinstance(thumbnail, bytes):
            write_whole(path, thumbnail)
        else:
            path.parent.mkdir(exist_ok=True)
            link_or_copy(thumbnail, path)
