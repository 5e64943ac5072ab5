"""A review that goes on: the next check for a reviewer, labels kept at once, and how far the judge is known.

All reviewers see the same checks in the same order, so what they share tells how far they agree. Nothing here
tells what the judge said before a label is given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.decisions import ANSWER, EARLIER, decision_of
from failscape.atlas.reviews import (
    MODES,
    NO,
    UNSURE,
    YES,
    Review,
    ReviewItem,
    ReviewLabel,
    add_label,
    add_review,
    decider_of,
    items_of,
    labels_of,
    reviews_of,
    settle,
    take_back,
)
from failscape.errors import AtlasError, ConfigError
from failscape.review.labels import between_people, strata_of
from failscape.review.sample import draw_sample
from failscape.stats.judging.agreement import Agreement
from failscape.stats.judging.poststratified import (
    Cell,
    half_width,
    labels_alone,
    labels_needed,
    share_right,
    share_true,
)

COUNT = 300
EVERY = "all checks"
StratumKey = tuple[str, bool, bool]
"""Kind of check, the judge's answer, near the threshold or not."""

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class BlindItem:
    """What a reviewer sees: a picture and a statement to say yes or no to."""

    item: str
    image: str
    statement: str
    question: str


@dataclass(frozen=True, slots=True)
class Known:
    """How far the judge is known on one kind of check; `EVERY` stands for all kinds together.

    `right` is the share of its answers that people confirm, `true` the share of checks that truly hold,
    `judged` the share that it says hold. `needed` labels in all bring the half-width to the goal, `alone`
    would it take without the judge's answers.
    """

    kind: str
    checks: int
    labels: int
    judged: float
    right: float
    right_interval: tuple[float, float]
    true: float
    true_interval: tuple[float, float]
    half_width: float
    needed: int
    alone: int


def current_review(atlas: Atlas, row: HuntRow) -> Review | None:
    """The newest review of the hunt's judge that was drawn from this hunt."""
    judge = decider_of(row)
    found = [] if judge is None else reviews_of(atlas, judge.digest)
    return next((one for one in reversed(found) if one.hunt == row.id), None)


def begin_review(atlas: Atlas, row: HuntRow, count: int = COUNT) -> Review:
    """Draw a sample and keep it; another seed after each, so that a new one holds other checks."""
    judge = decider_of(row)
    seed = 0 if judge is None else sum(one.hunt == row.id for one in reviews_of(atlas, judge.digest))
    sample = draw_sample(atlas, row, count, seed)
    add_review(atlas, sample.review, seed, sample.items)
    return sample.review


def blind_item(atlas: Atlas, review: Review, item: ReviewItem) -> BlindItem | None:
    """`None` when its trial is gone: it was withdrawn, or the atlas was cut."""
    found = decision_of(atlas, review.hunt, item.trial, item.place)
    if found is None:
        return None
    answer = item.kind == ANSWER or review.uid.startswith(MODES)
    asked = "Is the answer right?" if answer else "Is this so?"
    if found.check.statement.startswith(EARLIER):
        asked = "Does it stand by what it said?"
    return BlindItem(item.item, found.image, found.check.statement, asked)


def next_items(
    atlas: Atlas, review: Review, reviewer: str, many: int = 3, settled: frozenset[str] = frozenset()
) -> list[BlindItem]:
    """The checks that this reviewer has not labelled yet, the next one first; `settled` need no label."""
    done = {label.item for label in labels_of(atlas, review.uid) if label.reviewer == reviewer} | settled
    found: list[BlindItem] = []
    for item in items_of(atlas, review.uid):
        if item.item not in done and (shown := blind_item(atlas, review, item)) is not None:
            found.append(shown)
        if len(found) == many:
            break
    return found


def give_label(atlas: Atlas, review: Review, reviewer: str, item: str, label: str) -> None:
    name = checked_name(reviewer)
    if label not in (YES, NO, UNSURE):
        raise ConfigError(f"label {label!r} is not understood", "say yes, no or unsure")
    if all(one.item != item for one in items_of(atlas, review.uid)):
        raise AtlasError(f"item {item!r} is not in review {review.uid}", "label what the review shows")
    add_label(atlas, review.uid, ReviewLabel(item, name, label))


def undo_label(atlas: Atlas, review: Review, reviewer: str) -> str:
    return take_back(atlas, review.uid, checked_name(reviewer))


def checked_name(reviewer: str) -> str:
    name = " ".join(reviewer.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ConfigError(
            f"a reviewer's name has 1 to {LONGEST_NAME} letters, but got {reviewer[:80]!r}", "give your name"
        )
    return name


def known_so_far(atlas: Atlas, reviews: Iterable[Review], goal: float) -> list[Known]:
    """Per kind of check, the least known first, then all together. Unsure and disputed labels count not."""
    merged: dict[StratumKey, Cell] = {}
    for review in reviews:
        agreed = settle(labels_of(atlas, review.uid))
        for key, members in strata_of(items_of(atlas, review.uid)).items():
            cell = _cell(key, members, agreed)
            if before := merged.get(key):  # a later sample knows more checks
                cell = cell._replace(right=before.right + cell.right, wrong=before.wrong + cell.wrong)
            merged[key] = cell
    return _by_kind(merged, goal)


def _cell(key: StratumKey, members: Iterable[ReviewItem], agreed: Mapping[str, str]) -> Cell:
    items, answer = list(members), key[1]
    said = Counter(agreed.get(item.item, "") for item in items)
    right, wrong = (said[YES], said[NO]) if answer else (said[NO], said[YES])
    return Cell(answer, sum(item.stands_for for item in items), right, wrong)


def _by_kind(cells: Mapping[StratumKey, Cell], goal: float) -> list[Known]:
    kinds: dict[str, list[Cell]] = defaultdict(list)
    for (kind, _, _), cell in cells.items():
        kinds[kind].append(cell)
    found = [_known(kind, some, goal) for kind, some in kinds.items()]
    found.sort(key=lambda one: (-one.half_width, one.kind))
    return found if len(found) == 1 else [*found, _known(EVERY, list(cells.values()), goal)]


def plan_review(atlas: Atlas, row: HuntRow, goal: float) -> list[Known]:
    """The same for all reviews of a hunt; a sample that nobody has labelled yet stands in for the first."""
    judge = decider_of(row)
    found = [] if judge is None else [one for one in reviews_of(atlas, judge.digest) if one.hunt == row.id]
    if found:
        return known_so_far(atlas, found, goal)
    items = draw_sample(atlas, row, COUNT, 0).items
    return _by_kind({key: _cell(key, members, {}) for key, members in strata_of(items).items()}, goal)


def _known(kind: str, cells: list[Cell], goal: float) -> Known:
    total = sum(cell.population for cell in cells)
    right, right_interval = share_right(cells)
    true, true_interval = share_true(cells)
    return Known(
        kind=kind,
        checks=round(total),
        labels=sum(cell.labels for cell in cells),
        judged=sum(cell.population for cell in cells if cell.answer) / total,
        right=right,
        right_interval=right_interval,
        true=true,
        true_interval=true_interval,
        half_width=half_width(cells),
        needed=labels_needed(cells, goal),
        alone=labels_alone(cells, goal),
    )


def agreement_of(atlas: Atlas, review: Review) -> Agreement | None:
    return between_people(labels_of(atlas, review.uid))
