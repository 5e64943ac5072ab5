"""Review: blind checks for people, how far the judge is known by now, and what a reviewer may do.

The only part of the viewer that writes: labels, and which accuracy findings are reckoned with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.reviews import (
    Review,
    decider_of,
    forget_reviewed,
    hunt_accuracy,
    keep_reviewed,
    labels_of,
    reviewed_accuracy,
    reviews_of,
    update_reviewed,
)
from failscape.errors import AtlasError, ConfigError
from failscape.report.figures.basic import percent, spread
from failscape.review.labels import measure
from failscape.review.live import (
    COUNT,
    Known,
    agreement_of,
    begin_review,
    current_review,
    give_label,
    known_so_far,
    next_items,
    undo_label,
)
from failscape.web.library import OpenHunt

Data = dict[str, Any]
GOAL = 0.03


def review(hunt: OpenHunt, query: Mapping[str, str]) -> Data:
    """What a reviewer sees now. Without a review of this hunt there is only an offer to begin one."""
    atlas, row = hunt.atlas, hunt.row
    judge, found = decider_of(row), current_review(atlas, row)
    used = hunt_accuracy(atlas, row)
    data: Data = {
        "decider": hunt.model_name(judge.role) if judge is not None else "",
        "kind": row.kind,
        "planned": COUNT,
        "goal": GOAL,
        "accuracy": used.source if used is not None else "",
        "in_use": judge is not None and reviewed_accuracy(atlas, judge.digest) is not None,
        "review": None,
    }
    return data if found is None else {**data, **_going_on(atlas, row, found, query.get("reviewer", ""))}


def _going_on(atlas: Atlas, row: HuntRow, found: Review, reviewer: str) -> Data:
    labels = labels_of(atlas, found.uid)
    people = Counter(label.reviewer for label in labels)
    shared = agreement_of(atlas, found)
    mine = [one for one in reviews_of(atlas, found.judge) if one.hunt == row.id]
    with atlas.reading() as db:
        query = "SELECT count(*) FROM review_items WHERE review = ?"
        items = db.execute(query, (found.uid,)).fetchone()[0]
    return {
        "review": found.uid,
        "items": items,
        "done": people.get(reviewer, 0),
        "next": [asdict(one) for one in next_items(atlas, found, reviewer)] if reviewer else [],
        "people": people.most_common(20),
        "shared": None
        if shared is None
        else {"share_text": percent(shared.share), "answers": shared.answers, "kappa": shared.kappa},
        "known": [_known_data(one) for one in known_so_far(atlas, mine, GOAL)],
    }


def _known_data(one: Known) -> Data:
    return {
        **asdict(one),
        "right_text": percent(one.right),
        "half_text": f"±{percent(one.half_width)}",
        "judged_text": percent(one.judged),
        "true_text": percent(one.true),
        "true_spread": spread(one.true_interval),
    }


def _begin(atlas: Atlas, row: HuntRow, _: Data) -> None:
    begin_review(atlas, row)


def _label(atlas: Atlas, row: HuntRow, told: Data) -> None:
    give_label(
        atlas,
        _there(atlas, row),
        str(told.get("reviewer", "")),
        str(told.get("item", "")),
        str(told.get("label", "")),
    )
    _follow(atlas, row)


def _undo(atlas: Atlas, row: HuntRow, told: Data) -> None:
    undo_label(atlas, _there(atlas, row), str(told.get("reviewer", "")))
    _follow(atlas, row)


def _use(atlas: Atlas, row: HuntRow, _: Data) -> None:
    keep_reviewed(atlas, measure(atlas, _there(atlas, row).judge).accuracy)


def _stop_using(atlas: Atlas, row: HuntRow, _: Data) -> None:
    forget_reviewed(atlas, _there(atlas, row).judge)


def _there(atlas: Atlas, row: HuntRow) -> Review:
    found = current_review(atlas, row)
    if found is None:
        raise AtlasError(f"hunt {row.id} has no review yet", "begin one")
    return found


def _follow(atlas: Atlas, row: HuntRow) -> None:
    """Where findings are reckoned with this review, they are reckoned with the new label too."""
    judge = decider_of(row)
    if judge is None or reviewed_accuracy(atlas, judge.digest) is None:
        return
    try:
        update_reviewed(atlas, measure(atlas, judge.digest).accuracy)
    except ConfigError:  # no label is sure any more
        forget_reviewed(atlas, judge.digest)


DEEDS: dict[str, Callable[[Atlas, HuntRow, Data], None]] = {
    "begin": _begin,
    "label": _label,
    "undo": _undo,
    "use": _use,
    "stop-using": _stop_using,
}


def act(hunt: OpenHunt, deed: str, told: Data) -> Data:
    """Do what a reviewer asks for; the answer is what they see next."""
    with Atlas.open_for_labels(hunt.atlas.folder) as atlas:
        DEEDS[deed](atlas, hunt.row, told)
    return review(hunt, {"reviewer": str(told.get("reviewer", ""))})
