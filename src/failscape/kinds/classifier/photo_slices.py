"""Which slices of a folder of photos fail more often than the rest: all are tested together. Pure.

Facts that came with the folder (columns of its metadata, captions) are fixed before anything is classified,
so their slices are tested on all photos. Slices that come from looking at how photos went (what captions of
failures have in common) are suggested by one half of the photos and tested on the other. Clusters have no
name that anybody could test on new photos: they are never claimed.

`level` is shared equally between facts that came with the folder and slices from looking, where a hunt has
both. Slices of one fact are tested first, those of one class and across classes together, each at its share
of the level; the shares of those that are proven pass on to slices of two facts (Bonferroni's parallel
gatekeeping, Dmitrienko et al. 2003). Many slices of two facts therefore cost the plain ones nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.classifier.prompts import CLUSTER, COLUMN, Clause
from failscape.kinds.classifier.tallies import SeenPhoto
from failscape.stats.differences import log_excess, log_excess_grid
from failscape.stats.slices import (
    SlicePValue,
    SliceTable,
    counted_tests,
    holm_tarone,
    least_by_size,
    several_classes_p_value,
    slice_p_value,
)

#: Slices with fewer photos, or with fewer others beside them, are not tested. It is known beforehand which
#: those are, so the number changes what can be found, not whether a claim is valid.
FEWEST = 5

#: Clauses of a class, or of all classes, that one half of the photos may suggest to the other.
MOST_SUGGESTED = 20

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PhotoSlice:
    """Photos that have all `clauses`, of class `label` or of all classes (`None`), and what a test says.

    `by_class` has the counts of each class. `members` and `others` are places in the list of photos: those
    that the rates are over. `limit` is the p-value that it had to reach.
    """

    label: int | None
    clauses: tuple[Clause, ...]
    members: tuple[int, ...]
    others: tuple[int, ...]
    by_class: dict[int, SliceTable]
    p_value: float
    least: float
    proven: bool = False
    limit: float = 1.0

    @property
    def name(self) -> tuple[int, tuple[str, ...]]:
        """What orders slices that are equally sure."""
        return (-1 if self.label is None else self.label, tuple(one.label for one in self.clauses))

    @property
    def is_nameless(self) -> bool:
        return any(clause.kind == CLUSTER for clause in self.clauses)


class SliceFamily(NamedTuple):
    """Slices that share a part of the level."""

    slices: list[PhotoSlice]
    level: float

    def decided_alike(self) -> tuple[list[PhotoSlice], float]:
        """With `proven` and `limit` filled in, each at the same share of the level; and what passes on."""
        if not self.slices:
            return [], self.level
        limit = self.level / counted_tests([one.least for one in self.slices], self.level)
        found = [replace(one, proven=one.p_value <= limit, limit=limit) for one in self.slices]
        return found, limit * sum(one.proven for one in found)

    def decided(self) -> list[PhotoSlice]:
        """The same in Holm's steps, where nothing is to pass on."""
        if not self.slices or self.level <= 0:
            return [replace(one, limit=0.0) for one in self.slices]
        p_values = [one.p_value for one in self.slices]
        least = [one.least for one in self.slices]
        proven = holm_tarone(p_values, least, self.level)
        left = [value for value, claimed in zip(least, proven, strict=True) if not claimed]
        limit = self.level / counted_tests(left, self.level) if left else self.level
        return [
            replace(one, proven=bool(claimed), limit=limit)
            for one, claimed in zip(self.slices, proven, strict=True)
        ]


