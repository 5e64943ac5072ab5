"""Several models on several whole sets of cases: one matrix of failure rates with totals, paired. Pure.

A set is fixed before anybody looks at how other models do on it: the random sample of the hunts (plain
pictures of a classifier hunt), the fresh cases of each hunt's findings, a folder of labelled photos. All
models are counted on the cases that every one of them has a valid result of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from failscape.comparison.cases import FIRST_NUMBER, AskedCase
from failscape.comparison.decide import evidence, overall_difference, proven
from failscape.comparison.pairs import CasePair, CaseResult, counts_of
from failscape.comparison.reading import ModelSide
from failscape.comparison.result import Interval, OverallDifference
from failscape.plugins import find_kind
from failscape.stats.intervals import clopper_pearson

TOTAL = "all sets"

#: Subject and case.
Place = tuple[str, str]


@dataclass(frozen=True)
class CaseSet:
    """Cases that belong together, each once, as one of the models was asked them."""

    name: str
    cases: tuple[AskedCase, ...]

    @property
    def places(self) -> list[Place]:
        return [(case.subject, case.case) for case in self.cases]


@dataclass(frozen=True)
class MatrixCell:
    """One model on one set. `beside` compares it with the first model, pair by pair; the first has none.

    `proven`: the difference survives e-BH over all sets and models.
    """

    failures: int
    cases: int
    interval: Interval
    beside: OverallDifference | None = None
    proven: bool = False

    @property
    def rate(self) -> float | None:
        return self.failures / self.cases if self.cases else None

    def as_data(self) -> dict[str, Any]:
        return {
            "failures": self.failures,
            "cases": self.cases,
            "rate": self.rate,
            "interval": list(self.interval),
            "difference": self.beside.difference if self.beside else None,
            "difference_interval": list(self.beside.interval) if self.beside else None,
            "proven": self.proven,
        }


@dataclass(frozen=True)
class ModelMatrix:
    """`cells` has a row for each model and a column for each set, the last of which is all sets together.

    `given` says how many cases each set has; those that not all models have an answer to are left out.
    """

    models: tuple[str, ...]
    sets: tuple[str, ...]
    given: tuple[int, ...]
    cells: tuple[tuple[MatrixCell, ...], ...]

    def as_data(self) -> dict[str, Any]:
        return {
            "sets": [
                {"name": name, "given": given, "shared": cell.cases}
                for name, given, cell in zip(self.sets, self.given, self.cells[0], strict=True)
            ],
            "models": [
                {"model": name, "cells": [cell.as_data() for cell in row]}
                for name, row in zip(self.models, self.cells, strict=True)
            ],
        }


def recorded_sets(sides: Sequence[ModelSide]) -> list[CaseSet]:
    """The sets that hunts made themselves; what comparisons drew where it seemed open is in none."""
    names = find_kind(sides[0].kind).sample_names
    sampled: dict[str, dict[Place, AskedCase]] = {}
    found: list[CaseSet] = []
    for side in sides:
        results = {(one.subject, one.case): one for one in side.results.results}
        early = {place: case for place, case in side.cases.items() if _is_early(case)}
        for place, case in early.items():
            if results[place].sampled:
                sampled.setdefault(names.get(case.mark, "random sample"), {}).setdefault(place, case)
        photos = frozenset[str]().union(*side.photos.values())
        mine = [
            case
            for place, case in early.items()
            if (case.subject in side.found and results[place].fresh and not results[place].sampled)
            or (case.images and case.images[-1] in photos)
        ]
        found += [CaseSet(f"findings of {side.name}", tuple(mine))] if mine else []
    return [*(CaseSet(name, tuple(cases.values())) for name, cases in sampled.items()), *found]


def _is_early(case: AskedCase) -> bool:
    number = case.key[len(case.subject) + 2 :]
    return not number.isdecimal() or int(number) < FIRST_NUMBER or case.mark == "p"


def matrix_of(sides: Sequence[ModelSide], sets: Sequence[CaseSet]) -> ModelMatrix:
    """Rates, paired differences from the first model, and which of those are proven."""
    everything = list(dict.fromkeys(place for one in sets for place in one.places))
    columns = [list(dict.fromkeys(one.places)) for one in sets] + [everything]
    shared = [[place for place in places if all(place in side.cases for side in sides)] for places in columns]
    rows = [[_cell(side, sides[0], places) for places in shared] for side in sides]
    return ModelMatrix(
        tuple(side.name for side in sides),
        (*(one.name for one in sets), TOTAL),
        tuple(map(len, columns)),
        _with_proofs(rows, sides, shared),
    )


def _cell(side: ModelSide, first: ModelSide, places: Sequence[Place]) -> MatrixCell:
    failures = sum(side.cases[place].failed for place in places)
    low, high = clopper_pearson(failures, len(places))
    beside = None
    if side is not first and places:
        pairs = [(first.results.group(place[0]), pair) for place, pair in _pairs(side, first, places)]
        beside = overall_difference(pairs, "cases of the set")
    return MatrixCell(failures, len(places), (float(low), float(high)), beside)


def _pairs(side: ModelSide, first: ModelSide, places: Sequence[Place]) -> list[tuple[Place, CasePair]]:
    return [
        (place, CasePair(*(CaseResult(*place, one.cases[place].failed) for one in (first, side))))
        for place in places
    ]


def _with_proofs(
    rows: Sequence[Sequence[MatrixCell]], sides: Sequence[ModelSide], shared: Sequence[Sequence[Place]]
) -> tuple[tuple[MatrixCell, ...], ...]:
    """e-BH over the cells of all models but the first."""
    counts = [
        counts_of(pair for _, pair in _pairs(side, sides[0], places))
        for side in sides[1:]
        for places in shared
    ]
    claims: set[int] = set()
    if counts:
        worse, better = proven(*evidence(np.array(counts, np.float64)), 0.05)
        claims = set(np.flatnonzero(worse | better).tolist())
    width = len(shared)
    told = [
        tuple(
            MatrixCell(
                cell.failures, cell.cases, cell.interval, cell.beside, (at - 1) * width + place in claims
            )
            for place, cell in enumerate(row)
        )
        for at, row in enumerate(rows)
    ]
    return tuple(told)
