"""Puts the pictures of a report where its page finds them: small files beside it, or inside it.

A picture without a readable file is counted and shown as an empty frame; it never stops the report.
"""

import base64
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from failscape.atlas import ImageStore
from failscape.atlas.files import refuse_link, write_whole
from failscape.errors import AtlasError

SIDE = 224
FOLDER = "thumbs"
SUFFIX = ".thumb.webp"
FULL = "pictures"
_OURS = {
    FOLDER: re.compile(rf"([0-9a-f]{{32}}){re.escape(SUFFIX)}"),
    FULL: re.compile(r"([0-9a-f]{32})\.[a-z]+"),
}
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
        for folder in () if page is None else (page, page / FOLDER, page / FULL):
            refuse_link(folder)
        self._placed: dict[str, Placed | None] = {}
        # A report inside the atlas folder has room for the originals; one elsewhere is kept small to be sent.
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
        """Remove pictures that an earlier report left and this page does not show."""
        if self._page is not None:
            for folder, pattern in _OURS.items():
                for path in (self._page / folder).glob("*"):
                    ours = pattern.fullmatch(path.name)  # the folder may hold files of others
                    if ours and ours[1] not in self._placed:
                        path.unlink(missing_ok=True)

    def find(self, digest: str) -> Placed | None:
        return self._placed.get(digest)

    def _place(self, digest: str) -> Placed | None:
        try:
            if self._page is None:
                data = self._store.thumbnail(digest, SIDE)
                return Placed("data:image/webp;base64," + base64.b64encode(data).decode())
            full = self._store.copy_out(digest, self._page / FULL).name if self._linked else ""
            path = self._page / FOLDER / f"{digest}{SUFFIX}"
            if path.is_symlink() or not path.exists():
                write_whole(path, self._store.thumbnail(digest, SIDE))
        except AtlasError:
            return None
        return Placed(f"{FOLDER}/{path.name}", f"{FULL}/{full}" if full else "")
