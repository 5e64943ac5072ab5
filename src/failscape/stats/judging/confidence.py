"""What a judge's confidence is worth, once people have labelled some of its checks. Pure.

A chance near 1 should be right nearly always: the curve shows whether it is. Evidence may count each picture
by the chance that it shows everything, in place of yes or no. With s the sum of these chances over n
pictures, the bet of `evalues.log_bet` at (s, n - s) is an e-value against "the mean chance is at least the
limit": each of its factors is convex in a picture's chance, so that it pays at most what the mixture of a yes
and a no would pay. The limit is the lowest mean chance that a node at the threshold could show, from the mean
chances that labelled checks got which hold and which do not. Without labels nothing is weighted.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from failscape.stats.evalues import log_bet
from failscape.stats.intervals import exact_interval
from failscape.stats.judging.accuracy import ALL_OTHERS, JudgeAccuracy
from failscape.stats.judging.errors import KindAccuracy, Measured

BINS = 10
#: Labels of each sort (holds, does not) below which the mean chance of a kind is taken from all kinds.
LEAST_LABELS = 10


class LabelledChance(NamedTuple):
    """A check that people decided, and how sure the judge was that it holds."""

    kind: str
    chance: float
    holds: bool


class CurvePoint(NamedTuple):
    """Checks about which the judge was about equally sure: how sure, how many of them truly hold."""

    chance: float
    share: float
    interval: tuple[float, float]
    checks: int


def calibration_curve(labelled: Sequence[LabelledChance], bins: int = BINS) -> list[CurvePoint]:
    """By tenths of confidence; empty ones are left out."""
    groups: dict[int, list[LabelledChance]] = {}
    for one in labelled:
        groups.setdefault(min(int(one.chance * bins), bins - 1), []).append(one)
    return [_point(groups[place]) for place in sorted(groups)]


def _point(group: Sequence[LabelledChance]) -> CurvePoint:
    held = sum(one.holds for one in group)
    mean = sum(one.chance for one in group) / len(group)
    return CurvePoint(mean, held / len(group), exact_interval(held, len(group)), len(group))


def calibration_error(labelled: Sequence[LabelledChance]) -> float:
    """The mean distance of what it says from what holds, over the curve; 0 is perfect."""
    points = calibration_curve(labelled)
    total = sum(point.checks for point in points)
    return sum(point.checks * abs(point.chance - point.share) for point in points) / total if total else 0.0


def best_thresholds(labelled: Sequence[LabelledChance]) -> dict[str, float]:
    """By kind, the threshold that makes the fewest mistakes on the labels; kinds with too few are left out.

    It is chosen on these labels: measure the judge on others after setting it.
    """
    kinds: dict[str, list[LabelledChance]] = {}
    for one in labelled:
        kinds.setdefault(one.kind, []).append(one)
    enough = {kind: rows for kind, rows in kinds.items() if _counts(rows) >= LEAST_LABELS}
    return {kind: _best(rows) for kind, rows in enough.items()}


def _counts(rows: Sequence[LabelledChance]) -> int:
    """Labels of the rarer sort."""
    held = sum(one.holds for one in rows)
    return min(held, len(rows) - held)


def _best(rows: Sequence[LabelledChance]) -> float:
    """Halfway between two chances; nearest to a half where several are equally good."""
    chances = sorted({one.chance for one in rows})
    places = [(a + b) / 2 for a, b in pairwise(chances)] or [0.5]
    wrong = {place: sum((one.chance >= place) != one.holds for one in rows) for place in places}
    best: float = min(places, key=lambda place: (wrong[place], abs(place - 0.5)))
    return round(best, 3)


def soft_accuracy(labelled: Sequence[LabelledChance]) -> JudgeAccuracy | None:
    """Mean chances of checks that hold and that do not, as if they were rates; `None` with too few labels."""
    if _counts(labelled) < LEAST_LABELS:
        return None
    kinds = {ALL_OTHERS: _means(labelled)}
    for kind in {one.kind for one in labelled}:
        own = [one for one in labelled if one.kind == kind]
        if _counts(own) >= LEAST_LABELS:
            kinds[kind] = _means(own)
    return JudgeAccuracy(kinds, source=f"confidence on {len(labelled):,} labelled checks")


def _means(rows: Sequence[LabelledChance]) -> KindAccuracy:
    yes, no = [one.chance for one in rows if one.holds], [one.chance for one in rows if not one.holds]
    return KindAccuracy(Measured(sum(yes) / len(yes), len(yes)), Measured(1 - sum(no) / len(no), len(no)))


def soft_evidence(passed: Sequence[float], limit: float) -> float:
    """log e from the chances that pictures show everything, against a mean chance of at least `limit`."""
    total = float(sum(passed))
    return float(log_bet(total, len(passed) - total, limit))
