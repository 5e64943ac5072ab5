"""What is promised about noisy judges, by simulation: error levels and coverage, with measured accuracies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from failscape.stats.evalues import log_e_value
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.judging.reviews import LabelledStratum, accuracy_of

ALPHA, THRESHOLD, IMAGES = 0.05, 0.8, 120
KINDS = ("entity", "Base: Colour", "Image: Style")
TRUE = {"entity": (0.97, 0.95), "Base: Colour": (0.93, 0.9), "Image: Style": (0.88, 0.85)}
LOG_LINE = np.log(1 / ALPHA)


def judged(rng: np.random.Generator, nodes: int, rate: float, drop: Sequence[int]) -> np.ndarray:
    """Verdicts of a noisy judge on images of nodes with a true `rate`; failed images miss `drop`."""
    holds = rng.random((nodes, IMAGES)) < rate
    passed = np.ones_like(holds)
    for at, kind in enumerate(KINDS):
        sensitivity, specificity = TRUE[kind]
        chance = np.where(holds | (at not in drop), sensitivity, 1 - specificity)
        passed &= rng.random(holds.shape) < chance
    return passed


def rejected(hits: np.ndarray, limit: float) -> float:
    """How often the e-process ever calls the rate of `hits` lower than `limit`."""
    found = np.cumsum(hits, axis=1)
    logs = log_e_value(found, np.arange(1, IMAGES + 1) - found, limit)
    return float(np.mean(logs.max(axis=1) >= LOG_LINE))


def slack(level: float, times: int) -> float:
    """Three standard errors: what chance alone may add."""
    return level + 3 * np.sqrt(level * (1 - level) / times)


@pytest.mark.parametrize("drop", [(0, 1, 2), (2,), (0,)])
def test_false_failures_and_false_passes_stay_rare_under_a_known_noisy_judge(drop) -> None:
    limits = JudgeAccuracy.from_rates(TRUE).limits(KINDS, THRESHOLD)
    passed = judged(np.random.default_rng(len(drop)), 3000, THRESHOLD, drop)
    assert rejected(passed, limits.fail) <= slack(ALPHA, 3000)
    assert rejected(~passed, 1 - limits.passes) <= slack(ALPHA, 3000)
    assert rejected(passed, THRESHOLD) > 0.5, "taken at its word, this judge ruins the test"


def test_false_failures_stay_rare_when_accuracy_is_itself_measured() -> None:
    rng = np.random.default_rng(5)
    tables, nodes, wrong = 40, 100, []
    for _ in range(tables):
        counts = {
            kind: (rng.binomial(150, sens), 150, rng.binomial(150, spec), 150)
            for kind, (sens, spec) in TRUE.items()
        }
        limits = JudgeAccuracy.from_counts(counts).limits(KINDS, THRESHOLD)
        passed = judged(rng, nodes, THRESHOLD, (0, 1, 2))
        wrong.append((rejected(passed, limits.fail), rejected(~passed, 1 - limits.passes)))
    fails, passes = np.mean(wrong, axis=0)
    assert fails <= ALPHA
    assert passes <= ALPHA


def test_real_failures_are_still_found() -> None:
    """A limit that is never crossed would pass every test above."""
    rng = np.random.default_rng(6)
    counts = {kind: (150 * sens, 150, 150 * spec, 150) for kind, (sens, spec) in TRUE.items()}
    limits = JudgeAccuracy.from_counts(counts).limits(KINDS, THRESHOLD)
    assert rejected(judged(rng, 500, 0.2, (1,)), limits.fail) > 0.95
    exact = JudgeAccuracy.from_rates(TRUE).limits(KINDS, THRESHOLD)
    assert rejected(~judged(rng, 500, 1.0, ()), 1 - exact.passes) > 0.3


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("drop", [(0, 1, 2), (2,)])
def test_corrected_intervals_cover_the_true_rate(rate, drop) -> None:
    rng = np.random.default_rng(round(100 * rate) + len(drop))
    passes, covered = judged(rng, 250, rate, drop)[:, :60].sum(axis=1), 0
    for count in passes:
        counts = {
            kind: (rng.binomial(200, sens), 200, rng.binomial(200, spec), 200)
            for kind, (sens, spec) in TRUE.items()
        }
        _, (low, high) = JudgeAccuracy.from_counts(counts).correct(int(count), 60 - int(count), KINDS)
        covered += low - 1e-9 <= rate <= high + 1e-9
    assert covered / len(passes) >= 1 - slack(0.05, len(passes))


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


@pytest.mark.parametrize(
    ("sens", "spec", "share", "labels"),
    [
        (0.95, 0.9, 0.8, 10),
        (0.99, 0.99, 0.8, 25),
        (0.8, 0.8, 0.5, 10),
        (0.9, 0.95, 0.95, 15),
        (0.97, 0.6, 0.9, 10),
    ],
)
def test_bounds_from_reviews_hold(sens, spec, share, labels) -> None:
    """The lower bounds, on which claims rest, keep their level; the upper ones come close to it."""
    rng = np.random.default_rng(labels)
    times, doubt = 300, 0.05
    wrong = np.zeros(4)
    for _ in range(times):
        found = accuracy_of(review(rng, sens, spec, share, 1000, labels))
        seen, rejects = found.sensitivity, found.specificity
        wrong += (
            seen.at_least(doubt) > sens,
            rejects.at_least(doubt) > spec,
            seen.at_most(doubt) < sens,
            rejects.at_most(doubt) < spec,
        )
    assert max(wrong[:2]) / times <= slack(doubt, times)
    assert max(wrong[2:]) / times <= slack(2 * doubt, times)
