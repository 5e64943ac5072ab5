"""Reads a filled-in review table and turns all labels of a judge into its accuracy per kind of check."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from failscape.atlas import Atlas
from failscape.atlas.reviews import (
    NO,
    UNSURE,
    YES,
    Review,
    ReviewItem,
    ReviewLabel,
    find_review,
    items_of,
    labels_of,
    reviews_of,
    settle,
)
from failscape.errors import ConfigError
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.judging.agreement import Agreement, agreement
from failscape.stats.judging.reviews import LabelledStratum, accuracies_of

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
    reviewers: tuple[str, ...]
    people: Agreement | None


def read_table(path: Path, atlas: Atlas, reviewer: str = "") -> tuple[Review, list[ReviewLabel]]:
    """The labels of one file, checked against the atlas. Rows without a label are not yet reviewed."""
    rows = _rows(path)
    review = find_review(atlas, _one_review(path, rows))
    known = {item.item for item in items_of(atlas, review.uid)}
    labels: dict[str, ReviewLabel] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        item = row["item"].strip()
        if item not in known:
            raise _error(path, line, f"item {item!r} is not in review {review.uid}", "leave `item` as it was")
        if item in lines:
            raise _error(path, line, f"item {item} is already on line {lines[item]}", "remove one of the two")
        lines[item] = line
        said = row["label"].strip().lower()
        if not said:
            continue
        if said not in SPELLINGS:
            raise _error(path, line, f"label {row['label']!r} is not understood", "write yes, no or unsure")
        who = (row.get("reviewer") or "").strip() or reviewer or path.stem
        labels[item] = ReviewLabel(item, who, SPELLINGS[said])
    if not labels:
        raise ConfigError(f"{path} has no labels: all {len(rows):,} are empty", "fill in yes, no or unsure")
    return review, list(labels.values())


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a mark at the start
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "save it as CSV in UTF-8") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter, restval="")
    missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise ConfigError(
            f"{path} has no column {', '.join(missing)}", f"its first line must hold {', '.join(NEEDED)}"
        )
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise _error(path, reader.line_num, str(error), "save it as CSV again") from None
    if not rows:
        raise ConfigError(f"{path} has no rows", "give the table that the review page saved")
    return rows


def _one_review(path: Path, rows: Sequence[tuple[int, dict[str, str]]]) -> str:
    first = rows[0][1]["review"].strip()
    for line, row in rows:
        if row["review"].strip() != first:
            raise _error(
                path, line, f"review {row['review']!r} after {first!r}", "import one review at a time"
            )
    return first


def _error(path: Path, line: int, message: str, fix: str) -> ConfigError:
    return ConfigError(f"{path}, line {line}: {message}", fix)


def measure(atlas: Atlas, judge: str) -> Reviewed:
    """The accuracy of a judge from all labels in this atlas. Items that people disagree on are unsure."""
    strata: dict[str, list[LabelledStratum]] = defaultdict(list)
    counts: dict[str, tuple[int, int]] = {}
    labels: list[ReviewLabel] = []
    unsure = 0
    for review in reviews_of(atlas, judge):
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
    people = tuple(sorted({label.reviewer for label in labels}))
    if not any(map(sum, counts.values())):
        raise ConfigError(
            f"all {unsure:,} labels are unsure or disputed: they measure nothing", "label some with yes or no"
        )
    source = f"review of {len({label.item for label in labels}):,} checks by {_told(people)}"
    return Reviewed(
        JudgeAccuracy(accuracies_of(strata), judge=judge, source=source),
        counts,
        unsure,
        people,
        between_people(labels),
    )


def _told(people: Sequence[str]) -> str:
    return "1 person" if len(people) == 1 else f"{len(people)} people"


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
