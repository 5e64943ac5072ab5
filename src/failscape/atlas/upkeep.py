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
from failscape.atlas.images import SUFFIX, PackPlace, PackWriter, read_place
from failscape.atlas.judging import Plans
from failscape.atlas.records import HuntRow, check_facts, images_of, understood, unsound_rows
from failscape.atlas.store import Atlas
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


def examine(atlas: Atlas) -> Diagnosis:
    """Look at every row and every picture. Reads only."""
    found = Diagnosis()
    atlas.hunts()  # settings, models and corpora can be read
    with atlas.reading() as db:
        version = version_of(db)
        if version < len(MIGRATIONS):
            text = f"it is of version {version}, this failscape writes version {len(MIGRATIONS)}"
            found.ailments.append(Ailment(text, "brought up to date"))
        damage = [row[0] for row in db.execute("PRAGMA quick_check(5)")]
        if damage != ["ok"]:
            found.ailments.append(Ailment(f"the database is damaged: {'; '.join(damage)}"))
            return found
        bad = list(unsound_rows(db, version, most=SHOWN))
        found.ailments += [Ailment(f"row {row} does not have the form that such rows have") for row in bad]
        if not bad:
            _check_trials(db, found)
            _check_counts(db, found)
            _check_pictures(atlas, found)
    return found


def _check_trials(db: sqlite3.Connection, found: Diagnosis) -> None:
    """Facts must be what their steps give, and calls must be there."""
    plans, bad = Plans(db.execute), list[str]()
    for number, text, plan, keys in db.execute("SELECT id, facts, plan, calls FROM trials ORDER BY id"):
        found.trials += 1
        try:
            with understood(f"trials {number}"):
                check_facts(plans.get(plan), json.loads(text))
        except AtlasError as error:
            bad.append(error.message)
        for at in range(0, len(keys), 16):
            query = "SELECT 1 FROM calls WHERE key = ?"
            if db.execute(query, (keys[at : at + 16],)).fetchone() is None:
                bad.append(f"trial {number} names the call {keys[at : at + 16].hex()}, which is not there")
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


def _check_pictures(atlas: Atlas, found: Diagnosis) -> None:
    for digest in atlas.image_digests():
        found.pictures += 1
        try:
            found.bytes += len(atlas.images.get(digest).data)
        except AtlasError as error:
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
    for path in sorted(atlas.images.folder.glob(f"*{SUFFIX}")):
        if path.name not in named:
            yield path


def mend(atlas: Atlas, found: Diagnosis, retell: Retell) -> list[str]:
    """Do what can be done; gives what was done, as sentences. The atlas is open for writing."""
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
            db.execute("DELETE FROM images WHERE digest IN (SELECT digest FROM gone)")
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
    db.executemany("DELETE FROM trials WHERE id = ?", [(number,) for number in bad])
    _recount(db, hunt.id)
    try:
        retell(hunt, reader.replay(db, hunt.id))
    except Exception as error:  # whatever a hunt makes of trials that it cannot have: they stay
        db.execute("ROLLBACK TO taking_back")
        return f"{len(bad):,} trials of hunt {hunt.id} stay without their pictures: {error}"
    finally:
        db.execute("RELEASE taking_back")
    return f"{len(bad):,} trials of hunt {hunt.id} taken back: the next run draws them again"


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
            yield _Tried(number, of, verdict, steps, images_of(steps, json.loads(text)))
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
    for path in atlas.images.folder.glob("[0-9a-f][0-9a-f]/*"):
        if atlas.image_row(path.stem) is None:
            path.unlink(missing_ok=True)