class PhotoTable:
    """All usable photos as arrays: class, outcome, and which clauses hold."""

    def __init__(self, seen: Sequence[SeenPhoto], classes: int, gone: Sequence[float]) -> None:
        self.places = np.array([at for at, one in enumerate(seen) if one.valid], np.int64)
        self.photos = valid = [one for one in seen if one.valid]
        self.labels = np.array([one.photo.label for one in valid], np.int64)
        self.failed = np.array([one.failed for one in valid], np.bool_)
        self.suggests = np.array([one.photo.suggests for one in valid], np.bool_)
        self.classes = classes
        #: Per class, the share of its usable photos that may not show it: presence checks err.
        self.gone = tuple(gone)
        self.clauses = {label: clause for one in valid for label, clause in one.clauses.items()}
        self._having = {label: np.zeros(len(valid), np.bool_) for label in self.clauses}
        for at, one in enumerate(valid):
            for label in one.clauses:
                self._having[label][at] = True

    def having(self, clauses: Iterable[Clause]) -> Bools:
        found = np.ones(len(self.labels), np.bool_)
        for clause in clauses:
            found = found & self._having[clause.label]
        return found

    def tables(self, inside: Bools, outside: Bools) -> dict[int, SliceTable]:
        """Counts of every class that has photos inside."""
        counts = [
            np.bincount(self.labels[chosen], minlength=self.classes)
            for chosen in (inside & self.failed, inside, outside & self.failed, outside)
        ]
        return {
            int(label): SliceTable(*(int(count[label]) for count in counts))
            for label in np.flatnonzero(counts[1])
        }

    def p_value(self, label: int | None, tables: dict[int, SliceTable]) -> SlicePValue:
        chosen = list(tables) if label is None else [one for one in tables if one == label]
        if any(self.gone[one] > 0 for one in chosen):
            return self._allowing_for_absent(label, {one: tables[one] for one in chosen})
        if label is None:
            return several_classes_p_value([tables[one] for one in chosen])
        return slice_p_value([tables[one] for one in chosen])

    def _allowing_for_absent(self, label: int | None, tables: dict[int, SliceTable]) -> SlicePValue:
        """1 / e, for e-values that allow for photos on which the presence check errs.

        Classes share no photo, so their e-values may be multiplied; across classes the strongest is left out,
        as in `several_classes_p_value`. Nothing is known of the least p-value, so the test always counts.
        """
        evidence = []
        for one, table in tables.items():
            grid = log_excess_grid(table.rest_fails, table.rest - table.rest_fails)
            counts = [table.fails], [table.items - table.fails]
            evidence.append(float(log_excess(grid, *counts, 0.0, self.gone[one], small=False)[0]))
        total = sum(evidence) - (max(evidence) if label is None else 0.0)
        several = label is not None or len(evidence) > 1
        return SlicePValue(float(np.exp(-max(0.0, total))) if several else 1.0, 0.0)


