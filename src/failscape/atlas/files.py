"""Reads and writes single files with care, and explains what SQLite and the file system say when that fails.

Files are written whole or not at all, and never read through a symbolic link: an atlas may come from a
stranger, and a link in it can lead to any file of the reader.
"""

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from failscape.errors import AtlasError

_FULL = "free some space and run the same command again: what was recorded before is safe"
_READ_ONLY = "make the folder writable, or copy it to one that is"
_CORRUPT = "restore a copy, or rescue what is readable with `sqlite3 atlas.db .recover`"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Re-raise faults inside the block as `AtlasError`s about `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_sqlite(path, error) from error
    except OSError as error:
        raise explain_os(path, error) from error


def explain_sqlite(path: Path, error: sqlite3.Error) -> AtlasError:
    text = str(error)
    known = {
        "full": (f"the disk is full: nothing of this group was recorded in {path}", _FULL),
        "malformed|not a database": (f"{path} is damaged or not an atlas: {text}", _CORRUPT),
        "readonly|unable to open": (f"{path} cannot be opened or written: {text}", _READ_ONLY),
        "locked": (f"{path} is busy: {text}", "wait for other programs that write to it"),
        "": (f"{path}: {text}", "check the disk; the atlas keeps what was recorded before"),
    }
    return AtlasError(*next(said for words, said in known.items() if re.search(words, text)))


def explain_os(path: Path, error: OSError) -> AtlasError:
    where = error.filename or path
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return AtlasError(f"the disk is full: {where} could not be written", _FULL)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AtlasError(f"{where} cannot be written: {error.strerror}", _READ_ONLY)
    return AtlasError(f"{where}: {error.strerror or error}", "check the path and the disk")


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def refuse_link(path: Path) -> None:
    """Raise when `path` itself is a symbolic link."""
    if path.is_symlink():
        raise AtlasError(
            f"{path} is a symbolic link, which may lead anywhere: it is not followed",
            "put the file or folder itself there",
        )


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading, if it is one: no link, no folder, no pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            refuse_link(path)
        raise
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise AtlasError(f"{path} is not a plain file", "remove it")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing: under another name first, then rename."""
    goal = Path(path)
    goal.parent.mkdir(parents=True, exist_ok=True)
    draft = goal.with_name(_draft_name(goal))
    try:
        with draft.open("wb") as file:
            file.write(data)
        draft.replace(goal)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def link_or_copy(path: Path, goal: Path) -> None:
    """Put a file in a second place: a hard link where the file system can, else a copy."""
    try:
        os.link(path, goal)
    except OSError:
        draft = goal.with_name(_draft_name(goal))
        try:
            shutil.copyfile(path, draft)
            draft.replace(goal)
        finally:
            draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder durable, where the system can."""
    with contextlib.suppress(OSError):  # Windows cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _draft_name(goal: Path) -> str:
    return f".{goal.name}.{os.getpid()}.{threading.get_ident()}"
