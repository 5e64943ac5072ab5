"""Compares two or more sides: the newest with the first, and the way there as a trend."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.comparison.comparable import NotComparable, drift_between, refuse_unlike
from failscape.comparison.decide import FEWEST_SAMPLED, compare_results, overall_difference
from failscape.comparison.judges import knows_truth
from failscape.comparison.matrix import CaseSet, ModelMatrix, matrix_of
from failscape.comparison.pairs import CasePair
from failscape.comparison.reading import ModelSide, rules_for, with_findings_of_photos
from failscape.comparison.result import CompareRules, OverallDifference, PairedComparison
from failscape.stats.intervals import clopper_pearson


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
class Trend:
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
class ManyCompared:
    """The last of several models against the first; `trend` where there are more than two.

    `matrix` has all of them on whole sets of cases, where somebody asked for it.
    """

    sides: tuple[ModelSide, ...]
    last: PairedComparison
    trend: Trend | None = None
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


def trend_of(sides: Sequence[ModelSide]) -> Trend:
    """Every model on the cases that all share, and each against the one before on the same."""
    known = [{(one.subject, one.case): one for one in side.results.results} for side in sides]
    shared = sorted(set.intersection(*(set(one) for one in known)))
    sampled = [place for place in shared if any(one[place].sampled for one in known)]
    chosen, counted = (
        (sampled, "of the random sample") if len(sampled) >= FEWEST_SAMPLED else (shared, "as searches chose")
    )
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
    return Trend(tuple(points), tuple(steps), subjects, counted)
