"""How often a judge errs, from a sample of its answers that people labelled. Pure; not anytime-valid.

The sample is stratified by the judge's own answer, so plain shares would be wrong: each stratum counts with
the number of answers it stands for. Sensitivity is a ratio of two such totals. Its uncertainty is told as the
number of independent cases worth as much (Korn and Graubard, 1998), so that exact binomial bounds apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from failscape.stats.intervals import one_sided
from failscape.stats.judge_errors import KindAccuracy, Measured
from failscape.stats.judges import ALL_OTHERS

DOUBT = 0.05
FEW = 10
"""A rate worth fewer cases than this is taken from all kinds of checks together."""

UNKNOWN = Measured(0.5, 0.0)


class Stratum(NamedTuple):
    """Answers of a judge that are alike: all `answer`, `population` of them, some labelled yes or no."""

    answer: bool
    population: float
    yes: int
    no: int


class _Part(NamedTuple):
    """`hits` of `labelled` in a stratum of `population`; `inside` when the judge is right about a hit."""

    inside: bool
    population: float
    hits: float
    labelled: float


def accuracies_of(kinds: Mapping[str, Sequence[Stratum]]) -> dict[str, KindAccuracy]:
    """How the judge errs on each kind, with "*" for all together.

    Where a kind has too few cases of one sort (a target that never misses a place leaves nothing to learn
    about places that are missing), it is taken to err as all kinds together.
    """
    pooled = accuracy_of([stratum for strata in kinds.values() for stratum in strata])
    found = {kind: _helped(accuracy_of(strata), pooled) for kind, strata in kinds.items()}
    return {**found, ALL_OTHERS: pooled}


def _helped(own: KindAccuracy, pooled: KindAccuracy) -> KindAccuracy:
    return KindAccuracy(
        own.sensitivity if own.sensitivity.of >= FEW else pooled.sensitivity,
        own.specificity if own.specificity.of >= FEW else pooled.specificity,
    )


def accuracy_of(strata: Sequence[Stratum]) -> KindAccuracy:
    """Sensitivity: of all that truly holds, what the judge called true. Specificity likewise."""
    holds = [_Part(one.answer, one.population, one.yes, one.yes + one.no) for one in strata]
    not_so = [_Part(not one.answer, one.population, one.no, one.yes + one.no) for one in strata]
    return KindAccuracy(_ratio(holds), _ratio(not_so))


def _ratio(parts: Sequence[_Part]) -> Measured:
    """The share of hits that lie inside, each stratum weighted by its population.

    The variance is taken half a hit and half a miss away from the sample, for a stratum that was labelled
    all alike is not without doubt.
    """
    smooth = [part._replace(hits=part.hits + 0.5, labelled=part.labelled + 1) for part in parts]
    near, total = _share(smooth), _total(smooth)
    if not parts or total <= 0:
        return UNKNOWN
    variance = 0.0
    for part in smooth:
        rate = part.hits / part.labelled
        slope = part.population * ((1.0 if part.inside else 0.0) - near) / total
        variance += slope**2 * rate * (1 - rate) / part.labelled
    # The judge's answers are a sample as well: not even labels for all of them would tell everything. With
    # few hits labelled there may be few in all, and with none perhaps none.
    most, spread = sum(_at_least(part) for part in parts), near * (1 - near)
    if most <= 0:
        return UNKNOWN
    worth = 1 / (1 / most + (variance / spread if spread > 0 else 0.0))
    return Measured(_share(parts) if all(part.labelled for part in parts) else near, worth)


def _at_least(part: _Part) -> float:
    """How many hits the stratum has, cautiously."""
    return part.population * one_sided(part.hits, part.labelled, DOUBT)[0]


def _total(parts: Sequence[_Part]) -> float:
    return sum(part.population * part.hits / part.labelled for part in parts)


def _share(parts: Sequence[_Part]) -> float:
    total = _total(parts)
    return _total([part for part in parts if part.inside]) / total if total > 0 else 0.5
