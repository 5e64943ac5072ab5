"""Reads and writes single files with care, and explains what SQLite and the file system say when that fails.

Files are written whole or not at all, and neither read nor written through a link: an atlas may come from a
stranger, and a link in it can lead to any file of the reader. A database is looked at before SQLite opens it,
because opening it can already change files: SQLite plays back a rollback journal, and such a journal may name
any file to be deleted.
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


#: Longer files are not read: a file with a hole in it takes no room in an archive and gigabytes in memory.
LONGEST_TEXT = 1 << 30

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


def read_regular(path: Path, most: int = LONGEST_TEXT) -> bytes:
    """All of a plain file, unless it is longer than `most` bytes."""
    with open_regular(path) as file:
        refuse_longer(path, os.fstat(file.fileno()).st_size, most)
        return file.read()


def open_for_writing(path: Path, exclusive: bool = False) -> int:
    """A handle to a plain file, made if it is not there: no link, no folder, no pipe.

    With `exclusive`, the file must have no second name (a hard link) either: writing would change both.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            refuse_link(path)
        raise
    try:
        refuse_unplain(path, os.fstat(handle), exclusive)
    except BaseException:
        os.close(handle)
        raise
    return handle


def refuse_unplain(path: Path, status: os.stat_result, exclusive: bool = False) -> None:
    """Raise unless `status` is that of a plain file, with one name only where it is `exclusive`."""
    if stat.S_ISLNK(status.st_mode):
        raise AtlasError(
            f"{path} is a symbolic link, which may lead anywhere: it is not followed",
            "put the file or folder itself there",
        )
    if not stat.S_ISREG(status.st_mode):
        raise AtlasError(
            f"{path} must be a plain file, but is a folder, a pipe or a device", "put the file itself there"
        )
    if exclusive and status.st_nlink > 1:
        raise AtlasError(
            f"{path} is also stored under another name (a hard link): writing here would change both",
            "copy the atlas with `cp -r` and write to the copy",
        )


def refuse_longer(path: Path, length: int, most: int) -> None:
    """Raise when a file, or what is to be read of it, is longer than anything that failscape writes there."""
    if length > most:
        raise AtlasError(
            f"{path} has {length:,} bytes to be read, but at most {most:,} are",
            "take the atlas from somebody you trust",
        )


def folder_inside(folder: Path, *names: str) -> Path:
    """The folder `names` below the atlas at `folder`, none of which may be a link. It need not exist."""
    here = folder
    for name in names:
        here = here / name
        refuse_link(here)
    return here


def output_folder(folder: Path, *names: str) -> Path:
    """The folder `names` below the atlas at `folder`, to write to. Neither it nor anything in it is a link.

    An atlas may come with such a folder, and then any file in it may lead elsewhere, also those that other
    libraries write.
    """
    goal = folder_inside(folder, *names)
    for place, folders, files in os.walk(goal):
        for name in (*folders, *files):
            path = Path(place, name)
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                refuse_unplain(path, status)
    return goal


_SQLITE_MAGIC = b"SQLite format 3\0"
_WAL_FORMAT = b"\x02\x02"


def check_database_files(path: Path, writing: bool = False) -> None:
    """Raise unless SQLite can open the database at `path` without touching anything else.

    Our databases are in WAL mode from their first byte on and never have a rollback journal.
    """
    journal = path.with_name(f"{path.name}-journal")
    if os.path.lexists(journal):
        raise AtlasError(
            f"{journal} is a rollback journal, which failscape never writes: SQLite would follow it"
            " to open the database, and it may name any file to be deleted",
            "take the atlas from somebody you trust; in a copy of your own, remove that file first",
        )
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        beside = path.with_name(name)
        with contextlib.suppress(FileNotFoundError):
            refuse_unplain(beside, beside.lstat(), exclusive=writing)
    if not path.exists():
        return
    with open_regular(path) as file:
        header = file.read(20)
    if header.startswith(_SQLITE_MAGIC) and header[18:20] != _WAL_FORMAT:
        raise AtlasError(
            f"{path} is not an atlas as failscape writes it: its header must say WAL (2, 2), but says"
            f" {tuple(header[18:20])}",
            "give the folder that `failscape run` wrote; a copy that another tool of yours made can be turned"
            " back with `sqlite3 atlas.db 'PRAGMA journal_mode = WAL'`",
        )


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing: under another name first, then rename."""
    goal = Path(path)
    goal.parent.mkdir(parents=True, exist_ok=True)
    draft = goal.with_name(_draft_name(goal))
    try:
        draft.unlink(missing_ok=True)
        with draft.open("xb") as file:  # "x" follows no link that somebody may have put there
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
