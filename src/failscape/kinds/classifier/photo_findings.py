"""From a tested slice of photos to a finding or a suspect: rates, words, classes it holds for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from failscape.kinds.classifier.details import BugDetails, ClassHolds, ClauseSaid, RateCounts
from failscape.kinds.classifier.findings import MOSTLY, gone_of, growth, widened
from failscape.kinds.classifier.photo_slices import FEWEST, PhotoSlice
from failscape.kinds.classifier.prompts import CLUSTER, COLUMN, describe
from failscape.kinds.classifier.purposes import PHOTO
from failscape.kinds.classifier.sentences import many, sentence
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import ImageCounts, SeenPhoto, Target
from failscape.stats.slices import SMALLEST_P, SliceTable, slice_p_value
from failscape.trials import Finding, Status, key_of_try, thing_text

#: The subject of slices across classes stands in the place of a class.
ACROSS = "all classes"

#: Classes that the sentence of a finding across classes names; the others are counted.
NAMED_CLASSES = 4

NAMELESS = (
    "they have no name that could be tested on new photos: look at them, and add what they share to "
    "`metadata.jsonl`"
)


class SliceTeller:
    """`gone` is, per class, the share of usable photos that may not show it."""

    def __init__(self, targets: Sequence[Target], seen: Sequence[SeenPhoto], rules: ClassifierRules) -> None:
        self._targets = targets
        self._seen = seen
        self._rules = rules
        by_class: list[list[SeenPhoto]] = [[] for _ in targets]
        for one in seen:
            by_class[one.photo.label].append(one)
        self.gone = [gone_of(rules, _counts(mine)) for mine in by_class]

    def is_told(self, one: PhotoSlice) -> bool:
        """Whether it is by the margin worse than the rest, also where each class is compared with itself."""
        having, rest = self._counts(one)
        return having.rate - rest.rate > self._rules.margin and _excess(one) > self._rules.margin

    def is_news(self, one: PhotoSlice, claims: Sequence[PhotoSlice]) -> bool:
        """Whether it is still worse than the rest once the photos of proven slices are left out."""
        known = {at for other in claims for at in other.members}
        having = _counts([self._seen[at] for at in one.members if at not in known])
        rest = _counts([self._seen[at] for at in one.others if at not in known])
        return having.valid >= FEWEST and having.rate - rest.rate > self._rules.margin

    def not_classified(self, photos: int, looking: int) -> str:
        left = photos - len(self._seen)
        if left:
            are = "photo is" if left == 1 else "photos are"
            return f"{left:,} {are} not classified yet: run it to the end"
        return f"{looking:,} questions to the judge are not answered yet: run it to the end"

    def suspect(self, one: PhotoSlice, missing: str = "", also: tuple[str, ...] = ()) -> Finding:
        found = self.finding(one, (), also)
        missing = missing or (NAMELESS if one.is_nameless else self._more(one))
        details = replace(found.details, missing=missing)
        return replace(
            found, title=f"{found.title.rstrip('.')}; {missing}.", status=Status.SUSPECT, details=details
        )

    def _more(self, one: PhotoSlice) -> str:
        """How many photos like these would settle it if they fail as those did."""
        having, rest = self._counts(one)
        gain = growth(having.rate, rest.rate)
        need = float(np.log(one.p_value) - np.log(max(one.limit, SMALLEST_P)))
        return f"about {int(np.ceil(max(1.0, need / gain))):,} more photos like these would settle it"

    def finding(
        self, one: PhotoSlice, claims: Sequence[PhotoSlice] = (), also: tuple[str, ...] = ()
    ) -> Finding:
        having, rest = self._counts(one)
        name = ACROSS if one.label is None else self._targets[one.label].name
        gone = max(self.gone[label] for label in one.by_class)
        interval = widened(having.fails, having.valid, gone)
        holds = self._holds(one, claims) if one.label is None else ()
        members = [self._seen[at] for at in one.members]
        short = many(_thing(one, name), one.clauses).rstrip(",")
        clauses = [ClauseSaid(part.label, part.kind, part.value, part.around) for part in one.clauses]
        return Finding(
            subject=thing_text(name, [part.label for part in describe(0, one.clauses).clauses]),
            title=self._title(one, having, rest, interval, holds),
            caption=short if one.label is None else f"photos of {short}",
            status=Status.CERTIFIED,
            rate=having.rate,
            interval=interval,
            e_value=_calibrated(one.p_value),
            trials=having.valid,
            failures=having.fails,
            invalid=having.invalid,
            counted=(PHOTO.name,),
            keys=tuple(
                key_of_try(self._targets[seen.photo.label].name, PHOTO, seen.number) for seen in members
            ),
            parents=({"subject": name, "failures": rest.fails, "trials": rest.valid},),
            details=BugDetails(
                class_name=name,
                short=short,
                clauses=tuple(clauses),
                source="photos",
                confirmed=True,
                race=None,
                baseline=RateCounts(
                    rest.fails, rest.valid, rest.invalid, 0, rest.rate, widened(rest.fails, rest.valid, gone)
                ),
                wrong=dict(having.wrong),
                baseline_wrong=dict(rest.wrong),
                together=also,
                photos=tuple(seen.photo.digest for seen in members if seen.failed),
                decided=tuple(seen.photo.digest for seen in members),
                p_value=one.p_value,
                classes=holds,
            ),
        )

    def _title(
        self,
        one: PhotoSlice,
        having: ImageCounts,
        rest: ImageCounts,
        interval: tuple[float, float],
        holds: Sequence[ClassHolds],
    ) -> str:
        name = ACROSS if one.label is None else self._targets[one.label].name
        often, hits = having.wrong.most_common(1)[0] if having.wrong else ("", 0)
        mostly = often if hits >= MOSTLY * having.fails else ""
        general = "other photos of {things}" if one.label is not None else "other photos of the same classes"
        rates = (having.rate, rest.rate)
        cause = f"it holds for {_listed(holds)}" if holds else ""
        return sentence(_thing(one, name), one.clauses, mostly, rates, interval, often, cause, general)

    def _holds(self, one: PhotoSlice, claims: Sequence[PhotoSlice]) -> tuple[ClassHolds, ...]:
        """The classes that have such photos: proven alone, worse by a test of that class only, or no sign."""
        alone = {other.label for other in claims if other.clauses == one.clauses}
        rows = []
        for label, table in one.by_class.items():
            worse = slice_p_value([table]).p_value <= self._rules.fdr
            proven = label in alone
            rows.append(ClassHolds(self._targets[label].name, *table, holds=worse or proven, proven=proven))
        return tuple(sorted(rows, key=lambda row: (not row.proven, not row.holds, -row.rate, row.name)))

    def _counts(self, one: PhotoSlice) -> tuple[ImageCounts, ImageCounts]:
        having = _counts([self._seen[at] for at in one.members])
        return having, _counts([self._seen[at] for at in one.others])


def _thing(one: PhotoSlice, name: str) -> str:
    """What the sentence is about: the class; across classes photos, or things where words describe them."""
    if one.label is not None:
        return name
    outside = all(part.kind == CLUSTER or part.kind.startswith(COLUMN) for part in one.clauses)
    return "photo" if outside else "thing"


def _listed(holds: Sequence[ClassHolds]) -> str:
    """`dog (12 of 12), cat (9 of 11) and 3 more of 9 classes`."""
    there = [row for row in holds if row.holds]
    named = [f"{row.name} ({row.fails} of {row.photos})" for row in there[:NAMED_CLASSES]]
    more = len(there) - len(named)
    if more:
        return f"{', '.join(named)} and {more} more of {len(holds)} classes"
    if len(there) == len(holds):
        return f"{', '.join(named)}: all classes that have such photos"
    return f"{', '.join(named)}, of {len(holds)} classes"


def _calibrated(p_value: float) -> float:
    """An e-value from a p-value: 1 / (2·√p) has a mean of at most 1 if nothing is there."""
    return float(0.5 / np.sqrt(p_value))


def _difference(table: SliceTable) -> float:
    if not table.items or not table.rest:
        return 0.0
    return table.fails / table.items - table.rest_fails / table.rest


def _excess(one: PhotoSlice) -> float:
    """The difference within classes, weighted as Mantel and Haenszel do."""
    tables = [table for table in one.by_class.values() if table.items and table.rest]
    weights = [table.items * table.rest / (table.items + table.rest) for table in tables]
    if not weights:
        return 0.0
    return float(np.average([_difference(table) for table in tables], weights=weights))


def _counts(seen: Sequence[SeenPhoto]) -> ImageCounts:
    counts = ImageCounts()
    for one in seen:
        counts.add(one.look)
    return counts
