"""Turns what SQLite and the file system say into errors that a user can act on."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    if "full" in text:
        return AtlasError(f"the disk is full: nothing of this group was recorded in {path}", _FULL)
    if "malformed" in text or "not a database" in text:
        return AtlasError(f"{path} is damaged or not an atlas: {text}", _CORRUPT)
    if "readonly" in text or "unable to open" in text:
        return AtlasError(f"{path} cannot be opened or written: {text}", _READ_ONLY)
    if "locked" in text:
        return AtlasError(f"{path} is busy: {text}", "wait for other programs that write to it")
    return AtlasError(f"{path}: {text}", "check the disk; the atlas keeps what was recorded before")


def explain_os(path: Path, error: OSError) -> AtlasError:
    where = error.filename or path
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return AtlasError(f"the disk is full: {where} could not be written", _FULL)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AtlasError(f"{where} cannot be written: {error.strerror}", _READ_ONLY)
    return AtlasError(f"{where}: {error.strerror or error}", "check the path and the disk")
