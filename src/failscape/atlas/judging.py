"""What judges decided, check by check, and what is known about them: samples for people, labels, accuracy.

A hunt's findings are told with the newest accuracy that its settings allow: that of a review, else the one
it was run with.
"""

import hashlib
import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from failscape.atlas.later_tables import HUNT, brought_in
from failscape.atlas.records import HuntRow, images_of, understood
from failscape.atlas.store import Atlas
from failscape.errors import AtlasError
from failscape.models.roles import Identity
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import (
    Answer,
    Check,
    Decide,
    Edit,
    Facts,
    Generate,
    Probe,
    Recall,
    Show,
    Step,
    Verdict,
    Verify,
    steps_from_json,
)

_MANY = 512


class ReviewQuestion(StrEnum):
    """What people are asked about a decision."""

    IS_SO = "Is this so?"
    IS_RIGHT = "Is the answer right?"
    #: Of a later turn of a talk.
    STANDS_BY_IT = "Does it stand by what it said?"


class Decision(NamedTuple):
    """`answer` to check number `place` of a trial, about the picture with digest `image`."""

    trial: str
    subject: str
    place: int
    check: Check
    answer: bool
    image: str
    question: ReviewQuestion = ReviewQuestion.IS_SO


class AnswerPair(NamedTuple):
    """What two judges said to the same check about the same picture."""

    subject: str
    check: Check
    first: bool
    second: bool


def decisions(atlas: Atlas, hunt_id: int) -> Iterator[Decision]:
    """Every decided check of a hunt and every verified answer, in the order recorded; open ones left out."""
    query = "SELECT key, subject, facts, plan FROM trials NOT INDEXED WHERE hunt = ? ORDER BY id"
    plans = Plans(atlas.query)
    for key, subject, text, plan in atlas.query(query, (hunt_id,)):
        with understood(f"trials {key!r}"):
            found = _decisions(key, subject, plans.get(plan), json.loads(text))
        yield from found


def pairs(atlas: Atlas, first: int, second: int) -> Iterator[AnswerPair]:
    """Checks that both hunts decided about the same picture in trials of the same key."""
    query = (
        "SELECT a.subject, a.facts, b.facts, a.plan FROM trials a NOT INDEXED"
        " JOIN trials b ON b.hunt = ? AND b.key = a.key AND b.plan = a.plan WHERE a.hunt = ? ORDER BY a.id"
    )
    plans = Plans(atlas.query)
    for subject, one, two, plan in atlas.query(query, (second, first)):
        with understood(f"trials of {subject!r}"):
            steps = plans.get(plan)
            here_there = [list(decided(steps, json.loads(text))) for text in (one, two)]
        for (_, check, here, image), (_, _, there, other) in zip(*here_there, strict=False):
            if here is not None and there is not None and image == other:
                yield AnswerPair(subject, check, here, there)


def probes_of(atlas: Atlas, hunt_id: int, but_for: int = 0) -> Iterator[tuple[Probe, bool]]:
    """What a hunt asked, in the order recorded, and whether its picture is kept.

    Keys that hunt `but_for` has are left out. Read page by page, so that writing can go on beside it.
    """
    query = (
        "SELECT id, key, subject, seed, facts, plan FROM trials t NOT INDEXED WHERE hunt = ? AND id > ?"
        " AND NOT EXISTS (SELECT 1 FROM trials n WHERE n.hunt = ? AND n.key = t.key) ORDER BY id LIMIT ?"
    )
    plans, last = Plans(atlas.query), 0
    while rows := list(atlas.query(query, (hunt_id, last, but_for, _MANY))):
        for number, key, subject, seed, text, plan in rows:
            with understood(f"trials {number!r}"):
                steps, last = plans.get(plan), number
                images = images_of(steps, json.loads(text))
            yield Probe(key, subject, steps, seed), bool(images) and has_image(atlas, images[-1])


def asked_trials(atlas: Atlas, hunt_id: int) -> Iterator[tuple[Probe, list[Facts], Verdict]]:
    """Every trial of a hunt that tested something, in the order recorded, without its calls.

    What was asked, what was learnt, and the verdict: enough to ask the same again of another model.
    """
    query = (
        "SELECT key, subject, seed, facts, plan, verdict FROM trials NOT INDEXED"
        " WHERE hunt = ? AND verdict IN ('pass', 'fail') ORDER BY id"
    )
    plans = Plans(atlas.query)
    for key, subject, seed, text, plan, verdict in atlas.query(query, (hunt_id,)):
        with understood(f"trials {key!r}"):
            probe = Probe(key, subject, plans.get(plan), seed)
            facts = json.loads(text)
        yield probe, facts, Verdict(verdict)


def plans_of(
    atlas: Atlas, hunt_id: int, subject: str, testing: tuple[type, ...], most: int = 64
) -> list[tuple[Step, ...]]:
    """The steps of a subject's trials, each once, in the order recorded: those that test something."""
    query = "SELECT plan FROM trials WHERE hunt = ? AND subject = ? GROUP BY plan ORDER BY min(id) LIMIT ?"
    plans = Plans(atlas.query)
    found = [plans.get(plan) for (plan,) in atlas.query(query, (hunt_id, subject, most))]
    return [steps for steps in found if any(isinstance(step, testing) for step in steps)]


