"""Calibration of a judge's confidence, thresholds from labels, and evidence that counts by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from failscape.stats.evalues import log_bet
from failscape.stats.judging.confidence import (
    LabelledChance,
    best_thresholds,
    calibration_curve,
    calibration_error,
    soft_accuracy,
    soft_evidence,
)


def labelled(count: int, seed: int, power: float = 1.0, kind: str = "entity") -> list[LabelledChance]:
    """Checks whose truth follows from `chance ** power`: 1 is calibrated, more is too sure of itself."""
    rng = np.random.default_rng(seed)
    chances = rng.random(count)
    return [LabelledChance(kind, float(c), bool(rng.random() < c**power)) for c in chances]


def test_a_calibrated_judge_lies_on_the_line() -> None:
    rows = labelled(20_000, 1)
    assert calibration_error(rows) < 0.02
    assert all(
        point.interval[0] - 0.02 <= point.chance <= point.interval[1] + 0.02
        for point in calibration_curve(rows)
    )
    assert calibration_error(labelled(20_000, 1, 3.0)) > 0.15
    assert calibration_error([]) == 0


def test_the_best_threshold_makes_the_fewest_mistakes() -> None:
    rows = [LabelledChance("entity", c / 100, c >= 70) for c in range(100)]
    assert best_thresholds(rows)["entity"] == pytest.approx(0.695)
    assert best_thresholds(rows[:75]) == {}


def test_too_few_labels_weigh_nothing() -> None:
    assert soft_accuracy([LabelledChance("entity", 0.9, True)] * 50) is None
    found = soft_accuracy(labelled(200, 2))
    assert found is not None
    assert set(found.kinds) == {"*", "entity"}


def test_hard_replies_are_a_special_case() -> None:
    assert soft_evidence([0.0] * 6 + [1.0], 0.8) == pytest.approx(float(log_bet(1, 6, 0.8)))


@pytest.mark.parametrize("spread", [0.0, 0.15, 0.19])
def test_soft_evidence_keeps_its_level_at_the_limit(spread: float) -> None:
    """Chances of mean 0.8, however they vary: e reaches 20 at some moment in at most one case of 20."""
    rng, runs, crossed = np.random.default_rng(7), 400, 0
    for _ in range(runs):
        chances = 0.8 + spread * rng.choice([-1.0, 1.0], 60)
        crossed += any(soft_evidence(chances[:n].tolist(), 0.8) >= math.log(20) for n in range(5, 61, 5))
    assert crossed <= 0.05 * runs
