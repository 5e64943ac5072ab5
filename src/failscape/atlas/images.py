"""Pictures as files named by their content: `images/ab/<digest>.png`, bytes as the source sent them.

Thumbnails are made when somebody asks. What is known about pictures otherwise is in the database.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import threading
from pathlib import Path

from PIL import Image

from failscape.atlas.faults import explain_os
from failscape.errors import AtlasError, BadReply
from failscape.pictures import SUFFIXES, Picture

_SUFFIXES = (*SUFFIXES.values(), ".bin")


class ImageStore:
    """The pictures of one atlas. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "images"
        self.thumbs = folder / "thumbs"
        self._temporary = self.folder / "tmp"

    def prepare(self) -> None:
        """Make the folder, and clear away what a killed run was writing. For the one writer only."""
        self._temporary.mkdir(parents=True, exist_ok=True)
        for leftover in self._temporary.iterdir():
            leftover.unlink(missing_ok=True)

    def put(self, picture: Picture) -> Path:
        """Store a picture unless it is there. A file of another length was cut short: it is replaced."""
        path = self._place(picture.digest, picture.suffix)
        try:
            if os.stat(path).st_size == len(picture.data):
                return Path(path)
        except OSError:
            pass
        try:
            write_whole(path, picture.data, self._temporary)
        except OSError as error:
            raise explain_os(Path(path), error) from error
        return Path(path)

    def find(self, digest: str) -> Path | None:
        """The file of a picture, or `None` when it was not kept."""
        stem = os.path.join(self.folder, digest[:2], digest)
        return next((Path(stem + suffix) for suffix in _SUFFIXES if os.path.exists(stem + suffix)), None)

    def path(self, digest: str) -> Path:
        found = self.find(digest)
        if found is None:
            raise AtlasError(
                f"image {digest} is not in {self.folder}",
                "it was not kept (`runtime.keep_images`), or its file was removed",
            )
        return found

    def get(self, digest: str) -> Picture:
        path = self.path(digest)
        try:
            return Picture(path.read_bytes(), digest)
        except OSError as error:
            raise explain_os(path, error) from error

    def thumbnail(self, digest: str, side: int = 160) -> Path:
        """A small WebP file of the picture, at most `side` wide and high; made once, then kept."""
        path = self.thumbs / f"{side}" / digest[:2] / f"{digest}.webp"
        if not path.exists():
            data = self.thumbnail_bytes(digest, side)
            try:
                write_whole(path, data)
            except OSError as error:
                raise explain_os(path, error) from error
        return path

    def thumbnail_bytes(self, digest: str, side: int = 160) -> bytes:
        """The same as WebP bytes, without writing anything: works on a read-only atlas too."""
        ready = self.thumbs / f"{side}" / digest[:2] / f"{digest}.webp"
        if ready.exists():
            return ready.read_bytes()
        path = self.path(digest)
        try:
            image = self.get(digest).image
        except BadReply as error:
            raise AtlasError(
                f"{path} is not a readable image", "remove it, or restore it from a copy"
            ) from error
        image = image.convert("RGBA" if "A" in image.getbands() or "transparency" in image.info else "RGB")
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=82, method=2)
        return buffer.getvalue()

    def _place(self, digest: str, suffix: str) -> str:
        return os.path.join(self.folder, digest[:2], digest + suffix)


def write_whole(path: str | Path, data: bytes, temporary: Path | None = None) -> None:
    """Write a file so that others see all of it or nothing: into another name first, then rename."""
    folder, name = os.path.split(path)
    ticket = f"{name}.{os.getpid()}.{threading.get_ident()}"
    draft = os.path.join(temporary or folder, ticket)
    try:
        _write(draft, data, folder)
        try:
            os.replace(draft, path)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            os.replace(draft, path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def link_or_copy(path: Path, goal: Path) -> None:
    """Put a file in a second place: a hard link where the file system can, else a copy."""
    try:
        os.link(path, goal)
    except OSError:
        draft = goal.with_name(f"{goal.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            shutil.copyfile(path, draft)
            os.replace(draft, goal)
        finally:
            draft.unlink(missing_ok=True)


def _write(draft: str, data: bytes, folder: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(draft, flags, 0o644)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        os.makedirs(os.path.dirname(draft), exist_ok=True)
        handle = os.open(draft, flags, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


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
