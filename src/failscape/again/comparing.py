"""Compares two or more sides: the newest with the first, the way there as a trend, all on whole sets. Pure.

Only what measures the same is compared: the same kind of hunt, corpus, threshold and judge. A judge that
has the same name but says something else of the same picture has drifted: that is found where both saw it.

A set of cases is fixed before anybody looks at how other models do on it: the random sample of the hunts
(plain pictures of a classifier hunt), the fresh cases of each hunt's findings, a folder of labelled photos.
All models are counted on the cases that every one of them has a valid result of.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from failscape.again.cases import (
    GENERATOR,
    AskedCase,
    ModelSide,
    judge_difference,
    knows_truth,
    rules_for,
    with_findings_of_photos,
)
from failscape.again.decide import (
    FEWEST_SAMPLED,
    CasePair,
    CaseResult,
    CompareRules,
    Interval,
    OverallDifference,
    PairedComparison,
    compare_results,
    counts_of,
    evidence,
    overall_difference,
    proven,
)
from failscape.atlas.hunts import digest_of
from failscape.errors import FailscapeError
from failscape.notebooks import ShownInNotebooks
from failscape.plugins import find_kind
from failscape.stats.intervals import clopper_pearson
from failscape.trials import ProbeKey, Purposes

#: A judge that surely (95 %) answers more than this share of the same pictures otherwise has drifted.
DRIFT = 0.02


class NotComparable(FailscapeError):
    """Results that do not measure the same thing."""

    exit_code = 4


def refuse_unlike(sides: Sequence[ModelSide], threshold: float | None = None) -> None:
    """Raise `NotComparable` when two sides do not measure the same thing. `threshold` overrides theirs."""
    first = sides[0]
    for other in sides[1:]:
        if first.kind != other.kind:
            raise NotComparable(
                f"{first.name} is of a {first.kind} hunt, {other.name} of a {other.kind} hunt",
                "compare hunts of one kind",
            )
        here, there = digest_of(first.row.identities), digest_of(other.row.identities)
        if here != there:
            raise NotComparable(
                f"{first.name} was hunted in another corpus than {other.name} "
                f"({here[:12] or 'none'}, {there[:12] or 'none'})",
                "run one of them again with the other's `space.corpus`",
            )
        if threshold is None and first.limit != other.limit:
            raise NotComparable(
                f"{first.name} was hunted at threshold {threshold_words(first.limit)}, {other.name} at "
                f"{threshold_words(other.limit)}",
                "say which one counts with --threshold",
            )
        differing = judge_difference(first.row.identities, other.row.identities)
        if differing:
            raise NotComparable(f"{first.name} and {other.name}: {differing}", _judge_fix(other))
        if not first.cases.keys() & other.cases.keys() and not _shares_subjects(first, other):
            raise NotComparable(
                f"{first.name} and {other.name} share no subject",
                "hunt the same space (the same `space` and `seed`), or let compare ask: --target or --budget",
            )


def _judge_fix(side: ModelSide) -> str:
    if find_kind(side.kind).judged_again:
        return "let the first one's judge look at the other's pictures: --rejudge"
    return "run one of them again with the other's judge or verifier"


def threshold_words(limit: float | None) -> str:
    return "none" if limit is None else f"{1 - limit:g}"


def _shares_subjects(first: ModelSide, other: ModelSide) -> bool:
    return bool(first.by_subject.keys() & other.by_subject.keys())


@dataclass(frozen=True)
class JudgeDrift:
    """Pictures judged twice by what calls itself the same judge, and how many came out otherwise."""

    pictures: int
    differing: int

    @property
    def proven(self) -> bool:
        low, _ = clopper_pearson(self.differing, self.pictures)
        return bool(self.pictures) and float(low) > DRIFT

    @property
    def sentence(self) -> str:
        if not self.pictures:
            return ""
        said = f"{self.differing:,} of {self.pictures:,} pictures that were judged twice came out otherwise"
        return f"the judge has drifted: {said}" if self.proven else said if self.differing else ""


def drift_between(first: ModelSide, second: ModelSide) -> JudgeDrift:
    """Same picture, same checks, other verdict: only where both drew the very same picture."""
    if find_kind(first.kind).target != GENERATOR:
        return JudgeDrift(0, 0)
    shared = first.cases.keys() & second.cases.keys()
    pairs = [(first.cases[one], second.cases[one]) for one in shared]
    same = [(here, there) for here, there in pairs if here.images and here.images == there.images]
    return JudgeDrift(len(same), sum(here.failed != there.failed for here, there in same))


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
    purposes = find_kind(sides[0].kind).purposes
    sampled: dict[str, dict[Place, AskedCase]] = {}
    found: list[CaseSet] = []
    for side in sides:
        results = {(one.subject, one.case): one for one in side.results.results}
        early = {place: case for place, case in side.cases.items() if not _is_late(case, purposes)}
        for place, case in early.items():
            if results[place].sampled:
                sampled.setdefault(purposes.of_key(case.key).sample_name, {}).setdefault(place, case)
        photos = frozenset[str]().union(*side.photos.values())
        mine = [
            case
            for place, case in early.items()
            if (case.subject in side.found and results[place].fresh and not results[place].sampled)
            or (case.images and case.images[-1] in photos)
        ]
        found += [CaseSet(f"findings of {side.name}", tuple(mine))] if mine else []
    return [*(CaseSet(name, tuple(cases.values())) for name, cases in sampled.items()), *found]


def _is_late(case: AskedCase, purposes: Purposes) -> bool:
    """Whether it was asked after the search, by a comparison such as this one."""
    key = ProbeKey.parse(case.key)
    if key is None or key.rest or not purposes.of_fresh_tries.is_of(case.key):
        return False
    return key.is_fresh


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
        clear = np.array([_is_clear(cell) for row in rows[1:] for cell in row])
        worse, better = evidence(np.array(counts, np.float64))
        worse, better = np.where(clear, worse, -np.inf), np.where(clear, better, -np.inf)
        is_worse, is_better = proven(worse, better, 0.05)
        claims = set(np.flatnonzero(is_worse | is_better).tolist())
    width = len(shared)
    return tuple(
        tuple(replace(cell, proven=(at - 1) * width + place in claims) for place, cell in enumerate(row))
        for at, row in enumerate(rows)
    )


def _is_clear(cell: MatrixCell) -> bool:
    """Whether the interval beside which a proof would stand lies on one side of 0."""
    return cell.beside is not None and not cell.beside.interval[0] <= 0 <= cell.beside.interval[1]


@dataclass(frozen=True)
class TrendPoint:
    """One model on the cases that all models share."""

    name: str
    failures: int
    cases: int
    interval: tuple[float, float]

    @property
    def rate(self) -> float:
        return self.failures / self.cases if self.cases else 0.0

    def as_data(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "failures": self.failures,
            "cases": self.cases,
            "rate": self.rate if self.cases else None,
            "interval": list(self.interval),
        }


@dataclass(frozen=True)
class ModelTrend:
    """Models in order. `steps` compare each with the one before; `subjects` has the rates of each row.

    A subject's rates are (failures, cases) per model, over the cases that all of them share.
    """

    points: tuple[TrendPoint, ...]
    steps: tuple[OverallDifference | None, ...]
    subjects: dict[str, tuple[tuple[int, int], ...]]
    counted: str = ""

    def as_data(self) -> dict[str, Any]:
        return {
            "models": [point.as_data() for point in self.points],
            "counted": self.counted,
            "steps": [step.as_data() if step else None for step in self.steps],
            "subjects": {subject: [list(one) for one in counts] for subject, counts in self.subjects.items()},
        }


@dataclass(frozen=True)
class ManyCompared(ShownInNotebooks):
    """The last of several models against the first; `trend` where there are more than two.

    `matrix` has all of them on whole sets of cases, where somebody asked for it.
    """

    sides: tuple[ModelSide, ...]
    last: PairedComparison
    trend: ModelTrend | None = None
    matrix: ModelMatrix | None = None

    def as_data(self) -> dict[str, Any]:
        data = self.last.as_data()
        data["models"] = [side.name for side in self.sides]
        data["kind"] = self.sides[0].kind
        more = {"trend": self.trend, "matrix": self.matrix}
        return {**data, **{name: one.as_data() for name, one in more.items() if one}}


def compare_sides(
    sides: Sequence[ModelSide],
    threshold: float | None = None,
    level: float = 0.05,
    margin: float = 0.05,
    rules: CompareRules | None = None,
    sets: Sequence[CaseSet] = (),
) -> ManyCompared:
    """All sides must measure the same thing; a judge that has drifted is refused."""
    named = with_findings_of_photos(with_own_names(sides))
    refuse_unlike(named, threshold)
    rules = rules or rules_for(named, threshold, level, margin)
    first, last = named[0], named[-1]
    notes = []
    for other in named[1:]:
        drift = drift_between(first, other)
        if drift.proven:
            raise NotComparable(
                f"{first.name} and {other.name}: {drift.sentence}",
                "judge both anew: failscape rejudge ATLAS --judge FILE",
            )
        notes += [drift.sentence] if drift.sentence else []
    compared = compare_results(first.results, last.results, rules)
    if first.accuracy is None and not knows_truth(first.row.identities):
        notes.append("the judge's errors are not known: rates are as it saw them (failscape review)")
    trend = trend_of(named) if len(named) > 2 else None
    matrix = matrix_of(named, sets) if sets else None
    return ManyCompared(tuple(named), replace(compared, notes=tuple(notes)), trend, matrix)


def with_own_names(sides: Sequence[ModelSide]) -> list[ModelSide]:
    """Sides of the same name get the folder and hunt that they are from beside it."""
    names = [side.name for side in sides]
    found = []
    for side in sides:
        name = side.name
        if names.count(name) > 1:
            name = f"{name} ({side.folder.name}@{side.row.id})"
        found.append(replace(side, name=name, results=replace(side.results, name=name)))
    return found


def trend_of(sides: Sequence[ModelSide]) -> ModelTrend:
    """Every model on the cases that all share, and each against the one before on the same."""
    known = [{(one.subject, one.case): one for one in side.results.results} for side in sides]
    shared = sorted(set.intersection(*(set(one) for one in known)))
    sampled = [place for place in shared if any(one[place].sampled for one in known)]
    chosen, counted = shared, "as searches chose"
    if len(sampled) >= FEWEST_SAMPLED:
        chosen, counted = sampled, "all of them" if len(sampled) == len(shared) else "of the random sample"
    points = []
    for side, results in zip(sides, known, strict=True):
        failures = sum(results[place].failed for place in chosen)
        low, high = clopper_pearson(failures, len(chosen))
        points.append(TrendPoint(side.name, failures, len(chosen), (float(low), float(high))))
    steps = [
        overall_difference(
            [(sides[0].results.group(place[0]), CasePair(here[place], there[place])) for place in chosen],
            f"cases that all models share, {counted}",
        )
        if chosen
        else None
        for here, there in itertools.pairwise(known)
    ]
    by_subject: dict[str, list[tuple[str, str]]] = {}
    for place in shared:
        by_subject.setdefault(place[0], []).append(place)
    subjects = {
        subject: tuple((sum(results[one].failed for one in mine), len(mine)) for results in known)
        for subject, mine in by_subject.items()
    }
    return ModelTrend(tuple(points), tuple(steps), subjects, counted)
