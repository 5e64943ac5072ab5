"""A warm start pays where the old atlas is right, costs little where it misleads, and makes no claim false.

The figures of docs/better-model.md come from `python -m benchmarks.warm_start`, with more worlds than here.
"""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.warm_start import Setup

IMAGES = 1_600
SEEDS = range(2)
HELPFUL, MISLEADING = "strong", "medium"
"""Kinds of model: few findings that an old atlas names, and so many that a tenth of them can be seen."""


@cache
def setup(regime: str, seed: int) -> Setup:
    return Setup.of(regime, "clear", "listed", IMAGES, seed)


@cache
def played(regime: str, arm: str, images: int) -> tuple[int, int, int]:
    """True findings, claims, and claims that do not fail, over all worlds."""
    rows = [setup(regime, seed).play(arm, images) for seed in SEEDS]
    claims = sum(row.claims for row in rows)
    return sum(row.minimal for row in rows), claims, claims - sum(row.failing for row in rows)


def test_a_helpful_atlas_doubles_what_a_quarter_of_the_budget_finds() -> None:
    true, claims, wrong = played(HELPFUL, "warm", IMAGES // 4)
    assert true >= 2 * max(played(HELPFUL, "cold", IMAGES // 4)[0], 5)
    assert wrong <= 1 + 0.1 * claims


@pytest.mark.parametrize("part", [4, 1])
@pytest.mark.parametrize("arm", ["swapped", "exchanged", "shuffled"])
def test_a_misleading_atlas_costs_little_and_makes_nothing_false(arm: str, part: int) -> None:
    """One hunt differs from the next by more than a tenth: the bound leaves room for luck."""
    true, claims, wrong = played(MISLEADING, arm, IMAGES // part)
    assert true >= 0.7 * played(MISLEADING, "cold", IMAGES // part)[0]
    assert wrong <= 1 + 0.1 * claims
