"""The atlas: a folder with `atlas.db` and `images/` that keeps all that one or more hunts did.

One process writes, any number read. Methods may be called from any thread; those that write take turns.
It knows nothing of strategies and models.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from failscape import __version__
from failscape.atlas import reader
from failscape.atlas.database import (
    DATABASE,
    WriterLock,
    is_current,
    missing,
    open_beside,
    open_reader,
    open_writer,
    version_of,
)
from failscape.atlas.files import explained
from failscape.atlas.images import ImageStore
from failscape.atlas.later_tables import HUNT, brought_in
from failscape.atlas.records import Call, HuntRow, KeepImages, Recorded
from failscape.atlas.writer import RowWriter, to_json
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.pictures import Picture
from failscape.trials import Verdict
from failscape.trust import Vouched, let_out

T = TypeVar("T")
P = ParamSpec("P")

LOCK = "atlas.lock"
_MANY = 512


def _asks(question: Callable[Concatenate[sqlite3.Connection, P], T]) -> Callable[Concatenate[Atlas, P], T]:
    """A method that asks this thread's connection for reading."""

    def method(atlas: Atlas, /, *args: P.args, **named: P.kwargs) -> T:
        with atlas.reading() as db:
            return question(db, *args, **named)

    return method


def _walks(
    rows: Callable[Concatenate[sqlite3.Connection, P], Iterator[T]],
) -> Callable[Concatenate[Atlas, P], Iterator[T]]:
    """The same for what is given row by row."""

    def method(atlas: Atlas, /, *args: P.args, **named: P.kwargs) -> Iterator[T]:
        with atlas.reading() as db:
            yield from rows(db, *args, **named)

    return method


