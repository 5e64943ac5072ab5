"""Review: blind checks for people, how far the judge is known by now, and what a reviewer may do.

The only part of the viewer that writes: labels, and which accuracy findings are reckoned with.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import (
    Review,
    add_review,
    decider_of,
    forget_reviewed,
    hunt_accuracy,
    keep_reviewed,
    labels_of,
    mode_reviews_of,
    review_scope,
    reviewed_accuracy,
    reviews_of,
    update_reviewed,
)
from failscape.errors import AtlasError, ConfigError
from failscape.views.read.numbers import percent, spread
from failscape.views.review.labels import (
    COUNT,
    Known,
    agreement_of,
    begin_review,
    current_review,
    give_label,
    known_so_far,
    measure,
    next_items,
    undo_label,
)
from failscape.views.review.sample import draw_mode_audit, mode_tallies, settled_items
from failscape.views.viewer.library import Data, OpenHunt

GOAL = 0.03
#: What is reviewed: a hunt's conditional modes, each by its own answers, in place of a sample of all.
OF_MODES = "modes"


def review(hunt: OpenHunt, query: Mapping[str, str]) -> Data:
    """What a reviewer sees now. Without a review of this hunt there is only an offer to begin one."""
    atlas, row = hunt.atlas, hunt.row
    modes = query.get("of") == OF_MODES
    judge, found = decider_of(row), _review_of(atlas, row, modes)
    used = hunt_accuracy(atlas, row)
    data: Data = {
        "decider": hunt.model_name(judge.role) if judge is not None else "",
        "role": hunt.reader.kind.target,
        "planned": COUNT,
        "goal": GOAL,
        "accuracy": used.source if used is not None else "",
        "in_use": judge is not None and _in_use(atlas, row, judge.digest),
        "of": OF_MODES if modes else "",
        "modes": [asdict(one) | {"labels": one.labels} for one in mode_tallies(atlas, row)],
        "review": None,
    }
    if found is None:
        return data
    reviewer = query.get("reviewer", "")
    settled = settled_items(atlas, row, found) if modes else frozenset()
    return {**data, **_going_on(atlas, row, found, reviewer, settled)}


def _going_on(atlas: Atlas, row: HuntRow, found: Review, reviewer: str, settled: frozenset[str]) -> Data:
    labels = labels_of(atlas, found.uid)
    people = Counter(label.reviewer for label in labels)
    shared = agreement_of(atlas, found)
    mine = [one for one in reviews_of(atlas, found.judge) if one.hunt == row.id]
    ((items,),) = atlas.query("SELECT count(*) FROM review_items WHERE review = ?", (found.uid,))
    return {
        "review": found.uid,
        "items": items,
        "done": people.get(reviewer, 0),
        "next": [asdict(one) for one in next_items(atlas, found, reviewer, settled=settled)]
        if reviewer
        else [],
        "settled": len(settled - {one.item for one in labels if one.reviewer == reviewer}),
        "people": people.most_common(20),
        "shared": None
        if shared is None
        else {"share_text": percent(shared.share), "answers": shared.answers, "kappa": shared.kappa},
        "known": [_known_data(one) for one in known_so_far(atlas, mine, GOAL)] if mine else [],
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


def _begin(atlas: Atlas, row: HuntRow, told: Data) -> None:
    if told.get("of") == OF_MODES:
        sample = draw_mode_audit(atlas, row)
        add_review(atlas, sample.review, 0, sample.items)
    else:
        begin_review(atlas, row)


def _label(atlas: Atlas, row: HuntRow, told: Data) -> None:
    give_label(
        atlas,
        _there(atlas, row, told),
        str(told.get("reviewer", "")),
        str(told.get("item", "")),
        str(told.get("label", "")),
    )
    _follow(atlas, row)


def _undo(atlas: Atlas, row: HuntRow, told: Data) -> None:
    undo_label(atlas, _there(atlas, row, told), str(told.get("reviewer", "")))
    _follow(atlas, row)


def _review_of(atlas: Atlas, row: HuntRow, modes: bool) -> Review | None:
    if not modes:
        return current_review(atlas, row)
    return next(reversed(mode_reviews_of(atlas, row.id)), None)


def _there(atlas: Atlas, row: HuntRow, told: Data | None = None) -> Review:
    found = _review_of(atlas, row, (told or {}).get("of") == OF_MODES)
    if found is None:
        raise AtlasError(f"hunt {row.id} has no review yet", "begin one")
    return found


def _follow(atlas: Atlas, row: HuntRow) -> None:
    """Where findings are reckoned with this review, they are reckoned with the new label too."""
    judge = decider_of(row)
    if judge is None or not _in_use(atlas, row, judge.digest):
        return
    scope = review_scope(atlas, row.id)
    try:
        update_reviewed(atlas, measure(atlas, judge.digest, scope).accuracy, scope)
    except ConfigError:  # no label is sure any more
        forget_reviewed(atlas, judge.digest, scope)


def _in_use(atlas: Atlas, row: HuntRow, judge: str) -> bool:
    return reviewed_accuracy(atlas, judge, review_scope(atlas, row.id)) is not None


def _use(atlas: Atlas, row: HuntRow, told: Data) -> None:
    scope = review_scope(atlas, row.id)
    keep_reviewed(atlas, measure(atlas, _there(atlas, row).judge, scope).accuracy, scope)


def _stop_using(atlas: Atlas, row: HuntRow, told: Data) -> None:
    forget_reviewed(atlas, _there(atlas, row).judge, review_scope(atlas, row.id))


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
    return review(hunt, {name: str(told.get(name, "")) for name in ("reviewer", "of")})
