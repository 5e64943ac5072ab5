"""Examines an atlas as it lies on the disk: rows, counts, pictures. Says what is wrong, mends what can be.

What cannot be mended is said too. A picture that is gone or damaged cannot be made up: the trials that were
judged by it are taken back, so that the next run draws and judges them again, where the hunt allows that.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from failscape.atlas import reader
from failscape.atlas.decisions import Plans
from failscape.atlas.migrations import MIGRATIONS, version_of
from failscape.atlas.packs import SUFFIX
from failscape.atlas.records import HuntRow, images_of
from failscape.atlas.rows import check_facts, understood, unsound_rows
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.trials import Trial

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
    plans, bad = Plans(db), list[str]()
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
    bad = [number for number, images in _pictured(db, hunt.id) if _any_gone(db, images)]
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


def _pictured(db: sqlite3.Connection, hunt: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    plans, last = Plans(db), 0
    query = "SELECT id, facts, plan FROM trials WHERE hunt = ? AND id > ? ORDER BY id LIMIT ?"
    while rows := db.execute(query, (hunt, last, _MANY)).fetchall():
        for number, text, plan in rows:
            yield number, images_of(plans.get(plan), json.loads(text))
        last = rows[-1][0]


def _any_gone(db: sqlite3.Connection, images: tuple[str, ...]) -> bool:
    query = "SELECT 1 FROM gone WHERE digest = ?"
    return any(db.execute(query, (digest,)).fetchone() is not None for digest in images)