class Atlas:
    """Open one with `Atlas.open`; use it as a context manager, or call `close`."""

    def __init__(self, folder: Path, writer: sqlite3.Connection | None, lock: WriterLock | None) -> None:
        self.folder = folder
        self._vouched = Vouched()
        self._identity = os.stat_result((0,) * 10)  # of the database file, where this is the writer
        self.images = ImageStore(folder, self.image_row)
        self._lock = lock
        self._writer = writer
        self._rows: RowWriter | None = None
        self._turn = threading.RLock()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._running: dict[int, tuple[int, float]] = {}  # hunt -> its run and when that began

    @classmethod
    def open(cls, path: str | Path, create: bool = False, readonly: bool = False) -> Self:
        """Open the atlas in folder `path`, for writing unless `readonly`.

        Raises `AtlasError` when it is no atlas, of a newer version, or being written by another process.
        """
        folder = Path(path)
        if readonly:
            atlas = cls(folder, None, None)
            atlas._read()
            return atlas
        if not create and not (folder / DATABASE).exists():
            raise missing(folder)
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(folder / LOCK)
        try:
            atlas = cls(folder, open_writer(folder, create), lock)
            atlas._identity = _identity_of(folder)
            atlas._prepare_images()
        except BaseException:
            lock.release()
            raise
        return atlas

    def _prepare_images(self) -> None:
        with explained(self.images.folder):
            found = self.images.prepare(self._ask(reader.growing_pack))
        if found:
            with self.transaction() as (_, rows):
                rows.add_images(found, self.images.end)

    def vouch(self, vouched: Vouched) -> Self:
        """From now on its hunts may be drawn on with the models that the user vouches for."""
        self._vouched = vouched
        return self

    @classmethod
    def open_for_labels(cls, path: str | Path) -> Self:
        """For what people say in reviews, and for nothing else: works beside a run that holds the lock."""
        folder = Path(path)
        with cls.open(folder, readonly=True) as atlas:
            current = atlas._ask(is_current)
        if not current:
            cls.open(folder).close()  # brings the tables up to date, which takes the lock
        return cls(folder, open_beside(folder), None)

    def close(self) -> None:
        """Close all connections and let the next writer in. Iterators that are still open end here."""
        with self._turn:
            self.images.close()
            for db in self._readers:
                db.close()
            self._readers.clear()
            self._local = threading.local()
            if self._writer is not None:
                self._writer.close()
                self._writer = self._rows = None
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Hunts, runs and events

    def start_hunt(
        self,
        kind: str,
        config: dict[str, Any],
        identities: dict[str, Identity],
        shard: tuple[int, int] = (0, 1),
        parent: int | None = None,
    ) -> int:
        with self.transaction() as (_, rows):
            return rows.add_hunt(kind, config, identities, shard, parent)

    def update_config(self, hunt_id: int, config: dict[str, Any]) -> None:
        """Keep the settings as they are now; the caller has checked that the same thing is measured."""
        with self.transaction() as (db, _):
            db.execute("UPDATE hunts SET config = ? WHERE id = ?", (to_json(config), hunt_id))

    def hunts(self) -> list[HuntRow]:
        """The hunts as reading may use them: see `failscape.trust`."""
        rows = self._ask(lambda db: reader.hunts(db, self.folder))
        vouched = self._vouched
        return [replace(row, config=let_out(row.config, vouched), vouched=vouched) for row in rows]

    def stored_hunts(self) -> list[HuntRow]:
        """As they were recorded, to be compared: corpora that lie in the atlas keep their short name."""
        return self._ask(lambda db: reader.hunts(db, None))

    def hunt(self, hunt_id: int | None = None) -> HuntRow:
        """The hunt asked for; else the one with the latest recorded trial, else the newest."""
        if hunt_id is None:
            hunt_id = self._ask(reader.latest_hunt)
        if hunt_id is None:
            raise AtlasError(
                f"{self.folder} has no hunts yet", f"failscape run CONFIG --atlas {self.folder} starts one"
            )
        number = hunt_id
        found = next((hunt for hunt in self.hunts() if hunt.id == number), None)
        if found is None:
            raise self._ask(lambda db: reader.no_such_hunt(db, number))
        return found

    def begin_run(self, hunt_id: int) -> int:
        """A session starts. Its seconds grow with each recording, so that a killed run counts too."""
        with self.transaction() as (db, rows):
            cursor = db.execute("INSERT INTO runs (hunt, started) VALUES (?, ?)", (hunt_id, time.time()))
            run = int(cursor.lastrowid or 0)
            rows.add_event("start", {"version": __version__}, hunt_id)
        self._running[hunt_id] = (run, time.monotonic())
        return run

    def end_run(self, run_id: int, why: str, seconds: float | None = None) -> None:
        """The session ends. Its `seconds` are those up to the last recording unless told."""
        with self.transaction() as (db, rows):
            query = "UPDATE runs SET why = ?, seconds = coalesce(?, seconds) WHERE id = ?"
            db.execute(query, (why, seconds, run_id))
            hunt, ran = db.execute("SELECT hunt, seconds FROM runs WHERE id = ?", (run_id,)).fetchone()
            rows.add_event("stop", {"why": why, "seconds": ran}, hunt)
        self._running = {hunt: run for hunt, run in self._running.items() if run[0] != run_id}

    def log(self, kind: str, detail: dict[str, Any], hunt_id: int | None = None) -> None:
        with self.transaction() as (_, rows):
            rows.add_event(kind, detail, hunt_id)

    # Trials and calls

    def record(
        self,
        hunt_id: int,
        group: Sequence[Recorded],
        keep_images: KeepImages = "all",
        nodes: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        """Keep a group of trials, all or none of it. When this returns, the group is safe from kill -9.

        `nodes` are details of subjects that an imported file knows and trials do not.
        """
        kept = {
            call.picture.digest: call.picture
            for recorded in group
            for call in recorded.calls
            if call.picture is not None and not call.cached and _keep(recorded, keep_images)
        }
        calls = [call for recorded in group for call in recorded.calls]
        self._write(hunt_id, group, calls, list(kept.values()), nodes or {})

    def keep_pictures(self, pictures: Sequence[Picture]) -> None:
        """Keep pictures that no model drew, so that `Show` finds them by digest."""
        with self.transaction() as (_, rows):
            self._add_pictures(rows, pictures)

    def _add_pictures(self, rows: RowWriter, pictures: Sequence[Picture]) -> None:
        """Before the commit: a row must never name a picture that is not durable; the reverse is harmless."""
        if pictures:
            rows.add_images(self.images.append(pictures), self.images.end)

    def withdraw(self, hunt_id: int, keys: Sequence[str], why: str) -> None:
        """Take back invalid trials that say nothing about the target, so that they can be tried again."""
        with self.transaction() as (db, rows):
            rows.remove_invalid(hunt_id, keys)
            db.execute(
                "INSERT INTO events (at, kind, hunt, detail) VALUES (?, 'withdrawn', ?, ?)",
                (time.time(), hunt_id, to_json({"trials": len(keys), "why": why})),
            )

    def save_calls(self, hunt_id: int, calls: Sequence[Call], keep_images: KeepImages = "all") -> None:
        """Keep finished calls of trials that did not finish, so that nobody pays for them again."""
        kept = [call.picture for call in calls if call.picture is not None and not call.cached]
        self._write(hunt_id, [], calls, kept if keep_images == "all" else [], {})

    def _write(
        self,
        hunt_id: int,
        group: Sequence[Recorded],
        calls: Sequence[Call],
        pictures: list[Picture],
        nodes: Mapping[str, dict[str, Any]],
    ) -> None:
        with self.transaction() as (db, rows):
            self._add_pictures(rows, pictures)
            rows.add_calls(hunt_id, calls)
            if group:
                rows.add_trials(hunt_id, group)
            if nodes:
                rows.add_nodes(hunt_id, nodes)
            if hunt_id in self._running:
                run, began = self._running[hunt_id]
                db.execute("UPDATE runs SET seconds = ? WHERE id = ?", (time.monotonic() - began, run))

    def checkpoint(self) -> None:
        """Bring what is in the log into the database, as far as no reader holds it: waits for nobody."""
        self.check_there()
        with self.writing() as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def check_there(self) -> None:
        """Raise when the folder of the atlas is gone or another: what is written goes nowhere then."""
        if not os.path.samestat(self._identity, _identity_of(self.folder)):
            raise gone(self.folder)

    @property
    def has_calls(self) -> bool:
        """Whether the response cache holds anything at all."""
        return next(self.query("SELECT 1 FROM calls LIMIT 1"), None) is not None

    def hunts_of_others(self, but_for: int) -> frozenset[int]:
        """Hunts that merges brought in: their replies are not taken for answers to the requests of others."""
        found = self._ask(lambda db: brought_in(db, HUNT))
        return frozenset(one for one in found if isinstance(one, int)) - {but_for}

    def find_call(self, key: bytes, but_of: frozenset[int] = frozenset()) -> Call | None:
        """The stored reply to this very request, unless it was given to one of the hunts `but_of`.

        `None` also when the reply could not be used, and when its picture is gone or damaged.
        """
        found = self._ask(lambda db: reader.find_call(db, key, but_of))
        if found is None or found.invalid or (found.image and not found.file):
            return None
        try:
            picture = self.images.get(found.image) if found.image else None
        except AtlasError:
            return None
        return replace(found, picture=picture, cached=True)

    # Looking back, as `reader` does it

    runs = _asks(reader.runs)
    events = _asks(reader.events)
    spent = _asks(reader.spent)
    costs = _asks(reader.costs)
    counts = _asks(reader.counts)
    endpoints = _asks(reader.endpoints)
    confidences = _asks(reader.confidences)
    facts_of = _asks(reader.facts_of)
    image_row = _asks(reader.image_row)
    node_details = _asks(reader.node_details)
    verdicts = _asks(reader.verdicts)
    prompts = _asks(reader.prompts)
    trial = _asks(reader.trial)
    replay = _walks(reader.replay)
    subject_counts = _walks(reader.subject_counts)
    subjects = _walks(reader.subjects)
    image_digests = _walks(reader.image_digests)
    trials = _walks(reader.trials)

    # Connections

    def _read(self) -> sqlite3.Connection:
        """This thread's own connection for reading: readers never wait for the writer."""
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = open_reader(self.folder)
            with self._turn:
                self._readers.append(db)
        return db

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        with self.reading() as db:
            return question(db)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection for reading. For the modules of this package."""
        with explained(self.folder / DATABASE):
            yield self._read()

    def query(self, sql: str, values: Sequence[Any] = (), since: int = 0) -> Iterator[tuple[Any, ...]]:
        """Rows, a few at a time. None in an atlas of a version before `since`, which has no such table."""
        with self.reading() as db:
            if not since or version_of(db) >= since:
                cursor = db.execute(sql, values)
                while rows := cursor.fetchmany(_MANY):
                    yield from rows

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection, outside a transaction. For the modules of this package."""
        with self._turn, explained(self.folder / DATABASE):
            if self._writer is None:
                raise AtlasError(f"{self.folder} is closed or open for reading only", "open it for writing")
            yield self._writer

    @contextmanager
    def transaction(self) -> Iterator[tuple[sqlite3.Connection, RowWriter]]:
        """All of the block is written, or nothing. For the modules of this package."""
        with self.writing() as db:
            rows = self._rows = self._rows or RowWriter(db)
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db, rows
                db.execute("COMMIT")
            except BaseException:
                rows.forget()
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise


def _identity_of(folder: Path) -> os.stat_result:
    try:
        return (folder / DATABASE).stat()
    except FileNotFoundError:
        raise gone(folder) from None


def gone(folder: Path) -> AtlasError:
    return AtlasError(
        f"{folder} was removed or replaced while it was being written: nothing more can be recorded there",
        "restore the folder from a copy, or run again to start anew",
    )


def _keep(recorded: Recorded, keep_images: KeepImages) -> bool:
    return keep_images == "all" or (keep_images == "failures" and recorded.trial.verdict is Verdict.FAIL)
