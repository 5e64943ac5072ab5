"""Pictures one after the other in files that only grow: `images/<name>.pack`.

Each picture is a record: a mark, its digest, its length, its bytes. The database says where each one lies;
the records say it too, so that a pack can be read without the database, and a cut-off tail is told from a
whole record. One `fdatasync` makes a whole group durable: that is why pictures are not files of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from failscape.atlas.files import open_regular, refuse_link, sync_folder
from failscape.errors import AtlasError
from failscape.pictures import Picture

#: A pack of this length is left, and a new one begun: so much at most is written anew to drop a picture.
PACK_BYTES = 256 << 20

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
            if mark != _MARK or begin + length > size:
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
        refuse_link(folder)
        path = pack_path(folder, name)
        refuse_link(path)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._handle = os.open(path, flags, 0o644)

    @classmethod
    def begin(cls, folder: Path) -> PackWriter:
        writer = cls(folder, uuid.uuid4().hex[:16], 0)
        sync_folder(folder)
        return writer

    def append(self, pictures: Sequence[Picture]) -> list[PackPlace]:
        """Write pictures and wait until the disk has them. All are there, or none."""
        places, parts, end = [], [], self.end
        for picture in pictures:
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
