"""The pictures of an atlas, by digest: bytes as the source sent them, in packs.

Atlases of earlier versions keep each picture as a file, `images/ab/<digest>.png`; such files are still read.
What is read is compared with its digest, so that nobody is shown a damaged picture for a good one.
"""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from failscape.atlas.files import explain_os, open_regular, refuse_link, write_whole
from failscape.atlas.packs import PACK_BYTES, PackPlace, PackWriter, read_place, records
from failscape.errors import AtlasError, BadReply
from failscape.pictures import SUFFIXES, Picture

_DIGEST = re.compile(r"[0-9a-f]{32}")
_SUFFIXES = (*SUFFIXES.values(), ".bin")
FOLDER = "images"


class ImageRow(NamedTuple):
    """What the database says of a kept picture. `place` is `None` for a file of its own."""

    length: int
    width: int
    height: int
    format: str
    place: PackPlace | None


FindRow = Callable[[str], ImageRow | None]


class ImageStore:
    """The pictures of one atlas; `find_row` asks its database. Safe to use from several threads."""

    def __init__(self, folder: Path, find_row: FindRow) -> None:
        self.folder = folder / FOLDER
        self._find_row = find_row
        self._writer: PackWriter | None = None
        self._damaged: set[str] = set()

    # Reading

    def name(self, digest: str) -> str | None:
        """The name for a file of this picture; `None` when it was not kept."""
        row = self._row(digest)
        return None if row is None else digest + SUFFIXES.get(row.format, ".bin")

    def get(self, digest: str) -> Picture:
        """The picture, compared with its digest. Raises `AtlasError` when it is gone or damaged."""
        row = self._row(digest)
        if row is None:
            raise AtlasError(
                f"image {shown(digest)} is not in {self.folder}",
                "it was not kept (`runtime.keep_images`), or was dropped by `failscape prune`",
            )
        try:
            data = read_place(self.folder, row.place) if row.place else self._read_file(digest)
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise explain_os(self.folder, error) from error
        picture = Picture(data)
        if picture.digest != digest:
            self._damaged.add(digest)
            what = "is damaged" if data else "is gone"
            raise AtlasError(f"image {digest} in {self.folder} {what}", "failscape doctor ATLAS --mend")
        return picture

    def thumbnail(self, digest: str, side: int = 160) -> bytes:
        """A small WebP version, at most `side` wide and high."""
        try:
            image = self.get(digest).image
        except BadReply as error:
            raise AtlasError(f"image {digest} in {self.folder} is not a readable image") from error
        image = image.convert("RGBA" if "A" in image.getbands() or "transparency" in image.info else "RGB")
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=82, method=2)
        return buffer.getvalue()

    def copy_out(self, digest: str, folder: Path) -> Path:
        """Write the picture as a file into `folder`, unless it is there; gives its path.

        A file that cannot be written is an `OSError`, a picture that is gone an `AtlasError`.
        """
        path = folder / (self.name(digest) or digest)
        picture = self.get(digest)
        if path.is_symlink() or not path.exists():
            write_whole(path, picture.data)
        return path

    def _row(self, digest: str) -> ImageRow | None:
        return self._find_row(digest) if is_digest(digest) else None

    def _read_file(self, digest: str) -> bytes:
        path = self.file_of(digest)
        if path is None:
            return b""
        with open_regular(path) as file:
            return file.read()

    def file_of(self, digest: str) -> Path | None:
        """The file of its own that an earlier version made for a picture."""
        near = self.folder / digest[:2]
        refuse_link(self.folder)
        refuse_link(near)
        return next((path for end in _SUFFIXES if os.path.lexists(path := near / (digest + end))), None)

    # Writing

    def prepare(self, grows: tuple[str, int] | None) -> list[tuple[str, ImageRow]]:
        """Open the pack that `grows`, up to the end that the database knows. For the one writer only.

        Behind that end may lie pictures whose rows a kill prevented: the whole ones are given, to be written
        down; half of one is dropped.
        """
        refuse_link(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        found: list[tuple[str, ImageRow]] = []
        if grows is not None:
            name, end = grows
            self._writer = PackWriter(self.folder, name, end)
            for record in records(self.folder, name, end):
                data = read_place(self.folder, record.place)
                found.append((record.digest, row_of(Picture(data, record.digest), record.place)))
                self._writer.end = record.end
            self._writer.drop_tail()
        return found

    def append(self, pictures: Iterable[Picture]) -> list[tuple[str, ImageRow]]:
        """Make pictures durable that are not yet there; what the database must know of them."""
        wanted = {picture.digest: picture for picture in pictures if not self._is_there(picture)}
        if not wanted:
            return []
        if self._writer is not None and self._writer.end >= PACK_BYTES:
            self.close()
        try:
            self._writer = self._writer or PackWriter.begin(self.folder)
            places = self._writer.append(list(wanted.values()))
        except OSError as error:
            raise explain_os(self.folder, error) from error
        self._damaged.difference_update(wanted)
        return [
            (digest, row_of(picture, place))
            for (digest, picture), place in zip(wanted.items(), places, strict=True)
        ]

    @property
    def end(self) -> tuple[str, int] | None:
        """The pack that grows, and where it ends."""
        return (self._writer.name, self._writer.end) if self._writer else None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _is_there(self, picture: Picture) -> bool:
        if picture.digest in self._damaged:
            return False
        row = self._find_row(picture.digest)
        if row is None or row.place is not None:
            return row is not None
        path = self.file_of(picture.digest)  # an earlier version may have left a file that is cut short
        return path is not None and path.lstat().st_size == row.length


def is_digest(text: object) -> bool:
    """Whether `text` has the form of a picture's digest, and so may become part of a path."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def shown(digest: object) -> str:
    return digest if isinstance(digest, str) and is_digest(digest) else f"{digest!r} (no digest)"


def row_of(picture: Picture, place: PackPlace | None) -> ImageRow:
    return ImageRow(len(picture.data), *size_of(picture), picture.format, place)


def size_of(picture: Picture) -> tuple[int, int]:
    """Width and height from the header alone; (0, 0) when the bytes are no image."""
    if picture.format == "PNG" and len(picture.data) >= 24:
        width, height = struct.unpack(">II", picture.data[16:24])
        return width, height
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            return image.size
    except Exception:  # pillow raises many kinds for bytes that are no image; all mean the same here
        return 0, 0