def has_image(atlas: Atlas, digest: str) -> bool:
    """Whether the atlas keeps the picture."""
    return next(atlas.query("SELECT 1 FROM images WHERE digest = ?", (digest,)), None) is not None


def _decisions(key: str, subject: str, steps: tuple[Step, ...], facts: list[Facts]) -> list[Decision]:
    talks = any(isinstance(step, Recall) for step in steps)
    of_answers = ReviewQuestion.STANDS_BY_IT if talks else ReviewQuestion.IS_RIGHT
    asked = [(ReviewQuestion.IS_SO, one) for one in decided(steps, facts)]
    asked += [(of_answers, one) for one in verified(steps, facts)]
    return [
        Decision(key, subject, place, check, answer, image, question)
        for question, (place, check, answer, image) in asked
        if answer is not None
    ]


def decided(steps: Sequence[Step], facts: Sequence[Facts]) -> Iterator[tuple[int, Check, bool | None, str]]:
    """(place, check, answer, image) of each check that was put to the judge."""
    image, place = "", 0
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Generate | Edit) and isinstance(fact, str):
            image = fact
        elif isinstance(step, Show) and fact:
            image = str(fact[-1])
        elif isinstance(step, Decide) and fact is not None:
            for check, answer in zip(step.checks, fact, strict=False):
                yield place, check, answer, image
                place += 1


#: The one kind of check that a verifier makes: is this answer right?
ANSWER = "answer"


def verified(steps: Sequence[Step], facts: Sequence[Facts]) -> Iterator[tuple[int, Check, bool | None, str]]:
    """(place, check, answer, image) of each answer whose question the verifier found valid."""
    image = next(reversed(images_of(steps, facts)), "")
    asked, said, before, place = "", "", "", 0
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Recall):
            question, answer = step.turns[0]
            before = f"After it had said “{answer}” to “{question}”: "
        elif isinstance(step, Answer):
            asked, said = step.question, str(fact)
        elif isinstance(step, Verify) and isinstance(fact, list) and fact and fact[0]:
            statement = f"{before}Asked “{asked}”, it answered “{said}”."
            yield place, Check(ANSWER, said, statement), fact[1], image
            place += 1


def decision_of(atlas: Atlas, hunt_id: int, trial: str, place: int) -> Decision | None:
    """One decision of a trial, by its key and place."""
    query = "SELECT subject, facts, plan FROM trials WHERE hunt = ? AND key = ?"
    for subject, facts, plan in atlas.query(query, (hunt_id, trial)):
        with understood(f"trials {trial!r}"):
            found = _decisions(trial, subject, Plans(atlas.query).get(plan), json.loads(facts))
        return next((one for one in found if one.place == place), None)
    return None


class Plans:
    """Steps by number. Many trials share few plans, and reading one anew each time is slow."""

    def __init__(self, query: Callable[[str, tuple[int]], Iterable[tuple[Any, ...]]]) -> None:
        self._query = query
        self._known: dict[int, tuple[Step, ...]] = {}

    def get(self, number: int) -> tuple[Step, ...]:
        steps = self._known.get(number)
        if steps is None:
            if len(self._known) >= 8192:
                self._known.clear()
            with understood(f"plans {number!r}"):
                ((text,),) = self._query("SELECT steps FROM plans WHERE id = ?", (number,))
                steps = self._known[number] = steps_from_json(text)
        return steps


#: Values of `judge_accuracy`; any other names a file.
NONE, AUTO = "none", "auto"

#: The version of atlases that first had these tables.
REVIEWS_SINCE = 2


YES, NO, UNSURE = "yes", "no", "unsure"
#: How the name of a review begins that audits single modes. The kind of its items is the mode's subject.
_MODES = "modes-"
_MODES_IN_SQL = f"{_MODES}%"


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

    @property
    def audits_modes(self) -> bool:
        """Whether it audits single modes; else it is a sample of the judge's answers."""
        return self.uid.startswith(_MODES)


def uid_of_mode_audit(digest: str) -> str:
    """The name of a review that audits single modes."""
    return f"{_MODES}{digest}"


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
    return [Review(*row) for row in atlas.query(query, (hunt_id, _MODES_IN_SQL), REVIEWS_SINCE)]


def state_of_mode_labels(atlas: Atlas) -> list[tuple[Any, ...]]:
    """Changes whenever somebody says something about a mode."""
    query = "SELECT count(*), max(at) FROM review_labels WHERE review LIKE ?"
    return list(atlas.query(query, (_MODES_IN_SQL,), since=REVIEWS_SINCE))


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
        row = (uid, label.item, label.reviewer, label.label, _label_time(db, uid))
        db.execute("INSERT OR REPLACE INTO review_labels VALUES (?, ?, ?, ?, ?)", row)


