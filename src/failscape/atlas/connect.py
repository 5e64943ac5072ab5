"""Opens the database of an atlas: for its one writer, or for any number of readers beside it.

The writer holds a lock that belongs to an open file, so it ends with its process, however that ends.
"""

import contextlib
import errno
import json
import os
import socket
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from failscape.atlas.files import explained
from failscape.atlas.migrations import check_is_atlas, migrate, version_of
from failscape.atlas.records import refuse_unsound
from failscape.errors import AtlasError

DATABASE = "atlas.db"

#: How long a reader waits for another program that holds the whole database, as a recovery does.
BUSY_SECONDS = 10.0

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        # Lock a byte far behind the text, so that others can still read who holds it.
        os.lseek(handle, 1 << 20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def parse_reference(text: str) -> tuple[Path, int | None]:
    """`runs/a`, or `runs/a@2` for its second hunt."""
    path, at, number = text.rpartition("@")
    if at and number.isdecimal() and not Path(text).exists():
        return Path(path), int(number)
    return Path(text), None


class WriterLock:
    """Held from creation to `release`. Raises `AtlasError` naming the process that holds it."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise _refusal(path, error) from None
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.truncate(self._handle, 0)
        os.write(self._handle, json.dumps(holder).encode())

    def release(self) -> None:
        """Give it up. The file stays: removing it would let two writers lock two files of one name."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _refusal(path: Path, error: OSError) -> AtlasError:
    if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
        return AtlasError(f"{path.parent} cannot be locked: {error}", "put the atlas on a local disk")
    holder = _read(path)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(holder.get("since", 0))))
    who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')} since {since}"
    return AtlasError(
        f"{path.parent} is being written by {who}",
        "wait for that run to end, or stop it; looking at the atlas is possible meanwhile",
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        holder = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


def open_writer(folder: Path, create: bool) -> sqlite3.Connection:
    """The connection that writes. The caller holds the writer lock."""
    path = folder / DATABASE
    if not create and not path.exists():
        raise missing(folder)
    with explained(path):
        db = _connect(f"{path.absolute().as_uri()}?mode=rwc")
        try:
            if not _is_blank(db):
                check_is_atlas(db, str(path))
            # Keys of calls are hashes, so each group touches many pages: small ones mean less to write,
            # and a long log lets many groups share one write of the same page.
            db.execute("PRAGMA page_size = 2048")
            db.execute("PRAGMA wal_autocheckpoint = 32768")
            db.execute("PRAGMA journal_mode = WAL")
            # After a power cut the newest groups may be missing, but never half there.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA cache_size = -65536")
            db.execute("PRAGMA trusted_schema = OFF")  # a stranger's database may define functions to be run
            db.execute("PRAGMA foreign_keys = OFF")  # rows come from this package alone; checks cost time
            migrate(db)
        except BaseException:
            db.close()
            raise
    return db


def open_beside(folder: Path) -> sqlite3.Connection:
    """A connection that writes rows nobody else writes, also while a run holds the lock.

    SQLite lets writers take turns; each waits for the other as long as a group takes to be recorded.
    """
    path = folder / DATABASE
    with explained(path):
        db = _connect(f"{path.absolute().as_uri()}?mode=rw")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = OFF")
    return db


def open_reader(folder: Path) -> sqlite3.Connection:
    path = folder / DATABASE
    if not path.exists():
        raise missing(folder)
    with explained(path):
        db = _connect(reader_uri(path))
        try:
            db.execute("PRAGMA trusted_schema = OFF")
            if _is_blank(db):
                raise missing(folder)
            check_is_atlas(db, str(path))
            refuse_unsound(db, version_of(db), str(path), small=True)
        except BaseException:
            db.close()
            raise
    return db


def holds_atlas(folder: Path) -> bool:
    """Whether there is anything to read: a run may have been killed before it made the tables."""
    path = folder / DATABASE
    if not path.exists():
        return False
    with explained(path), contextlib.closing(_connect(reader_uri(path))) as db:
        return not _is_blank(db)


def _is_blank(db: sqlite3.Connection) -> bool:
    """New, or left by a run that was killed before it made the tables."""
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def missing(folder: Path) -> AtlasError:
    what = "holds no atlas" if folder.is_dir() else "does not exist"
    return AtlasError(f"{folder} {what}", "give the folder that `failscape run CONFIG --atlas FOLDER` wrote")


def reader_uri(path: Path) -> str:
    """The address under which the database can be read, even from a folder that cannot be written.

    A read-only folder cannot hold the shared memory of WAL mode. Without a log beside it the database is
    complete in itself and can be read as an unchanging file.
    """
    uri = path.absolute().as_uri()
    db = _connect(f"{uri}?mode=ro")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        if path.with_name(f"{DATABASE}-wal").exists():
            raise
        return f"{uri}?immutable=1"
    finally:
        db.close()
    return f"{uri}?mode=ro"


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
