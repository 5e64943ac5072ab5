"""Comparisons and gates of planted models: no change is not called one, and a change is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.campaign.measurements import Measurement, at_least, few_of
from benchmarks.gate import SUBJECTS, caught, false_alarms
from failscape.again.decide import evidence, proven
from failscape.stats.differences import pairs_needed
from failscape.stats.evalues import Floats, log_e_value

RUNS = 200
LEVEL = 0.05
LIMIT = 0.2


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
    cells = (first & second, first & ~second, ~first & second, ~first & ~second)
    return np.stack([(cell & kept).sum(axis=1) for cell in cells], axis=1).astype(np.float64)


def same_model() -> Iterator[Measurement]:
    """A model compared with itself, after a search that picks what fails by luck."""
    rng = np.random.default_rng(31)
    alarms = 0
    for _ in range(RUNS):
        rates = rng.beta(0.6, 2.0, SUBJECTS)
        worse, better = proven(*evidence(searched_pairs(rng, rates, rates)), LEVEL)
        alarms += bool(worse.any() or better.any())
    yield few_of("comparisons that claim a difference that is none", alarms, RUNS, LEVEL)


def changed_model() -> Iterator[Measurement]:
    """A 10-point change of 5 % of subjects, each with as many pairs as the line about power names."""
    rng = np.random.default_rng(32)
    before = np.full(SUBJECTS, 0.1)
    after = before.copy()
    after[:4] += 0.1
    unchanged = float(np.mean(2 * before * (1 - before)))
    pairs = pairs_needed(0.1, unchanged, np.log(2 * SUBJECTS / LEVEL))
    seen, repairs = 0, 0
    for _ in range(40):
        first = rng.random((SUBJECTS, pairs)) < before[:, None]
        second = rng.random((SUBJECTS, pairs)) < after[:, None]
        cells = (first & second, first & ~second, ~first & second, ~first & ~second)
        table = np.stack([cell.sum(axis=1) for cell in cells], axis=1).astype(np.float64)
        worse, better = proven(*evidence(table), LEVEL)
        seen += int(worse[:4].sum())
        repairs += int(better.any())
    # 160 changed subjects; at a power of 80 % fewer than 108 have a chance below 1e-4.
    yield at_least("changed subjects of 160 that are seen", seen, 108)
    yield few_of("comparisons that claim a repair", repairs, 40, LEVEL)


def gates() -> Iterator[Measurement]:
    yield few_of("gates that stop a model as good as the last one", false_alarms(RUNS, 33), RUNS, LEVEL)
    found, budget = caught(60, 34)
    yield at_least(f"gates of 60 that stop a local regression, {budget:,} trials", found, 54)