#: Between two labels, where the clock says that no time has passed, or has been set back.
_NEXT_LABEL = 1e-3


def _label_time(db: sqlite3.Connection, uid: str) -> float:
    """Now, but later than every label of the review: undoing goes by the order of labels."""
    last = db.execute("SELECT max(at) FROM review_labels WHERE review = ?", (uid,)).fetchone()[0]
    return max(time.time(), float(last or 0.0) + _NEXT_LABEL)


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
        now = _label_time(db, uid)
        db.executemany(
            "INSERT OR REPLACE INTO review_labels VALUES (?, ?, ?, ?, ?)",
            [(uid, label.item, label.reviewer, label.label, now) for label in fresh],
        )
        people = sorted({label.reviewer for label in fresh})
        rows.add_event("labels", {"review": uid, "labels": len(fresh), "reviewers": people}, None)


def reviews_of(atlas: Atlas, judge: str) -> list[Review]:
    """Reviews that measure a judge; audits of modes are no fair sample of its answers."""
    query = "SELECT uid, hunt, judge FROM reviews WHERE judge = ? AND uid NOT LIKE ? ORDER BY id"
    return [Review(*row) for row in atlas.query(query, (judge, _MODES_IN_SQL))]


def reviews_in_scope(atlas: Atlas, judge: str, scope: int | None) -> list[Review]:
    """The same, of one hunt, or of all hunts that no merge brought in."""
    with atlas.reading() as db:
        strange = brought_in(db, HUNT)
    return [
        one
        for one in reviews_of(atlas, judge)
        if (one.hunt not in strange if scope is None else one.hunt == scope)
    ]


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


def review_scope(atlas: Atlas, hunt_id: int) -> int | None:
    """Where a review of a hunt's judge holds: `None` for all hunts of this atlas with that judge.

    The trials and samples of a hunt that a merge brought in are another's: they measure the judge for that
    hunt alone, whose number this is then.
    """
    with atlas.reading() as db:
        return hunt_id if hunt_id in brought_in(db, HUNT) else None


def keep_reviewed(atlas: Atlas, accuracy: JudgeAccuracy, scope: int | None) -> None:
    """What people found about a judge, for the hunts in its `review_scope`."""
    before = reviewed_accuracy(atlas, accuracy.judge, scope)
    if before is None or before.digest != accuracy.digest:
        _add(atlas, scope, accuracy)


#: Rows of reviews in a scope: of a single hunt's rows, those are none that say what it was run with.
_IN_SCOPE = (
    "judge = ? AND hunt IS ? AND (hunt IS NULL OR json_extract(content, '$.source') LIKE 'review of %')"
)


def update_reviewed(atlas: Atlas, accuracy: JudgeAccuracy, scope: int | None) -> None:
    """As `keep_reviewed`, but in place of the newest one of this judge: labels are coming in one by one."""
    with atlas.transaction() as (db, _):
        changed = db.execute(
            f"UPDATE accuracies SET content = ?, at = ? WHERE id = (SELECT max(id) FROM accuracies"
            f" WHERE {_IN_SCOPE})",
            (accuracy.to_json(), time.time(), accuracy.judge, scope),
        ).rowcount
    if not changed:
        keep_reviewed(atlas, accuracy, scope)


def forget_reviewed(atlas: Atlas, judge: str, scope: int | None) -> None:
    """Reckon with no review of this judge any more. Labels stay."""
    with atlas.transaction() as (db, rows):
        db.execute(f"DELETE FROM accuracies WHERE {_IN_SCOPE}", (judge, scope))
        rows.add_event("accuracy", {"source": "the review is no longer used", "judge": judge}, scope)


def decider_of(row: HuntRow) -> Identity | None:
    """Who decides in a hunt and can be reviewed: its verifier, else its judge."""
    return row.identities.get("verifier") or row.identities.get("judge")


def reviewed_accuracy(atlas: Atlas, judge: str, scope: int | None = None) -> JudgeAccuracy | None:
    """The newest review of the judge with this digest of identity, in a `review_scope`."""
    return _newest(atlas, _IN_SCOPE, judge, scope)


def accuracy_setting(row: HuntRow) -> str:
    """What the settings of a hunt say about its judge's accuracy: `AUTO`, `NONE`, or the name of a file."""
    return str(row.config.get("accuracy") or row.config.get("judge_accuracy", AUTO))


def hunt_accuracy(atlas: Atlas, row: HuntRow) -> JudgeAccuracy | None:
    """What a hunt's findings are told with now: a review if its settings allow, else what it ran with."""
    setting = accuracy_setting(row)
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


def _newest(atlas: Atlas, where: str, *values: int | str | None) -> JudgeAccuracy | None:
    query = f"SELECT content FROM accuracies WHERE {where} ORDER BY id DESC LIMIT 1"
    row = next(atlas.query(query, values, REVIEWS_SINCE), None)
    return JudgeAccuracy.from_json(row[0], f"the accuracy kept in {atlas.folder}") if row else None
