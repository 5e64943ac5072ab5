"""Keeps what is known about judges: samples for people, their labels, and the accuracy that came of them.

A hunt's findings are told with the newest accuracy that its settings allow: that of a review, else the one it
was run with.
"""

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from failscape.atlas.records import HuntRow
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.stats.judging.accuracy import JudgeAccuracy

#: Values of `judge_accuracy`; any other names a file.
NONE, AUTO = "none", "auto"

#: The version of atlases that first had these tables.
REVIEWS_SINCE = 2


YES, NO, UNSURE = "yes", "no", "unsure"
#: How the name of a review begins that audits single modes. The kind of its items is the mode's subject.
MODES = "modes-"


class ReviewItem(NamedTuple):
    """A sampled check. `stands_for` is how many decided checks of its stratum there are per sampled one."""

    item: str
    trial: str
    place: int
    kind: str
    answer: bool
    near: bool
    stands_for: float


class Review(NamedTuple):
    uid: str
    hunt: int
    judge: str


class ReviewLabel(NamedTuple):
    """`label` is yes, no or unsure."""

    item: str
    reviewer: str
    label: str


def settle(labels: Iterable[ReviewLabel]) -> dict[str, str]:
    """One label per item: what most of those say who are sure; unsure when they are even."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for label in labels:
        votes[label.item][label.label] += 1
    return {
        item: YES if said[YES] > said[NO] else NO if said[NO] > said[YES] else UNSURE
        for item, said in votes.items()
    }


def atlas_uid(atlas: Atlas) -> str:
    return str(next(atlas.query("SELECT uid FROM atlas"))[0])


def add_review(atlas: Atlas, review: Review, seed: int, items: Sequence[ReviewItem]) -> None:
    """Adding the same review again changes nothing."""
    with atlas.transaction() as (db, rows):
        added = db.execute(
            "INSERT OR IGNORE INTO reviews (uid, hunt, judge, seed, at) VALUES (?, ?, ?, ?, ?)",
            (*review, seed, time.time()),
        ).rowcount
        if added:
            db.executemany(
                "INSERT INTO review_items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(review.uid, *item) for item in items],
            )
            rows.add_event("review", {"review": review.uid, "items": len(items)}, review.hunt)


def find_review(atlas: Atlas, uid: str) -> Review:
    known = {row[0]: Review(*row) for row in atlas.query("SELECT uid, hunt, judge FROM reviews ORDER BY id")}
    if uid not in known:
        has = f"its reviews are {', '.join(known)}" if known else "it has no reviews"
        raise AtlasError(
            f"review {uid!r} does not belong to {atlas.folder}: {has}",
            "give the atlas that `failscape review export` was run on",
        )
    return known[uid]


def mode_reviews_of(atlas: Atlas, hunt_id: int) -> list[Review]:
    """Audits of single modes of a hunt, in the order drawn; none in atlases of before there were reviews."""
    query = "SELECT uid, hunt, judge FROM reviews WHERE hunt = ? AND uid LIKE ? ORDER BY id"
    return [Review(*row) for row in atlas.query(query, (hunt_id, f"{MODES}%"), REVIEWS_SINCE)]


def people_said(atlas: Atlas, hunt_id: int) -> dict[str, bool | None]:
    """Key of a trial → whether its answer is wrong, by audits of a hunt's modes; None: people cannot tell.

    Only these: labels of a sample by the judge's answer say nothing of a mode's rate.
    """
    found: dict[str, bool | None] = {}
    for review in mode_reviews_of(atlas, hunt_id):
        agreed = settle(labels_of(atlas, review.uid))
        for item in items_of(atlas, review.uid):
            if item.item in agreed:
                found[item.trial] = {YES: False, NO: True}.get(agreed[item.item])
    return found


def reckoned_with(accuracy: JudgeAccuracy | None, said: Mapping[str, bool | None]) -> str:
    """Names what findings are told with besides trials: the judge's accuracy, and what people said."""
    known = accuracy.digest if accuracy else ""
    if not said:
        return known
    text = f"{known}{sorted(said.items())}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def add_label(atlas: Atlas, uid: str, label: ReviewLabel) -> None:
    """One label as it is given. The log of events gets no line of its own for each."""
    with atlas.transaction() as (db, _):
        row = (uid, label.item, label.reviewer, label.label, time.time())
        db.execute("INSERT OR REPLACE INTO review_labels VALUES (?, ?, ?, ?, ?)", row)


def take_back(atlas: Atlas, uid: str, reviewer: str) -> str:
    """Remove the newest label of a reviewer. Returns its item, "" when there is none."""
    with atlas.transaction() as (db, _):
        row = db.execute(
            "SELECT item FROM review_labels WHERE review = ? AND reviewer = ? ORDER BY at DESC LIMIT 1",
            (uid, reviewer),
        ).fetchone()
        if row is None:
            return ""
        query = "DELETE FROM review_labels WHERE review = ? AND item = ? AND reviewer = ?"
        db.execute(query, (uid, row[0], reviewer))
    return str(row[0])


