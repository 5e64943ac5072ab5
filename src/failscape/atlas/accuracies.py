"""Keeps how judges err: what a hunt was run with, and what reviews in this atlas have found since."""

from __future__ import annotations

import time

from failscape.atlas.migrations import version_of
from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.stats.judging.accuracy import JudgeAccuracy

NONE, AUTO = "none", "auto"
"""Values of `judge_accuracy`; any other names a file."""

_FIRST_VERSION = 2


def keep_accuracy(atlas: Atlas, hunt_id: int, accuracy: JudgeAccuracy | None) -> None:
    """Note what a hunt is run with, so that its findings can be told from the atlas alone."""
    before = _newest(atlas, "hunt = ?", hunt_id)
    if accuracy is None or (before is not None and before.digest == accuracy.digest):
        return
    _add(atlas, hunt_id, accuracy)


def keep_reviewed(atlas: Atlas, accuracy: JudgeAccuracy) -> None:
    """What people found about a judge: it holds for all hunts of this atlas with that judge."""
    _add(atlas, None, accuracy)


def reviewed_accuracy(atlas: Atlas, judge: str) -> JudgeAccuracy | None:
    """The newest review of the judge with this digest of identity."""
    return _newest(atlas, "hunt IS NULL AND judge = ?", judge)


def hunt_accuracy(atlas: Atlas, row: HuntRow) -> JudgeAccuracy | None:
    """What a hunt's findings are told with now: a review if its settings allow, else what it ran with."""
    setting = str(row.config.get("judge_accuracy", AUTO))
    judge = row.identities.get("judge")
    if setting == NONE or judge is None:
        return None
    reviewed = reviewed_accuracy(atlas, judge.digest) if setting == AUTO else None
    return reviewed or _newest(atlas, "hunt = ?", row.id)


def _add(atlas: Atlas, hunt_id: int | None, accuracy: JudgeAccuracy) -> None:
    with atlas.transaction() as (db, rows):
        db.execute(
            "INSERT INTO accuracies (at, hunt, judge, content) VALUES (?, ?, ?, ?)",
            (time.time(), hunt_id, accuracy.judge, accuracy.to_json()),
        )
        rows.add_event("accuracy", {"source": accuracy.source, "digest": accuracy.digest}, hunt_id)


def _newest(atlas: Atlas, where: str, value: int | str) -> JudgeAccuracy | None:
    with atlas.reading() as db:
        if version_of(db) < _FIRST_VERSION:
            return None  # an older atlas, open for reading only
        query = f"SELECT content FROM accuracies WHERE {where} ORDER BY id DESC LIMIT 1"
        row = db.execute(query, (value,)).fetchone()
    return JudgeAccuracy.from_json(row[0], f"the accuracy kept in {atlas.folder}") if row else None
