"""Reads and writes single files with care: all of one or nothing, and never through a symbolic link.

An atlas may come from a stranger. A link in it can lead to any file of the reader's, so links are refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import threading
from pathlib import Path
from typing import IO

from failscape.errors import AtlasError

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
