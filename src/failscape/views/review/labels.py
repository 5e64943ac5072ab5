"""Labels of people: given one by one or in a table, and how far the judge is known by them.

In a review that goes on all reviewers see the same checks in the same order, so what they share tells how far
they agree. Nothing here tells what the judge said before a label is given.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import (
    NO,
    UNSURE,
    YES,
    Review,
    ReviewItem,
    ReviewLabel,
    add_label,
    add_review,
    decider_of,
    decision_of,
    find_review,
    items_of,
    labels_of,
    reviews_in_scope,
    reviews_of,
    settle,
    take_back,
)
from failscape.csv_tables import CsvRow, read_csv
from failscape.errors import AtlasError, ConfigError
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.judging.agreement import Agreement, agreement
from failscape.stats.judging.poststratified import (
    Cell,
    half_width,
    labels_alone,
    labels_needed,
    share_right,
    share_true,
)
from failscape.stats.judging.reviews import LabelledStratum, accuracies_of
from failscape.views.review.sample import BlindQuestion, draw_sample

SPELLINGS = {
    **dict.fromkeys(("yes", "y", "true", "1"), YES),
    **dict.fromkeys(("no", "n", "false", "0"), NO),
    **dict.fromkeys(("unsure", "u", "?"), UNSURE),
}
NEEDED = ("review", "item", "label")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """`counts`: (labelled yes, labelled no) per kind of check. `people`: how far several reviewers agree."""

    accuracy: JudgeAccuracy
    counts: dict[str, tuple[int, int]]
    unsure: int
    people: Agreement | None


def read_table(path: Path, atlas: Atlas, reviewer: str = "") -> tuple[Review, list[ReviewLabel]]:
    """The labels of one file, checked against the atlas. Rows without a label are not yet reviewed."""
    rows = _rows(path)
    first = rows[0].text("review")
    for row in rows:
        if row.text("review") != first:
            rule = f"review {row.text('review')!r} after {first!r}"
            raise _error(path, row.line, rule, "import one review at a time")
    review = find_review(atlas, first)
    known = {item.item for item in items_of(atlas, review.uid)}
    labels: dict[str, ReviewLabel] = {}
    lines: dict[str, int] = {}
    for row in rows:
        line = row.line
        item = row.text("item")
        if item not in known:
            raise _error(path, line, f"item {item!r} is not in review {review.uid}", "leave `item` as it was")
        if item in lines:
            raise _error(path, line, f"item {item} is already on line {lines[item]}", "remove one of the two")
        lines[item] = line
        said = row.text("label").lower()
        if not said:
            continue
        if said not in SPELLINGS:
            raise _error(
                path, line, f"label {row.text('label')!r} is not understood", "write yes, no or unsure"
            )
        who = row.text("reviewer") or reviewer or path.stem
        labels[item] = ReviewLabel(item, who, SPELLINGS[said])
    if not labels:
        raise ConfigError(f"{path} has no labels: all {len(rows):,} are empty", "fill in yes, no or unsure")
    return review, list(labels.values())


def _rows(path: Path) -> list[CsvRow]:
    table = read_csv(path)
    table.need_columns(NEEDED, ("reviewer",))
    rows = list(table)
    if not rows:
        raise table.fault("has no rows", "give the table that the review page saved")
    return rows


def _error(path: Path, line: int, message: str, fix: str) -> ConfigError:
    return ConfigError(f"{path}, line {line}: {message}", fix)


def measure(atlas: Atlas, judge: str, scope: int | None = None) -> Reviewed:
    """The accuracy of a judge from all labels in a `review_scope`. What people disagree on is unsure."""
    strata: dict[str, list[LabelledStratum]] = defaultdict(list)
    counts: dict[str, tuple[int, int]] = {}
    labels: list[ReviewLabel] = []
    unsure = 0
    for review in reviews_in_scope(atlas, judge, scope):
        found = labels_of(atlas, review.uid)
        labels += found
        agreed = settle(found)
        unsure += sum(label == UNSURE for label in agreed.values())
        for key, members in strata_of(items_of(atlas, review.uid)).items():
            said = Counter(agreed.get(item.item, "") for item in members)
            population = sum(item.stands_for for item in members)
            strata[key[0]].append(LabelledStratum(key[1], population, said[YES], said[NO]))
            yes, no = counts.get(key[0], (0, 0))
            counts[key[0]] = yes + said[YES], no + said[NO]
    people, checks = len({label.reviewer for label in labels}), len({label.item for label in labels})
    if not any(map(sum, counts.values())):
        raise ConfigError(
            f"all {unsure:,} labels are unsure or disputed: they measure nothing", "label some with yes or no"
        )
    source = f"review of {checks:,} checks by {people} {'person' if people == 1 else 'people'}"
    return Reviewed(
        JudgeAccuracy(accuracies_of(strata), judge=judge, source=source),
        counts,
        unsure,
        between_people(labels),
    )


def strata_of(items: Iterable[ReviewItem]) -> dict[tuple[str, bool, bool], list[ReviewItem]]:
    found: dict[tuple[str, bool, bool], list[ReviewItem]] = defaultdict(list)
    for item in items:
        found[item.kind, item.answer, item.near].append(item)
    return found


def between_people(labels: Iterable[ReviewLabel]) -> Agreement | None:
    """Over all pairs of people who labelled the same item and were both sure."""
    by_item: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        if label.label != UNSURE:
            by_item[label.item].append(label.label)
    pairs = [(item, *two) for item, said in by_item.items() for two in combinations(said, 2)]
    if not pairs:
        return None
    items, first, second = zip(*pairs, strict=True)
    return agreement([one == YES for one in first], [one == YES for one in second], items)


COUNT = 300
EVERY = "all checks"
#: Kind of check, the judge's answer, near the threshold or not.
StratumKey = tuple[str, bool, bool]

LONGEST_NAME = 60


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
    return next(reversed(_drawn(atlas, row)), None)


def _drawn(atlas: Atlas, row: HuntRow) -> list[Review]:
    judge = decider_of(row)
    return [] if judge is None else [one for one in reviews_of(atlas, judge.digest) if one.hunt == row.id]


def begin_review(atlas: Atlas, row: HuntRow, count: int = COUNT) -> Review:
    """Draw a sample and keep it; another seed after each, so that a new one holds other checks."""
    seed = len(_drawn(atlas, row))
    sample = draw_sample(atlas, row, count, seed)
    add_review(atlas, sample.review, seed, sample.items)
    return sample.review


def blind_item(atlas: Atlas, review: Review, item: ReviewItem) -> BlindQuestion | None:
    """`None` when its trial is gone: it was withdrawn, or the atlas was cut."""
    found = decision_of(atlas, review.hunt, item.trial, item.place)
    if found is None:
        return None
    return BlindQuestion(item.item, found.image, found.check.statement, found.question.value)


def next_items(
    atlas: Atlas, review: Review, reviewer: str, many: int = 3, settled: frozenset[str] = frozenset()
) -> list[BlindQuestion]:
    """The checks that this reviewer has not labelled yet, the next one first; `settled` need no label."""
    done = {label.item for label in labels_of(atlas, review.uid) if label.reviewer == reviewer} | settled
    found: list[BlindQuestion] = []
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
    found = _drawn(atlas, row)
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
