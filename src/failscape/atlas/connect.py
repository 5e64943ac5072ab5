"""Opens the database of an atlas: for its one writer, or for any number of readers beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from failscape.atlas.faults import explained
from failscape.atlas.migrations import check_is_atlas, migrate
from failscape.errors import AtlasError

DATABASE = "atlas.db"
BUSY_SECONDS = 10.0


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
            db.execute("PRAGMA foreign_keys = OFF")  # rows come from this package alone; checks cost time
            migrate(db)
        except BaseException:
            db.close()
            raise
    return db


def open_reader(folder: Path) -> sqlite3.Connection:
    path = folder / DATABASE
    if not path.exists():
        raise missing(folder)
    with explained(path):
        db = _connect(reader_uri(path))
        try:
            if _is_blank(db):
                raise missing(folder)
            check_is_atlas(db, str(path))
        except BaseException:
            db.close()
            raise
    return db


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
