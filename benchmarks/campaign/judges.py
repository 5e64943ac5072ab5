"""What is promised about noisy judges: levels and coverage when their accuracy is itself measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.campaign.measurements import Measurement, at_most, few_of
from failscape.stats.evalues import log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.judging.reviews import LabelledStratum, accuracy_of

ALPHA = 0.05
THRESHOLD = 0.8
IMAGES = 120
KINDS = ("entity", "Base: Colour", "Image: Style")
TRUE = {"entity": (0.97, 0.95), "Base: Colour": (0.93, 0.9), "Image: Style": (0.88, 0.85)}
Bools = NDArray[np.bool_]
Counts = dict[str, tuple[int, int, int, int]]


def judged(rng: np.random.Generator, nodes: int, rate: float, drop: Sequence[int]) -> Bools:
    """Verdicts of a noisy judge on images of nodes with a true `rate`; failed images miss `drop`."""
    holds = rng.random((nodes, IMAGES)) < rate
    passed = np.ones_like(holds)
    for at, kind in enumerate(KINDS):
        sensitivity, specificity = TRUE[kind]
        chance = np.where(holds | (at not in drop), sensitivity, 1 - specificity)
        passed &= rng.random(holds.shape) < chance
    return passed


def rejected(hits: Bools, limit: float) -> int:
    """How often the e-process ever calls the rate of `hits` lower than `limit`."""
    found = np.cumsum(hits, axis=1)
    logs = log_e_value(found, np.arange(1, IMAGES + 1) - found, limit)
    return int((logs.max(axis=1) >= np.log(1 / ALPHA)).sum())


def labelled(rng: np.random.Generator, cases: int) -> Counts:
    """Labels of so many true and so many false checks of each kind."""
    return {
        kind: (int(rng.binomial(cases, sens)), cases, int(rng.binomial(cases, spec)), cases)
        for kind, (sens, spec) in TRUE.items()
    }


def measured_accuracy() -> Iterator[Measurement]:
    """Nodes exactly at the threshold; the judge's accuracy comes from 150 labels of each kind."""
    rng = np.random.default_rng(5)
    fails, passes = 0, 0
    for _ in range(40):
        limits = JudgeAccuracy.from_counts(labelled(rng, 150)).limits(KINDS, THRESHOLD)
        verdicts = judged(rng, 100, THRESHOLD, (0, 1, 2))
        fails += rejected(verdicts, limits.fail)
        passes += rejected(~verdicts, 1 - limits.passes)
    yield at_most("share of nodes that are ever called failing", fails / 4_000, ALPHA)
    yield at_most("share of nodes that are ever called passing", passes / 4_000, ALPHA)


def corrected_intervals() -> Iterator[Measurement]:
    """60 images a node, 200 labels a kind: how often a corrected interval misses the true rate."""
    for drop in ((0, 1, 2), (2,)):
        for rate in (0.1, 0.5, 0.8, 1.0):
            rng = np.random.default_rng(round(100 * rate) + len(drop))
            passes = judged(rng, 250, rate, drop)[:, :60].sum(axis=1)
            missed = 0
            for count in passes:
                accuracy = JudgeAccuracy.from_counts(labelled(rng, 200))
                _, (low, high) = accuracy.correct(int(count), 60 - int(count), KINDS)
                missed += not low - 1e-9 <= rate <= high + 1e-9
            yield few_of(f"rate {rate:g}, {len(drop)} checks miss: intervals that miss it", missed, 250, 0.05)


def review(
    rng: np.random.Generator, sens: float, spec: float, share: float, checks: int, labels: int
) -> list[LabelledStratum]:
    """A hunt's answers, and `labels` of each stratum labelled by somebody who is always right."""
    truth = rng.random(checks) < share
    answer = rng.random(checks) < np.where(truth, sens, 1 - spec)
    near = rng.random(checks) < 0.3
    found = []
    for says in (True, False):
        for close in (True, False):
            members = np.flatnonzero((answer == says) & (near == close))
            if len(members):
                seen = truth[rng.choice(members, min(labels, len(members)), replace=False)]
                found.append(LabelledStratum(says, len(members), int(seen.sum()), int((~seen).sum())))
    return found


def bounds_from_reviews() -> Iterator[Measurement]:
    """The lower bounds, on which claims rest, keep their level; the upper ones come close to it."""
    for sens, spec, share, labels in (
        (0.95, 0.9, 0.8, 10),
        (0.99, 0.99, 0.8, 25),
        (0.8, 0.8, 0.5, 10),
        (0.9, 0.95, 0.95, 15),
        (0.97, 0.6, 0.9, 10),
    ):
        rng = np.random.default_rng(labels)
        wrong = np.zeros(4, dtype=np.int64)
        for _ in range(300):
            found = accuracy_of(review(rng, sens, spec, share, 1000, labels))
            seen, rejects = found.sensitivity, found.specificity
            wrong += (
                seen.at_least(0.05) > sens,
                rejects.at_least(0.05) > spec,
                seen.at_most(0.05) < sens,
                rejects.at_most(0.05) < spec,
            )
        name = f"judge {sens:g}/{spec:g}, {share:.0%} true, {labels} labels"
        yield few_of(f"{name}: lower bounds above the truth", int(wrong[:2].max()), 300, 0.05)
        yield few_of(f"{name}: upper bounds below the truth", int(wrong[2:].max()), 300, 0.1)
