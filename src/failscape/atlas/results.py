"""Keeps what a hunt told after its last trial, bound to that trial and to the rules it was told by.

Trials stay the only truth. What is kept is used only while it belongs to them: the same last trial, as many
trials, the same rules, the same accuracy of the judge. Otherwise the trials are told again.
"""

import hashlib
import importlib.util
import sqlite3
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from failscape.atlas.migrations import version_of
from failscape.atlas.store import Atlas

_FIRST_VERSION = 3
#: What findings follow from, besides trials and settings.
_RULES = ("failscape.hunts", "failscape.stats", "failscape.spaces", "failscape.trials")


@cache
def rules_version(module: str) -> str:
    """A digest of the code that makes findings of trials: of ours, and of the package that `module` is in.

    Any change of it makes kept results stale, also one that changes nothing: telling again is slow but right.
    """
    top = module.partition(".")[0]
    digest = hashlib.blake2b(digest_size=12)
    for name in _RULES if top == "failscape" else (*_RULES, top):
        for path in _sources(name):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(name: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return
    origin = Path(spec.origin)
    yield from sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]


def keep_results(atlas: Atlas, hunt_id: int, content: bytes, rules: str, judge: str, trials: int) -> bool:
    """Keep what the hunt told after so many trials. Not when the atlas has others: then it fits none."""
    with atlas.transaction() as (db, _):
        last, number = _state(db, hunt_id)
        if last is None or number != trials:
            return False
        db.execute(
            "INSERT OR REPLACE INTO results (hunt, last_trial, trials, rules, judge, at, content)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (hunt_id, last, number, rules, judge, time.time(), content),
        )
    return True


def kept_results(atlas: Atlas, hunt_id: int, rules: str, judge: str) -> bytes | None:
    """What was kept, if it belongs to the trials that are there now."""
    with atlas.reading() as db:
        if version_of(db) < _FIRST_VERSION:
            return None
        last, number = _state(db, hunt_id)
        row = db.execute(
            "SELECT content FROM results"
            " WHERE hunt = ? AND last_trial = ? AND trials = ? AND rules = ? AND judge = ?",
            (hunt_id, last, number, rules, judge),
        ).fetchone()
    return bytes(row[0]) if row else None


def last_results(atlas: Atlas, hunt_id: int) -> bytes | None:
    """What was kept last, stale or not: for those who go on from there."""
    with atlas.reading() as db:
        if version_of(db) < _FIRST_VERSION:
            return None
        row = db.execute("SELECT content FROM results WHERE hunt = ?", (hunt_id,)).fetchone()
    return bytes(row[0]) if row else None


def _state(db: sqlite3.Connection, hunt_id: int) -> tuple[int | None, int]:
    row = db.execute(
        "SELECT last_trial, pass + fail + invalid + none FROM totals WHERE hunt = ?", (hunt_id,)
    ).fetchone()
    return (row[0], row[1]) if row else (None, 0)
