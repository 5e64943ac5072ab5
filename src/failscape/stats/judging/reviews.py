"""How often a judge errs, from a sample of its answers that people labelled. Pure; not anytime-valid.

The sample is stratified by the judge's own answer, so plain shares would be wrong: each stratum counts with
the number of answers it stands for. Sensitivity is a ratio of two such totals. Its uncertainty is told as the
number of independent cases worth as much (Korn and Graubard, 1998), so that exact binomial bounds apply.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from failscape.stats.intervals import one_sided
from failscape.stats.judging.accuracy import ALL_OTHERS
from failscape.stats.judging.errors import KindAccuracy, Measured

DOUBT = 0.05
#: A rate worth fewer cases than this is helped by the other kinds of checks.
FEW = 10

UNKNOWN = Measured(0.5, 0.0)


class LabelledStratum(NamedTuple):
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


def accuracies_of(kinds: Mapping[str, Sequence[LabelledStratum]]) -> dict[str, KindAccuracy]:
    """How the judge errs on each kind, and in "*" what is likely for a kind that nobody labelled.

    Where a kind has few cases of one sort (a target that never misses a place leaves nothing to learn about
    places that are missing), they are joined by what is likely from the other kinds.
    """
    found = {kind: accuracy_of(strata) for kind, strata in kinds.items()}
    others = KindAccuracy(
        _one_more([one.sensitivity for one in found.values()]),
        _one_more([one.specificity for one in found.values()]),
    )
    helped = {
        kind: KindAccuracy(
            _helped(one.sensitivity, others.sensitivity), _helped(one.specificity, others.specificity)
        )
        for kind, one in found.items()
    }
    return {**helped, ALL_OTHERS: others}


def _helped(own: Measured, others: Measured) -> Measured:
    if own.of >= FEW or not others.of:
        return own
    of = own.of + others.of
    return Measured((own.rate * own.of + others.rate * others.of) / of, of)


def _one_more(kinds: Sequence[Measured]) -> Measured:
    """What one more kind is likely to be like: the mean of the others, worth the less the more they differ.

    Their spread beyond chance is estimated as in a random-effects model; few kinds tell little about it.
    """
    known = [one for one in kinds if one.of >= FEW]
    if len(known) < 3:
        cases = sum(one.of for one in kinds)
        rate = sum(one.rate * one.of for one in kinds) / cases if cases else 0.5
        return Measured(rate, min(cases, FEW))
    rates = np.array([one.rate for one in known])
    mean = float(rates.mean())
    # Half a case each way: a kind without errors is not without doubt.
    chance = np.array(
        [(one.rate * one.of + 0.5) * ((1 - one.rate) * one.of + 0.5) / (one.of + 1) ** 3 for one in known]
    )
    between = max(0.0, float(rates.var(ddof=1) - chance.mean()))
    spread = max(mean * (1 - mean), float(chance.mean()))
    worth = spread / (between * (1 + 1 / len(known)) + float(chance.mean()) / len(known))
    tail = 1 - DOUBT
    few = float(special.ndtri(tail) / special.stdtrit(len(known) - 1, tail)) ** 2
    return Measured(mean, min(worth * few, sum(one.of for one in known)))


def accuracy_of(strata: Sequence[LabelledStratum]) -> KindAccuracy:
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
