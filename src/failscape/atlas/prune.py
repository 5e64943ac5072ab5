"""Drops pictures by rule and keeps everything else: trials, replies, verdicts, findings.

A picture goes only when every trial that names it falls under the rule. Those that a hunt shows rather than
draws stay, for it could not go on without them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from failscape.atlas import reader
from failscape.atlas.decisions import Plans
from failscape.atlas.doctor import stray_packs
from failscape.atlas.packs import PackPlace, PackWriter, read_place
from failscape.atlas.records import images_of
from failscape.atlas.store import Atlas
from failscape.pictures import Picture
from failscape.trials import Show, Step

_MANY = 512
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
            _sort(db, rule)
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


def _sort(db: sqlite3.Connection, rule: PruneRule) -> None:
    """Every picture that a trial names is needed, or spare, or both: then it is needed."""
    plans = Plans(db)
    for hunt, verdict, text, plan in _trials(db):
        steps, facts = plans.get(plan), json.loads(text)
        images = [(digest,) for digest in images_of(steps, facts)]
        spare = rule.covers(hunt, verdict) and not _shows(steps)
        db.executemany(f"INSERT OR IGNORE INTO {'spare' if spare else 'needed'} VALUES (?)", images)
    db.execute("DELETE FROM spare WHERE digest IN (SELECT digest FROM needed)")


def _trials(db: sqlite3.Connection) -> Iterator[tuple[int, str, str, int]]:
    last = 0
    query = "SELECT id, hunt, verdict, facts, plan FROM trials WHERE id > ? ORDER BY id LIMIT ?"
    while rows := db.execute(query, (last, _MANY)).fetchall():
        yield from (row[1:] for row in rows)
        last = rows[-1][0]


def _shows(steps: tuple[Step, ...]) -> bool:
    return any(isinstance(step, Show) for step in steps)


def _drop(db: sqlite3.Connection, atlas: Atlas) -> None:
    """Packs that lose pictures are written anew without them. The old ones go after the commit."""
    touched = db.execute(
        "SELECT DISTINCT p.id, p.name FROM packs p JOIN images i ON i.pack = p.id"
        " WHERE i.digest IN (SELECT digest FROM spare)"
    ).fetchall()
    db.execute("DELETE FROM images WHERE digest IN (SELECT digest FROM spare)")
    atlas.images.close()
    for number, name in touched:
        _rewrite(db, atlas, number, name)


def _rewrite(db: sqlite3.Connection, atlas: Atlas, number: int, name: str) -> None:
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
        with atlas.reading() as db:
            if reader.image_row(db, path.stem) is None:
                path.unlink(missing_ok=True)