def add_labels(atlas: Atlas, uid: str, labels: Sequence[ReviewLabel]) -> None:
    """What a reviewer says anew replaces what the same one said before; the same again changes nothing."""
    known = set(labels_of(atlas, uid))
    fresh = [label for label in labels if label not in known]
    if not fresh:
        return
    with atlas.transaction() as (db, rows):
        now = time.time()
        db.executemany(
            "INSERT OR REPLACE INTO review_labels VALUES (?, ?, ?, ?, ?)",
            [(uid, label.item, label.reviewer, label.label, now) for label in fresh],
        )
        people = sorted({label.reviewer for label in fresh})
        rows.add_event("labels", {"review": uid, "labels": len(fresh), "reviewers": people}, None)


def reviews_of(atlas: Atlas, judge: str) -> list[Review]:
    """Reviews that measure a judge; audits of modes are no fair sample of its answers."""
    query = "SELECT uid, hunt, judge FROM reviews WHERE judge = ? AND uid NOT LIKE ? ORDER BY id"
    return [Review(*row) for row in atlas.query(query, (judge, f"{MODES}%"))]


def items_of(atlas: Atlas, uid: str) -> list[ReviewItem]:
    query = "SELECT item, trial, place, kind, answer, near, stands_for FROM review_items WHERE review = ?"
    return [
        ReviewItem(item, trial, place, kind, bool(answer), bool(near), stands_for)
        for item, trial, place, kind, answer, near, stands_for in atlas.query(query, (uid,))
    ]


def labels_of(atlas: Atlas, uid: str) -> list[ReviewLabel]:
    query = "SELECT item, reviewer, label FROM review_labels WHERE review = ? ORDER BY item, reviewer"
    return [ReviewLabel(*row) for row in atlas.query(query, (uid,))]


def keep_accuracy(atlas: Atlas, hunt_id: int, accuracy: JudgeAccuracy | None) -> None:
    """Note what a hunt is run with, so that its findings can be told from the atlas alone."""
    before = _newest(atlas, "hunt = ?", hunt_id)
    if accuracy is not None and (before is None or before.digest != accuracy.digest):
        _add(atlas, hunt_id, accuracy)


def keep_reviewed(atlas: Atlas, accuracy: JudgeAccuracy) -> None:
    """What people found about a judge: it holds for all hunts of this atlas with that judge."""
    before = reviewed_accuracy(atlas, accuracy.judge)
    if before is None or before.digest != accuracy.digest:
        _add(atlas, None, accuracy)


def update_reviewed(atlas: Atlas, accuracy: JudgeAccuracy) -> None:
    """As `keep_reviewed`, but in place of the newest one of this judge: labels are coming in one by one."""
    with atlas.transaction() as (db, _):
        changed = db.execute(
            "UPDATE accuracies SET content = ?, at = ? WHERE id ="
            " (SELECT max(id) FROM accuracies WHERE hunt IS NULL AND judge = ?)",
            (accuracy.to_json(), time.time(), accuracy.judge),
        ).rowcount
    if not changed:
        keep_reviewed(atlas, accuracy)


def forget_reviewed(atlas: Atlas, judge: str) -> None:
    """Reckon with no review of this judge any more. Labels stay."""
    with atlas.transaction() as (db, rows):
        db.execute("DELETE FROM accuracies WHERE hunt IS NULL AND judge = ?", (judge,))
        rows.add_event("accuracy", {"source": "the review is no longer used", "judge": judge}, None)


def decider_of(row: HuntRow) -> Identity | None:
    """Who decides in a hunt and can be reviewed: its verifier, else its judge."""
    return row.identities.get("verifier") or row.identities.get("judge")


def reviewed_accuracy(atlas: Atlas, judge: str) -> JudgeAccuracy | None:
    """The newest review of the judge with this digest of identity."""
    return _newest(atlas, "hunt IS NULL AND judge = ?", judge)


def hunt_accuracy(atlas: Atlas, row: HuntRow) -> JudgeAccuracy | None:
    """What a hunt's findings are told with now: a review if its settings allow, else what it ran with."""
    setting = str(row.config.get("accuracy") or row.config.get("judge_accuracy", AUTO))
    judge = decider_of(row)
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
    query = f"SELECT content FROM accuracies WHERE {where} ORDER BY id DESC LIMIT 1"
    row = next(atlas.query(query, (value,), REVIEWS_SINCE), None)
    return JudgeAccuracy.from_json(row[0], f"the accuracy kept in {atlas.folder}") if row else None
