"""Comparisons of planted models: no change is not called one, and a change is found at the named budget.

The figures of docs/gate.md come from `python -m benchmarks.gate`, with more gates than here.
"""

from __future__ import annotations

import numpy as np
from benchmarks.gate import SUBJECTS, caught, false_alarms

from failscape.comparison.decide import evidence, proven
from failscape.stats.differences import pairs_needed
from failscape.stats.evalues import Floats, log_e_value

RUNS, LEVEL, LIMIT = 200, 0.05, 0.2


def searched_pairs(rng: np.random.Generator, before: Floats, after: Floats) -> Floats:
    """Both fail by chance of their own; the first's search stops at its claim, or when it looks fine.

    That is what makes naive comparisons see repairs: what was picked failed by luck in part.
    """
    most = 60
    fails = rng.random((2, len(before), most)) < np.stack([before, after])[:, :, None]
    seen = fails[0].cumsum(axis=1)
    tries = np.arange(1, most + 1)
    claimed = log_e_value(tries - seen, seen, 1 - LIMIT) >= np.log(len(before) / LEVEL / 4)
    fine = (tries >= 8) & (seen <= 0.1 * tries)
    ended = claimed | fine
    stop = np.where(ended.any(axis=1), ended.argmax(axis=1), most - 1)
    kept = np.arange(most) <= stop[:, None]
    first, second = fails
    return np.stack(
        [
            (first & second & kept).sum(axis=1),
            (first & ~second & kept).sum(axis=1),
            (~first & second & kept).sum(axis=1),
            (~first & ~second & kept).sum(axis=1),
        ],
        axis=1,
    ).astype(np.float64)


def test_the_same_model_again_is_not_called_a_change() -> None:
    """200 comparisons of a model with itself, after a search that picks what fails by luck."""
    rng = np.random.default_rng(31)
    alarms = 0
    for _ in range(RUNS):
        rates = rng.beta(0.6, 2.0, SUBJECTS)
        worse, better = proven(*evidence(searched_pairs(rng, rates, rates)), LEVEL)
        alarms += bool(worse.any() or better.any())
    assert alarms < 18, f"{alarms} of {RUNS} runs claim a difference that is none"


def test_a_change_of_a_finding_is_seen_at_the_named_number_of_pairs() -> None:
    """A 10-point change of 5 % of subjects, each with as many pairs as the line about power names."""
    rng = np.random.default_rng(32)
    before = np.full(SUBJECTS, 0.1)
    after = before.copy()
    after[:4] += 0.1
    unchanged = float(np.mean(2 * before * (1 - before)))
    pairs = pairs_needed(0.1, unchanged, np.log(2 * SUBJECTS / LEVEL))
    seen = 0
    for _ in range(40):
        first = rng.random((SUBJECTS, pairs)) < before[:, None]
        second = rng.random((SUBJECTS, pairs)) < after[:, None]
        cells = (first & second, first & ~second, ~first & second, ~first & ~second)
        table = np.stack([cell.sum(axis=1) for cell in cells], axis=1).astype(np.float64)
        worse, better = proven(*evidence(table), LEVEL)
        seen += int(worse[:4].sum())
        assert not better.any()
    # 160 changed subjects; at a power of 80 % fewer than 108 have a chance below 1e-4.
    assert seen >= 108


def test_a_gate_raises_few_false_alarms() -> None:
    alarms = false_alarms(RUNS, 33)
    assert alarms < 18, f"{alarms} of {RUNS} gates stop a model that is as good as the last one"


def test_a_gate_catches_a_local_regression_at_the_budget_it_names() -> None:
    """Ten points on a twentieth of the subjects: 90 % of gates fail at the budget of the line about power."""
    found, budget = caught(60, 34)
    assert found >= 54, f"{found} of 60 at {budget:,} trials"
