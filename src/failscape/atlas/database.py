"""The database of an atlas: its tables, and how it is opened, for its one writer or for readers beside it.

The tables are a numbered list of steps: step n brings version n - 1 to version n. A released step never
changes; a new need is a new step at the end.

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
import uuid
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from failscape.atlas.files import check_database_files, explained, open_for_writing
from failscape.atlas.later_tables import make_later_tables
from failscape.atlas.records import refuse_unsound
from failscape.errors import AtlasError

APPLICATION_ID = 0x46534341  # "FSCA": tells an atlas from any other SQLite file


# `totals` is kept up to date by every recording, so that counts and costs need no scan.
# `trials_by_subject` ends in `verdict`: counting per subject reads the index alone.
# `atlas` has one row. `origin` tells where a merged row came from, so that merging twice adds nothing;
# it is null for what was recorded here. `merged` has what the trials of other atlases cost there: it
# comes on top of the hunt's own totals.
# `nodes` keeps what an imported file said about a subject beyond its trials.
_FIRST = """
CREATE TABLE atlas (
    uid TEXT NOT NULL,
    created REAL NOT NULL
);
CREATE TABLE hunts (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    config TEXT NOT NULL,
    identities TEXT NOT NULL,
    shard INTEGER NOT NULL,
    shards INTEGER NOT NULL,
    parent INTEGER REFERENCES hunts (id),
    created REAL NOT NULL
);
CREATE TABLE totals (
    hunt INTEGER PRIMARY KEY REFERENCES hunts (id),
    images INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    money REAL NOT NULL DEFAULT 0,
    pass INTEGER NOT NULL DEFAULT 0,
    fail INTEGER NOT NULL DEFAULT 0,
    invalid INTEGER NOT NULL DEFAULT 0,
    none INTEGER NOT NULL DEFAULT 0,
    first_trial INTEGER,
    last_trial INTEGER
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    started REAL NOT NULL,
    seconds REAL NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '',
    origin TEXT UNIQUE
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    hunt INTEGER REFERENCES hunts (id),
    detail TEXT NOT NULL,
    origin TEXT UNIQUE
);
CREATE TABLE merged (
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    origin TEXT NOT NULL,
    images INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (hunt, origin)
) WITHOUT ROWID;
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    subject TEXT NOT NULL,
    details TEXT NOT NULL,
    UNIQUE (hunt, subject)
);
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    steps TEXT NOT NULL
);
CREATE TABLE identities (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    settings TEXT NOT NULL
);
CREATE TABLE images (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    format TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE calls (
    key BLOB PRIMARY KEY,
    role TEXT NOT NULL,
    identity INTEGER NOT NULL REFERENCES identities (id),
    facts TEXT NOT NULL,
    invalid TEXT NOT NULL,
    raw TEXT NOT NULL,
    image TEXT,
    requests INTEGER NOT NULL,
    seconds REAL NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL NOT NULL,
    hunt INTEGER NOT NULL REFERENCES hunts (id)
);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    key TEXT NOT NULL,
    subject TEXT NOT NULL,
    plan INTEGER NOT NULL REFERENCES plans (id),
    seed INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'invalid', 'none')),
    reason TEXT NOT NULL,
    facts TEXT NOT NULL,
    calls BLOB NOT NULL,
    started REAL NOT NULL,
    seconds REAL NOT NULL,
    UNIQUE (hunt, key)
);
CREATE INDEX trials_by_subject ON trials (hunt, subject, verdict)
"""


# `accuracies` keeps how a judge errs: for all hunts with that judge (a review), or as one hunt used it.
# A review is a blind sample of checks. Its items remember what the judge said and how many checks of the
# hunt each stands for; labels are what people said. `uid` and `origin` make merging twice harmless.
_REVIEWS = """
CREATE TABLE accuracies (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    hunt INTEGER REFERENCES hunts (id),
    judge TEXT NOT NULL,
    content TEXT NOT NULL,
    origin TEXT UNIQUE
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    hunt INTEGER NOT NULL REFERENCES hunts (id),
    judge TEXT NOT NULL,
    seed INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE review_items (
    review TEXT NOT NULL,
    item TEXT NOT NULL,
    trial TEXT NOT NULL,
    place INTEGER NOT NULL,
    kind TEXT NOT NULL,
    answer INTEGER NOT NULL,
    near INTEGER NOT NULL,
    stands_for REAL NOT NULL,
    PRIMARY KEY (review, item)
) WITHOUT ROWID;
CREATE TABLE review_labels (
    review TEXT NOT NULL,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (review, item, reviewer)
) WITHOUT ROWID
"""


# `packs` are files with many pictures; `bytes` is the end up to which rows name pictures in it, and only the
# one that `grows` is appended to: others came from merges and prunes, or are full. A picture without a pack
# is a file of its own. `results` keeps what a hunt had found after its trial `last_trial`, by the rules of
# version `rules`, with the judge's accuracy `judge`. Trials stay the only truth: this saves telling them.
_PACKS = """
CREATE TABLE packs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    grows INTEGER NOT NULL
);
ALTER TABLE images ADD COLUMN pack INTEGER REFERENCES packs (id);
ALTER TABLE images ADD COLUMN start INTEGER;
CREATE TABLE results (
    hunt INTEGER PRIMARY KEY REFERENCES hunts (id),
    last_trial INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    rules TEXT NOT NULL,
    judge TEXT NOT NULL,
    at REAL NOT NULL,
    content BLOB NOT NULL
)
"""


MIGRATIONS = [
    _FIRST,
    _REVIEWS,
    _PACKS,
    # Which address gave a reply: a bad server of a pool shows in its pictures.
    "ALTER TABLE calls ADD COLUMN endpoint TEXT NOT NULL DEFAULT ''",
    # How sure a judge was of each check of a call, where it said so: a JSON list of chances.
    "CREATE TABLE confidences (call BLOB PRIMARY KEY, chances TEXT NOT NULL) WITHOUT ROWID",
]


def _take_step(db: sqlite3.Connection, number: int) -> None:
    """One statement after the other: `executescript` would end the transaction."""
    for statement in MIGRATIONS[number - 1].split(";"):
        db.execute(statement)


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def is_current(db: sqlite3.Connection) -> bool:
    return version_of(db) == len(MIGRATIONS)


def check_is_atlas(db: sqlite3.Connection, path: str) -> None:
    """Refuse databases that are not atlases, or are of a newer version than this one understands."""
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != APPLICATION_ID:
        raise AtlasError(
            f"{path} is an SQLite database, but not an atlas", "give the folder that `failscape run` wrote"
        )
    # Only what we make is let through: SQLite takes a type in capitals, and comments between words, as well.
    foreign = db.execute(
        "SELECT type, name FROM sqlite_master WHERE NOT (type = 'table' AND sql GLOB 'CREATE TABLE *')"
        " AND NOT (type = 'index' AND coalesce(sql, 'CREATE INDEX ') GLOB 'CREATE INDEX *')"
    ).fetchone()
    if foreign:
        raise AtlasError(
            f"{path} has the {foreign[0]} {foreign[1]!r}, which no failscape made: it may run code of others",
            "take the atlas from somebody you trust, or have its trials exported there",
        )
    version = version_of(db)
    if version > len(MIGRATIONS):
        raise AtlasError(
            f"{path} is an atlas of version {version}; this failscape reads up to version {len(MIGRATIONS)}",
            "pip install --upgrade failscape",
        )
    _refuse_incomplete(db, path, version)


def _refuse_incomplete(db: sqlite3.Connection, path: str, version: int) -> None:
    missing = sorted(_tables_of(version) - _columns(db))
    if missing:
        raise AtlasError(f"{path} is no whole atlas: it lacks {missing[0]}", "restore it from a copy")
    names = db.execute("SELECT typeof(uid) FROM atlas LIMIT 2").fetchall()
    if names != [("text",)]:
        raise AtlasError(f"{path} is no whole atlas: it must have one name (`uid`)", "restore it from a copy")


def _columns(db: sqlite3.Connection) -> set[str]:
    """Every column as `table.column`."""
    query = "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c"
    return {row[0] for row in db.execute(f"{query} WHERE m.type = 'table'")}


@cache
def _tables_of(version: int) -> frozenset[str]:
    """What an atlas of that version has, by making one."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for number in range(1, version + 1):
            _take_step(db, number)
        return frozenset(_columns(db))


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables up to date: all missing steps in one transaction, or none."""
    if is_current(db):
        make_later_tables(db)
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        before = version_of(db)
        for number in range(before + 1, len(MIGRATIONS) + 1):
            _take_step(db, number)
        if not before:
            db.execute("INSERT INTO atlas VALUES (?, ?)", (uuid.uuid4().hex, time.time()))
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        make_later_tables(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


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
        self._handle = open_for_writing(path, exclusive=True)
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
    who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}{_since(holder.get('since'))}"
    return AtlasError(
        f"{path.parent} is being written by {who}",
        "wait for that run to end, or stop it; looking at the atlas is possible meanwhile",
    )


def _since(moment: Any) -> str:
    try:
        return time.strftime(" since %Y-%m-%d %H:%M:%S", time.localtime(float(moment)))
    except (TypeError, ValueError, OverflowError, OSError):  # the file may be anybody's
        return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        holder = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


_WRITER_PRAGMAS = (
    # Keys of calls are hashes, so each group touches many pages: small ones mean less to write, and a long
    # log lets many groups share one write of the same page.
    "page_size = 2048",
    "wal_autocheckpoint = 32768",
    "journal_mode = WAL",
    # After a power cut the newest groups may be missing, but never half there.
    "synchronous = NORMAL",
    "cache_size = -65536",
    "trusted_schema = OFF",  # a stranger's database may define functions to be run
    "foreign_keys = OFF",  # rows come from this package alone; checks cost time
)


def open_writer(folder: Path, create: bool) -> sqlite3.Connection:
    """The connection that writes. The caller holds the writer lock."""
    path = folder / DATABASE
    if not create and not path.exists():
        raise missing(folder)
    with explained(path):
        is_new = not path.exists() or not path.stat().st_size
        db = _connect(path, "mode=rwc", writing=True)
        try:
            if is_new:
                # Turning WAL on would write a rollback journal, which a kill could leave behind.
                db.execute("PRAGMA journal_mode = MEMORY")
            elif not _is_blank(db):
                check_is_atlas(db, str(path))
            for pragma in _WRITER_PRAGMAS:
                db.execute(f"PRAGMA {pragma}")
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
        db = _connect(path, "mode=rw", writing=True)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA foreign_keys = OFF")
    return db


def open_reader(folder: Path) -> sqlite3.Connection:
    path = folder / DATABASE
    if not path.exists():
        raise missing(folder)
    with explained(path):
        db = _connect(path, reading_mode(path))
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
    with explained(path), contextlib.closing(_connect(path, reading_mode(path))) as db:
        return not _is_blank(db)


def _is_blank(db: sqlite3.Connection) -> bool:
    """New, or left by a run that was killed before it made the tables."""
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def missing(folder: Path) -> AtlasError:
    what = "does not exist"
    if folder.exists():
        what = "holds no atlas" if folder.is_dir() else "is a file, and an atlas is a folder"
    return AtlasError(f"{folder} {what}", "give the folder that `failscape run CONFIG --atlas FOLDER` wrote")


def reader_uri(path: Path) -> str:
    """The address under which another connection can attach the database, to read it."""
    return f"{path.absolute().as_uri()}?{reading_mode(path)}"


def reading_mode(path: Path) -> str:
    """How the database can be read, even from a folder that cannot be written.

    A read-only folder cannot hold the shared memory of WAL mode. Without a log beside it the database is
    complete in itself and can be read as an unchanging file.
    """
    db = _connect(path, "mode=ro")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        if path.with_name(f"{DATABASE}-wal").exists():
            raise
        return "immutable=1"
    finally:
        db.close()
    return "mode=ro"


def _connect(path: Path, mode: str, writing: bool = False) -> sqlite3.Connection:
    """Every connection to an atlas begins here: its files are looked at first."""
    check_database_files(path, writing)
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
