"""The pictures of an atlas, by digest: bytes as the source sent them, in packs: files that only grow.

Each picture in a pack (`images/<name>.pack`) is a record: a mark, its digest, its length, its bytes. The
database says where each one lies; the records say it too, so that a pack can be read without the database,
and a cut-off tail is told from a whole record. One `fdatasync` makes a whole group durable: that is why
pictures are not files of their own, as in earlier versions (`images/ab/<digest>.png`); such files are still
read. What is read is compared with its digest, so that nobody is shown a damaged picture for a good one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from failscape.atlas.files import (
    explain_os,
    open_for_writing,
    open_regular,
    read_regular,
    refuse_link,
    refuse_longer,
    sync_folder,
    write_whole,
)
from failscape.clips import as_clip
from failscape.errors import AtlasError, BadReply
from failscape.pictures import SUFFIXES, Picture, open_image

#: A pack of this length is left, and a new one begun: so much at most is written anew to drop a picture.
PACK_BYTES = 256 << 20

#: A longer picture is neither written nor read: a pack with a hole in it could name one of any length.
LONGEST_PICTURE = PACK_BYTES

#: A larger picture is written from where it is: joined, ten of 1.5 MB took 2.2 ms of processor time each.
COPIED_BYTES = 1 << 16

SUFFIX = ".pack"
_NAME = re.compile(r"[0-9a-f]{16}")
_MARK = b"FSP1"
_HEAD = struct.Struct(">4s16sQ")


class PackPlace(NamedTuple):
    """Where the bytes of a picture are."""

    pack: str
    start: int
    length: int


class Record(NamedTuple):
    """A whole picture in a pack, and where it ends."""

    digest: str
    place: PackPlace

    @property
    def end(self) -> int:
        return self.place.start + self.place.length


def pack_path(folder: Path, name: str) -> Path:
    """The file of a pack. Names come from databases of others too: only our own form becomes a path."""
    if not _NAME.fullmatch(name):
        raise AtlasError(
            f"{name!r} is not the name of a pack", "the atlas was not made by failscape as it is"
        )
    return folder / f"{name}{SUFFIX}"


def read_place(folder: Path, place: PackPlace) -> bytes:
    """The bytes at a place; fewer when the file is cut off there."""
    path = pack_path(folder, place.pack)
    if place.start < 0 or place.length < 0:
        raise AtlasError(f"{path} has no place {place.start}+{place.length}", "failscape doctor ATLAS")
    refuse_longer(path, place.length, LONGEST_PICTURE)
    refuse_link(folder)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(place.start)
        return file.read(min(place.length, max(0, size - place.start)))


def records(folder: Path, name: str, start: int = 0) -> Iterator[Record]:
    """The whole records of a pack from `start` on, up to the first that is cut off or damaged."""
    with open_regular(pack_path(folder, name)) as file:
        size = os.fstat(file.fileno()).st_size
        while start + _HEAD.size <= size:
            file.seek(start)
            mark, digest, length = _HEAD.unpack(file.read(_HEAD.size))
            begin = start + _HEAD.size
            if mark != _MARK or begin + length > size or length > LONGEST_PICTURE:
                return
            if hashlib.blake2b(file.read(length), digest_size=16).digest() != digest:
                return
            yield Record(digest.hex(), PackPlace(name, begin, length))
            start = begin + length


class PackWriter:
    """Appends to one pack. For the one writer of an atlas."""

    def __init__(self, folder: Path, name: str, end: int) -> None:
        self.name = name
        self.end = end
        self._folder = folder
        refuse_link(folder)
        # A merge may have given the pack a second name: only the part up to the merge is read there.
        self._handle = open_for_writing(pack_path(folder, name))

    @classmethod
    def begin(cls, folder: Path) -> PackWriter:
        writer = cls(folder, uuid.uuid4().hex[:16], 0)
        sync_folder(folder)
        return writer

    def append(self, pictures: Sequence[Picture]) -> list[PackPlace]:
        """Write pictures and wait until the disk has them. All are there, or none."""
        places, parts, end = [], [], self.end
        for picture in pictures:
            refuse_longer(pack_path(self._folder, self.name), len(picture.data), LONGEST_PICTURE)
            parts += [_HEAD.pack(_MARK, bytes.fromhex(picture.digest), len(picture.data)), picture.data]
            places.append(PackPlace(self.name, end + _HEAD.size, len(picture.data)))
            end = places[-1].start + len(picture.data)
        try:
            self._write(parts)
            _sync(self._handle)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self.end)
            raise
        self.end = end
        return places

    def drop_tail(self) -> int:
        """Cut off what lies behind the end: half a record that a power cut left. Gives its bytes."""
        extra = os.fstat(self._handle).st_size - self.end
        if extra > 0:
            os.ftruncate(self._handle, self.end)
            _sync(self._handle)
        return max(0, extra)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _write(self, parts: Sequence[bytes]) -> None:
        os.lseek(self._handle, self.end, os.SEEK_SET)
        for part in _few(parts):
            view = memoryview(part)
            while view:
                view = view[os.write(self._handle, view) :]


def _few(parts: Sequence[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer parts: small ones joined, large ones as they are."""
    small: list[bytes] = []
    for part in parts:
        if len(part) < COPIED_BYTES:
            small.append(part)
            continue
        yield b"".join(small)
        yield part
        small = []
    yield b"".join(small)


def _sync(handle: int) -> None:
    getattr(os, "fdatasync", os.fsync)(handle)


_DIGEST = re.compile(r"[0-9a-f]{32}")
_SUFFIXES = (*SUFFIXES.values(), ".bin")
FOLDER = "images"


class UnreadablePicture(AtlasError):
    """A picture that cannot be opened, so that nobody knows whether it is whole."""


class MissingPicture(AtlasError):
    """A picture whose file is not there."""


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
            if not self.folder.is_dir():
                raise UnreadablePicture(
                    f"{self.folder} is not there, so that no picture of the atlas can be read",
                    "mount or restore that folder; nothing is wrong with the trials",
                ) from None
            data = b""
        except OSError as error:
            told = explain_os(self.folder, error)
            raise UnreadablePicture(told.message, told.fix) from error
        picture = Picture(data)
        if picture.digest != digest:
            self._damaged.add(digest)
            if not data:
                raise MissingPicture(
                    f"image {digest} in {self.folder} is gone", "restore its file from a copy"
                )
            raise AtlasError(f"image {digest} in {self.folder} is damaged", "failscape doctor ATLAS --mend")
        return picture

    def thumbnail(self, digest: str, side: int) -> bytes:
        """A small WebP version, at most `side` wide and high; of a clip, four of its frames in order."""
        try:
            picture = self.get(digest)
            clip = as_clip(picture)
            image = clip.strip() if clip else picture.image
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
        return read_regular(path, LONGEST_PICTURE)

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
        with open_image(picture.data) as image:
            return image.size
    except Exception:  # pillow raises many kinds for bytes that are no image; all mean the same here
        return 0, 0