class SliceSearch:
    """`is_fixed` says of a clause whether it was known before anything was classified."""

    def __init__(self, table: PhotoTable, level: float, is_fixed: Callable[[Clause], bool]) -> None:
        self._table = table
        self._level = level
        self._fixed = sorted(
            (one for one in table.clauses.values() if is_fixed(one)), key=lambda clause: clause.label
        )
        self._is_fixed = is_fixed

    def decided(self, looks: bool) -> list[PhotoSlice]:
        """All slices that were tested. `looks`: the hunt has somebody who looks at photos."""
        columns = [clause for clause in self._fixed if clause.kind.startswith(COLUMN)]
        level = self._level / 2 if looks and self._fixed else self._level
        seen = SliceFamily(list(self._from_looking()), level).decided() if looks else []
        plain = SliceFamily(list(self._of_one_fact()), level)
        if len({one.kind for one in columns}) < 2:
            return [*plain.decided(), *seen]
        found, passed_on = plain.decided_alike()
        return [*found, *SliceFamily(list(self._of_two_facts(columns)), passed_on).decided(), *seen]

    def nameless(self) -> list[PhotoSlice]:
        """Clusters, tested on the half that did not make them. They take no part of the level."""
        decide = ~self._table.suggests
        found: list[PhotoSlice] = []
        for clause in sorted(self._table.clauses.values(), key=lambda clause: clause.label):
            if clause.kind == CLUSTER:
                inside = self._table.having([clause])
                labels = range(self._table.classes)
                found += self._tested([clause], inside & decide, ~inside & decide, labels)
        return found

    def _of_one_fact(self) -> Iterator[PhotoSlice]:
        scopes = (None, *range(self._table.classes))
        for clause in self._fixed:
            inside = self._table.having([clause])
            yield from self._tested([clause], inside, ~inside, scopes)

    def _of_two_facts(self, columns: Sequence[Clause]) -> Iterator[PhotoSlice]:
        """Two columns together, where they fail more often than either does without the other."""
        having = np.array([self._table.having([clause]) for clause in columns])
        shared = having.astype(np.float32) @ having.T.astype(np.float32)
        for first, second in np.argwhere(np.triu(shared >= FEWEST, 1)):
            pair = [columns[first], columns[second]]
            if pair[0].kind != pair[1].kind:
                yield from self._tested_pair(pair, having[first], having[second])

    def _from_looking(self) -> Iterator[PhotoSlice]:
        """What failures of the suggesting half have in common, in a class or in all, tested on the other."""
        decide = ~self._table.suggests
        for scope in (None, *range(self._table.classes)):
            for clause in self._suggested(scope):
                inside = self._table.having([clause])
                yield from self._tested([clause], inside & decide, ~inside & decide, (scope,))

    def _suggested(self, scope: int | None) -> list[Clause]:
        here = [
            one
            for one in self._table.photos
            if one.photo.suggests and (scope is None or one.photo.label == scope)
        ]
        return suggested_clauses(here, lambda clause: clause.kind != CLUSTER and not self._is_fixed(clause))

    def _tested(
        self, clauses: Sequence[Clause], inside: Bools, outside: Bools, scopes: Iterable[int | None]
    ) -> Iterator[PhotoSlice]:
        tables = self._table.tables(inside, outside)
        for scope in scopes:
            chosen = _scoped(tables, scope)
            if _is_large(chosen):
                found = self._table.p_value(scope, chosen)
                yield self._slice(scope, clauses, inside, outside, chosen, found)

    def _tested_pair(self, pair: Sequence[Clause], first: Bools, second: Bools) -> Iterator[PhotoSlice]:
        both = first & second
        sides = [self._table.tables(both, first & ~second), self._table.tables(both, second & ~first)]
        everything = self._table.tables(both, ~both)
        for scope in (None, *range(self._table.classes)):
            chosen = [_scoped(side, scope) for side in sides]
            if not all(_is_large(side) for side in chosen):
                continue
            found = [self._table.p_value(scope, side) for side in chosen]
            # Both must hold, so the weaker one counts. What its totals allow depends on how other photos
            # went; only the sizes were known beforehand.
            worst = max(one.p_value for one in found)
            least = max(least_by_size(*_sizes(side)) for side in chosen)
            yield self._slice(scope, pair, both, ~both, _scoped(everything, scope), SlicePValue(worst, least))

    def _slice(
        self,
        scope: int | None,
        clauses: Sequence[Clause],
        inside: Bools,
        outside: Bools,
        tables: dict[int, SliceTable],
        found: SlicePValue,
    ) -> PhotoSlice:
        mine = np.isin(self._table.labels, list(tables))
        members = tuple(self._table.places[inside & mine].tolist())
        others = tuple(self._table.places[outside & mine].tolist())
        return PhotoSlice(scope, tuple(clauses), members, others, tables, found.p_value, found.least)


def _scoped(tables: dict[int, SliceTable], scope: int | None) -> dict[int, SliceTable]:
    return tables if scope is None else {one: table for one, table in tables.items() if one == scope}


def _sizes(tables: dict[int, SliceTable]) -> tuple[int, int]:
    return sum(one.items for one in tables.values()), sum(one.rest for one in tables.values())


def _is_large(tables: dict[int, SliceTable]) -> bool:
    return min(_sizes(tables)) >= FEWEST


def suggested_clauses(
    seen: Sequence[SeenPhoto], wanted: Callable[[Clause], bool] = lambda clause: True
) -> list[Clause]:
    """Clauses commoner among failed photos of the suggesting half than among the others, by lift."""
    failed = Counter(label for one in seen if one.failed for label in one.clauses)
    passed = Counter(label for one in seen if not one.failed for label in one.clauses)
    fails = max(1, sum(one.failed for one in seen))
    passes = max(1, len(seen) - fails)
    known = {label: clause for one in seen for label, clause in one.clauses.items() if wanted(clause)}
    lift = {label: failed[label] / fails - passed[label] / passes for label in known}
    ranked = sorted((label for label in lift if lift[label] > 0), key=lambda label: (-lift[label], label))
    return [known[label] for label in ranked[:MOST_SUGGESTED]]
