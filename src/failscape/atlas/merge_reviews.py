"""Brings what people and files say about judges from one atlas into another, as far as it may count there.

A review changes what findings are told. That of another atlas holds for the hunts of that atlas, and for no
hunt of the user, unless the user says that its source is to be trusted. Whether an atlas is the user's own
cannot be told from its rows: a stranger can copy them. So hunts that are joined, though one of them is
reviewed and the other is not in the same way, are refused until the user has said what is to be done.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from failscape.atlas.judging import AUTO, accuracy_setting, decider_of
from failscape.atlas.later_tables import HUNT, REVIEW, brought_in, note_brought_in
from failscape.atlas.records import HuntRow
from failscape.errors import AtlasError


class JoinedHunt(NamedTuple):
    """Hunt `hunt` of the source is hunt `there` of the target, which was there `before` the merge."""

    hunt: HuntRow
    there: int
    before: bool


_ITEMS = "review, item, trial, place, kind, answer, near, stands_for"


def refuse_mixed_reviews(db: sqlite3.Connection, joined: JoinedHunt, folder: Path, leave: bool) -> None:
    """Raise when reviews of one side would change what is found on the other side of a hunt.

    `leave`: those of the source are left out, so that only those of the target count.
    """
    here = frozenset() if leave else _statements(db, "source.", joined.hunt, joined.hunt.id)
    there = _statements(db, "main.", joined.hunt, joined.there)
    foreign = _statements(db, "main.", joined.hunt, joined.there, foreign=True)
    if here - there or (foreign - here and _brings_trials(db, joined)):
        raise AtlasError(
            f"hunt {joined.hunt.id} of {folder} would be joined with hunt {joined.there}, but they were"
            " reviewed differently: what people or files said about the judge of one would change the"
            " findings of the other",
            "--trust-sources joins them with all reviews, --without-reviews leaves those of the sources out;"
            " or merge into another folder",
        )


def _statements(
    db: sqlite3.Connection, schema: str, hunt: HuntRow, number: int, foreign: bool = False
) -> frozenset[tuple[object, ...]]:
    """All that is said about the judge of a hunt; with `foreign`, only what merges brought in."""
    only = " AND origin IS NOT NULL" if foreign else ""
    run_with = f"SELECT judge, content FROM {schema}accuracies WHERE hunt = ?{only}"
    found: set[tuple[object, ...]] = set(db.execute(run_with, (number,)))
    judge = decider_of(hunt)
    if judge is not None and accuracy_setting(hunt) == AUTO:
        reviewed = f"SELECT judge, content FROM {schema}accuracies WHERE hunt IS NULL AND judge = ?{only}"
        found.update(db.execute(f"{reviewed} ORDER BY id DESC LIMIT 1", (judge.digest,)))
    strange = brought_in(db, REVIEW, schema)
    for (uid,) in db.execute(f"SELECT uid FROM {schema}reviews WHERE hunt = ?", (number,)).fetchall():
        if not foreign or uid in strange:
            labels = f"SELECT review, item, reviewer, label FROM {schema}review_labels WHERE review = ?"
            found.update(db.execute(labels, (uid,)))
            found.update(db.execute(f"SELECT {_ITEMS} FROM {schema}review_items WHERE review = ?", (uid,)))
    return frozenset(found)


def _brings_trials(db: sqlite3.Connection, joined: JoinedHunt) -> bool:
    query = (
        "SELECT 1 FROM source.trials s WHERE s.hunt = ? AND NOT EXISTS"
        " (SELECT 1 FROM trials t WHERE t.hunt = ? AND t.key = s.key) LIMIT 1"
    )
    return db.execute(query, (joined.hunt.id, joined.there)).fetchone() is not None


def copy_reviews(db: sqlite3.Connection, joined: Sequence[JoinedHunt], trusted: bool) -> None:
    """Reviews are named by what they hold, so that one is brought in once; labels of both sides are kept."""
    numbers = {one.hunt.id: one.there for one in joined}
    _copy_samples(db, numbers, trusted)
    _copy_accuracies(db, numbers)
    if trusted:
        _copy_shared_accuracies(db)
        return
    for one in joined:
        if not one.before:
            _attribute_accuracy(db, one)


def _copy_samples(db: sqlite3.Connection, numbers: Mapping[int, int], trusted: bool) -> None:
    strange = brought_in(db, REVIEW, "source.")
    for hunt, uid, *rest in db.execute("SELECT hunt, uid, judge, seed, at FROM source.reviews ORDER BY id"):
        there = db.execute("SELECT hunt FROM reviews WHERE uid = ?", (uid,)).fetchone()
        if there is not None and there[0] != numbers[hunt]:
            raise AtlasError(
                f"review {uid!r} belongs to hunt {there[0]} here, but to another one in the source",
                "--without-reviews leaves the reviews of the sources out",
            )
        if there is None:
            db.execute(
                "INSERT INTO reviews (hunt, uid, judge, seed, at) VALUES (?,?,?,?,?)",
                (numbers[hunt], uid, *rest),
            )
            if not trusted or uid in strange:
                note_brought_in(db, REVIEW, uid)
        for table in ("review_items", "review_labels"):
            db.execute(
                f"INSERT OR IGNORE INTO main.{table} SELECT * FROM source.{table} WHERE review = ?", (uid,)
            )


_ORIGIN = "coalesce(origin, (SELECT uid FROM source.atlas) || '/' || id)"


def _copy_accuracies(db: sqlite3.Connection, numbers: Mapping[int, int]) -> None:
    """Those that hunts were run with. Of a hunt that was there the same is not noted again."""
    query = f"SELECT hunt, at, judge, content, {_ORIGIN} FROM source.accuracies WHERE hunt IS NOT NULL"
    for hunt, at, judge, content, origin in db.execute(f"{query} ORDER BY id"):
        values = (numbers[hunt], at, judge, content, origin)
        db.execute(
            "INSERT OR IGNORE INTO accuracies (hunt, at, judge, content, origin) SELECT ?1, ?2, ?3, ?4, ?5"
            " WHERE NOT EXISTS (SELECT 1 FROM accuracies WHERE hunt = ?1 AND content = ?4)",
            values,
        )


def _copy_shared_accuracies(db: sqlite3.Connection) -> None:
    """Those of reviews, which hold for all hunts with that judge."""
    db.execute(
        "INSERT OR IGNORE INTO accuracies (hunt, at, judge, content, origin)"
        f" SELECT NULL, at, judge, content, {_ORIGIN} FROM source.accuracies WHERE hunt IS NULL ORDER BY id"
    )


def _attribute_accuracy(db: sqlite3.Connection, joined: JoinedHunt) -> None:
    """The newest review of a hunt's judge, in the source for all hunts with it, is here for this one."""
    judge = decider_of(joined.hunt)
    if judge is None or accuracy_setting(joined.hunt) != AUTO:
        return
    db.execute(
        "INSERT OR IGNORE INTO accuracies (hunt, at, judge, content, origin)"
        f" SELECT ?1, at, judge, content, {_ORIGIN} || '/' || ?1 FROM source.accuracies"
        " WHERE hunt IS NULL AND judge = ?2 ORDER BY id DESC LIMIT 1",
        (joined.there, judge.digest),
    )


def note_hunts(db: sqlite3.Connection, joined: Sequence[JoinedHunt], trusted: bool) -> None:
    """Remember which hunts hold something that the user has not vouched for."""
    strange = brought_in(db, HUNT, "source.")
    for one in joined:
        if not trusted or one.hunt.id in strange:
            note_brought_in(db, HUNT, one.there)
