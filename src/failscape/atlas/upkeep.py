"""The upkeep of an atlas as it lies on the disk: finds and mends what is wrong with it, and drops pictures.

What cannot be mended is said too. A picture that is gone or damaged cannot be made up: the trials that were
judged by it are taken back, so that the next run draws and judges them again, where the hunt allows that.
Pruning drops pictures by rule and keeps everything else. A picture goes only when every trial that names it
falls under the rule; those that a hunt shows rather than draws stay, for it could not go on without them.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import reader
from failscape.atlas.database import MIGRATIONS, version_of
from failscape.atlas.files import refuse_link
from failscape.atlas.images import (
    SUFFIX,
    MissingPicture,
    PackPlace,
    PackWriter,
    UnreadablePicture,
    is_digest,
    read_place,
)
from failscape.atlas.judging import Plans
from failscape.atlas.records import HuntRow, images_of, understood, unsound_rows
from failscape.atlas.soundness import call_faults, identity_faults, plan_faults, trial_faults
from failscape.atlas.store import Atlas
from failscape.atlas.writer import RowWriter
from failscape.errors import AtlasError
from failscape.pictures import Picture
from failscape.trials import Show, Step, Trial

_MANY = 512
#: Rows that are named of each kind of fault; the rest is counted.
SHOWN = 5

#: Tells a fresh hunt these trials; raises when it cannot take them.
Retell = Callable[[HuntRow, Iterator[Trial]], None]


class Ailment(NamedTuple):
    """`mends` says what `--mend` does about it; empty when nothing can be done."""

    what: str
    mends: str = ""


@dataclass(slots=True)
class Diagnosis:
    """What was looked at, and what is wrong with it. `gone` are digests of pictures that cannot be read."""

    trials: int = 0
    pictures: int = 0
    bytes: int = 0
    ailments: list[Ailment] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    miscounted: list[int] = field(default_factory=list)
    stray: list[Path] = field(default_factory=list)

    @property
    def gone_share(self) -> float:
        """The share of pictures that are damaged."""
        return len(self.gone) / max(1, self.pictures)


#: Above this share of damaged pictures a mend needs a second word: a disk that fails is mended first.
ASKS_ABOVE = 0.01


def examine(atlas: Atlas, lost: bool = False) -> Diagnosis:
    """Look at every row and every picture. Reads only.

    Raises `UnreadablePicture` when pictures cannot be opened at all: a folder that is not mounted, or that
    may not be read, says nothing about them. With `lost`, files that are not there count as damaged.
    """
    found = Diagnosis()
    atlas.hunts()  # settings, models and corpora can be read
    with atlas.reading() as db:
        version = version_of(db)
        if version < len(MIGRATIONS):
            text = f"it is of version {version}, this failscape writes version {len(MIGRATIONS)}"
            found.ailments.append(Ailment(text, "brought up to date"))
        damage = [row[0] for row in db.execute("PRAGMA integrity_check(5)")]
        if damage != ["ok"]:
            found.ailments.append(Ailment(f"the database is damaged: {'; '.join(damage)}"))
            return found
        bad = list(unsound_rows(db, version, most=SHOWN))
        found.ailments += [Ailment(f"row {row} does not have the form that such rows have") for row in bad]
        if not bad:
            found.ailments += [Ailment(text) for text in (*plan_faults(db), *identity_faults(db))]
            _check_trials(db, found)
            _check_counts(db, found)
            _check_pictures(atlas, found, lost)
    return found


def _check_trials(db: sqlite3.Connection, found: Diagnosis) -> None:
    """Facts must be what their steps give, verdicts what the facts say, and calls must be there."""
    found.trials = db.execute("SELECT count(*) FROM trials").fetchone()[0]
    bad = [*trial_faults(db), *call_faults(db)]
    found.ailments += [Ailment(text) for text in bad[:SHOWN]]
    if len(bad) > SHOWN:
        found.ailments.append(Ailment(f"and {len(bad) - SHOWN:,} more such trials"))


_COUNTED = (
    "SELECT total(verdict = 'pass'), total(verdict = 'fail'), total(verdict = 'invalid'),"
    " total(verdict = 'none'), min(id), max(id) FROM trials WHERE hunt = ?"
)


def _check_counts(db: sqlite3.Connection, found: Diagnosis) -> None:
    query = "SELECT hunt, pass, fail, invalid, none, first_trial, last_trial FROM totals"
    for hunt, *kept in db.execute(query).fetchall():
        counted = list(db.execute(_COUNTED, (hunt,)).fetchone())
        if counted != kept:
            found.miscounted.append(hunt)
            text = f"hunt {hunt} has {kept[:4]} passes, fails, invalid and untested by its totals,"
            found.ailments.append(Ailment(f"{text} {counted[:4]} by its trials", "counted anew"))


def _check_pictures(atlas: Atlas, found: Diagnosis, lost: bool) -> None:
    for digest in atlas.image_digests():
        found.pictures += 1
        try:
            found.bytes += len(atlas.images.get(digest).data)
        except UnreadablePicture:
            raise  # nothing is known about the picture: it may be as sound as ever
        except AtlasError as error:
            if isinstance(error, MissingPicture) and not lost:
                raise UnreadablePicture(
                    f"{error.message}, which is no sign of damage: its file may only be elsewhere",
                    "restore or mount the file; if it is lost, `failscape doctor ATLAS --mend --yes` takes"
                    " its trials back",
                ) from error
            found.gone.append(digest)
            if len(found.gone) <= SHOWN:
                mends = "trials that were judged by it are taken back, to be drawn again"
                found.ailments.append(Ailment(error.message, mends))
    if len(found.gone) > SHOWN:
        found.ailments.append(Ailment(f"and {len(found.gone) - SHOWN:,} more pictures", "as above"))
    found.stray = list(stray_packs(atlas))
    for path in found.stray:
        found.ailments.append(Ailment(f"{path.name} has no picture that a row names", "removed"))


def stray_packs(atlas: Atlas) -> Iterator[Path]:
    """Packs that nothing names: a killed prune or merge may leave one."""
    with atlas.reading() as db:
        if version_of(db) < reader.PACKS_SINCE:
            return
        query = "SELECT name FROM packs p WHERE grows OR EXISTS (SELECT 1 FROM images WHERE pack = p.id)"
        named = {f"{name}{SUFFIX}" for (name,) in db.execute(query)}
    refuse_link(atlas.images.folder)
    for path in sorted(atlas.images.folder.glob(f"*{SUFFIX}")):
        if path.name not in named:
            yield path


def unnamed_pictures(atlas: Atlas) -> Iterator[str]:
    """A sentence where packs hold pictures but the database has no trial: its log may have been lost.

    Photos are stored before the first trial. The database names them, so they are not meant.
    """
    with atlas.reading() as db:
        trials = db.execute("SELECT 1 FROM trials LIMIT 1").fetchone()
    if trials is not None:
        return
    size = sum(path.stat().st_size for path in stray_packs(atlas))
    if size:
        yield (
            f"{atlas.images.folder} holds {size / 2**20:,.1f} MiB of pictures, but no trial names them: if"
            " there were trials, atlas.db-wal was lost; stop, and restore it from a copy"
        )


def mend(atlas: Atlas, found: Diagnosis, retell: Retell, sure: bool = False) -> list[str]:
    """Do what can be done; gives what was done, as sentences. The atlas is open for writing.

    Raises `AtlasError` when more than 1 % of the pictures are damaged, unless the user is `sure`.
    """
    if found.gone_share > ASKS_ABOVE and not sure:
        raise AtlasError(
            f"{len(found.gone):,} of {found.pictures:,} pictures are damaged, and a mend takes their trials"
            f" back; above {ASKS_ABOVE:.0%} it asks first",
            "look at the disk and restore a copy if there is one; `--yes` goes on. Trials that are taken back"
            " stay in the atlas, and `--restore` brings them back",
        )
    for path in found.stray:
        path.unlink(missing_ok=True)
    done = [f"{path.name} removed" for path in found.stray]
    if found.gone:
        done += _take_back(atlas, found.gone, retell)
    if found.miscounted:
        with atlas.transaction() as (db, _):
            for hunt in found.miscounted:
                _recount(db, hunt)
        done.append(f"counts of {len(found.miscounted)} hunts made anew")
    if done:
        atlas.log("mended", {"done": done})
    return done


def _recount(db: sqlite3.Connection, hunt: int) -> None:
    db.execute(
        "UPDATE totals SET pass = ?, fail = ?, invalid = ?, none = ?, first_trial = ?, last_trial = ?"
        " WHERE hunt = ?",
        (*db.execute(_COUNTED, (hunt,)).fetchone(), hunt),
    )


def _take_back(atlas: Atlas, gone: list[str], retell: Retell) -> list[str]:
    done = []
    with atlas.transaction() as (db, _):
        db.execute("CREATE TEMP TABLE gone (digest TEXT PRIMARY KEY)")
        try:
            db.executemany("INSERT INTO gone VALUES (?)", [(digest,) for digest in gone])
            where = "WHERE digest IN (SELECT digest FROM gone)"
            db.execute(f"INSERT OR REPLACE INTO withdrawn_images SELECT * FROM images {where}")
            db.execute(f"DELETE FROM images {where}")
            for hunt in reader.hunts(db, atlas.folder):
                done.append(_take_back_trials(db, hunt, retell))
        finally:
            db.execute("DROP TABLE gone")
    return [f"{len(gone):,} pictures struck off", *filter(None, done)]


def _take_back_trials(db: sqlite3.Connection, hunt: HuntRow, retell: Retell) -> str:
    """Trials of a hunt whose pictures are gone. They stay when the hunt cannot be told without them."""
    bad = [tried.number for tried in _trials(db, hunt.id) if _any_gone(db, tried.images)]
    if not bad:
        return ""
    db.execute("SAVEPOINT taking_back")
    rows = [(number,) for number in bad]
    db.executemany(KEEP_WITHDRAWN, rows)
    db.executemany("DELETE FROM trials WHERE id = ?", rows)
    RowWriter(db).outdate_results(hunt.id)
    _recount(db, hunt.id)
    try:
        retell(hunt, reader.replay(db, hunt.id))
    except Exception as error:  # whatever a hunt makes of trials that it cannot have: they stay
        db.execute("ROLLBACK TO taking_back")
        return f"{len(bad):,} trials of hunt {hunt.id} stay without their pictures: {error}"
    finally:
        db.execute("RELEASE taking_back")
    return f"{len(bad):,} trials of hunt {hunt.id} taken back: the next run draws them again"


_COLUMNS = "hunt, key, subject, plan, seed, verdict, reason, facts, calls, started, seconds"
KEEP_WITHDRAWN = (
    f"INSERT OR REPLACE INTO withdrawn (id, at, why, {_COLUMNS})"
    f" SELECT id, unixepoch(), 'its picture is damaged', {_COLUMNS} FROM trials WHERE id = ?"
)
#: Only where the trial has not been done again meanwhile. It gets its own number back: trials have an order.
_BRING_BACK = (
    f"INSERT INTO trials (id, {_COLUMNS}) SELECT id, {_COLUMNS} FROM withdrawn w WHERE NOT EXISTS"
    " (SELECT 1 FROM trials t WHERE t.id = w.id OR (t.hunt = w.hunt AND t.key = w.key))"
)


def restore_withdrawn(atlas: Atlas) -> int:
    """Bring back trials that a mend took back, unless they have been done again; gives how many."""
    with atlas.transaction() as (db, rows):
        number = db.execute(_BRING_BACK).rowcount
        db.execute("DELETE FROM withdrawn WHERE id IN (SELECT id FROM trials)")
        db.execute("INSERT OR IGNORE INTO images SELECT * FROM withdrawn_images")
        db.execute("DELETE FROM withdrawn_images")
        for (hunt,) in db.execute("SELECT id FROM hunts").fetchall():
            _recount(db, hunt)
            if number:
                rows.outdate_results(hunt)
        if number:
            rows.add_event("mended", {"done": [f"{number} withdrawn trials brought back"]}, None)
    return number


class _Tried(NamedTuple):
    number: int
    hunt: int
    verdict: str
    steps: tuple[Step, ...]
    images: tuple[str, ...]


def _trials(db: sqlite3.Connection, hunt: int | None = None) -> Iterator[_Tried]:
    """Those of one hunt or of all, page by page, so that rows can be changed meanwhile."""
    plans, last = Plans(db.execute), 0
    query = (
        "SELECT id, hunt, verdict, plan, facts FROM trials"
        " WHERE id > ?1 AND (?2 IS NULL OR hunt = ?2) ORDER BY id LIMIT ?3"
    )
    while rows := db.execute(query, (last, hunt, _MANY)).fetchall():
        for number, of, verdict, plan, text in rows:
            steps = plans.get(plan)
            with understood(f"trials {number!r}"):
                images = images_of(steps, json.loads(text))
            yield _Tried(number, of, verdict, steps, images)
        last = rows[-1][0]


def _any_gone(db: sqlite3.Connection, images: tuple[str, ...]) -> bool:
    query = "SELECT 1 FROM gone WHERE digest = ?"
    return any(db.execute(query, (digest,)).fetchone() is not None for digest in images)


#: Bytes that are copied at once into a new pack.
_GROUP = 8 << 20


@dataclass(frozen=True, slots=True)
class PruneRule:
    """Which trials no longer need their pictures. With both, a trial must fall under both.

    `passes`: those that passed. `hunts`: those of these hunts; empty for all.
    """

    passes: bool = False
    hunts: frozenset[int] = frozenset()

    def covers(self, hunt: int, verdict: str) -> bool:
        return (not self.passes or verdict == "pass") and (not self.hunts or hunt in self.hunts)

    def __str__(self) -> str:
        which = "of trials that passed" if self.passes else "of all trials"
        named = f" in hunt {', '.join(map(str, sorted(self.hunts)))}" if self.hunts else ""
        return which + named


@dataclass(frozen=True, slots=True)
class Pruned:
    pictures: int
    bytes: int
    kept: int


def prune(atlas: Atlas, rule: PruneRule, dry: bool = False) -> Pruned:
    """Drop the pictures that only trials under the rule name. With `dry`, only say what would go."""
    with atlas.transaction() as (db, rows):
        db.execute("CREATE TEMP TABLE needed (digest TEXT PRIMARY KEY)")
        db.execute("CREATE TEMP TABLE spare (digest TEXT PRIMARY KEY)")
        try:
            # Every picture that a trial names is needed, or spare, or both: then it is needed.
            for tried in _trials(db):
                images = [(digest,) for digest in tried.images]
                shown = any(isinstance(step, Show) for step in tried.steps)
                spare = rule.covers(tried.hunt, tried.verdict) and not shown
                db.executemany(f"INSERT OR IGNORE INTO {'spare' if spare else 'needed'} VALUES (?)", images)
            db.execute("DELETE FROM spare WHERE digest IN (SELECT digest FROM needed)")
            query = "SELECT count(*), total(bytes) FROM images WHERE digest IN (SELECT digest FROM spare)"
            number, size = db.execute(query).fetchone()
            kept = db.execute("SELECT count(*) FROM images").fetchone()[0] - number
            if number and not dry:
                _drop(db, atlas)
                text = f"{number:,} pictures {rule} were dropped by `failscape prune`; all else is kept"
                rows.add_event("warning", {"name": "pruned", "text": text, "fix": ""}, None)
        finally:
            db.execute("DROP TABLE needed")
            db.execute("DROP TABLE spare")
    if not dry:
        for path in stray_packs(atlas):
            path.unlink(missing_ok=True)
        _drop_files(atlas)
    return Pruned(number, int(size), kept)


def _drop(db: sqlite3.Connection, atlas: Atlas) -> None:
    """Packs that lose pictures are written anew without them. The old ones go after the commit."""
    touched = db.execute(
        "SELECT DISTINCT p.id, p.name FROM packs p JOIN images i ON i.pack = p.id"
        " WHERE i.digest IN (SELECT digest FROM spare)"
    ).fetchall()
    db.execute("DELETE FROM images WHERE digest IN (SELECT digest FROM spare)")
    atlas.images.close()
    for number, name in touched:
        rows = db.execute("SELECT digest, start, bytes FROM images WHERE pack = ? ORDER BY start", (number,))
        left = rows.fetchall()
        if left:
            folder = atlas.images.folder
            writer = PackWriter.begin(folder)
            cursor = db.execute("INSERT INTO packs (name, bytes, grows) VALUES (?, 0, 0)", (writer.name,))
            for group in _groups(left):
                whole = list(_whole(folder, name, group))
                db.executemany(
                    "UPDATE images SET pack = ?, start = ? WHERE digest = ?",
                    [
                        (cursor.lastrowid, place.start, picture.digest)
                        for picture, place in zip(whole, writer.append(whole), strict=True)
                    ],
                )
            db.execute("UPDATE packs SET bytes = ? WHERE id = ?", (writer.end, cursor.lastrowid))
            writer.close()
        if not db.execute("SELECT 1 FROM images WHERE pack = ?", (number,)).fetchone():
            db.execute("DELETE FROM packs WHERE id = ?", (number,))


def _whole(folder: Path, name: str, group: list[tuple[str, int, int]]) -> Iterator[Picture]:
    """What is damaged stays where it is, for the doctor to find."""
    for digest, start, size in group:
        picture = Picture(read_place(folder, PackPlace(name, start, size)))
        if picture.digest == digest:
            yield picture


def _groups(rows: list[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    group: list[tuple[str, int, int]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += row[2]
        if size >= _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _drop_files(atlas: Atlas) -> None:
    """Pictures that an earlier version kept as files, and that no row names any more."""
    refuse_link(atlas.images.folder)
    for near in atlas.images.folder.glob("[0-9a-f][0-9a-f]"):
        refuse_link(near)
        for path in near.iterdir():
            if is_digest(path.stem) and atlas.image_row(path.stem) is None:
                path.unlink(missing_ok=True)
