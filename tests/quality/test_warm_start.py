"""A warm start pays where the old atlas is right, costs little where it misleads, and makes no claim false.

The figures of docs/better-model.md come from `python -m benchmarks.warm_start`, with more worlds than here.
"""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.warm_start import Setup

IMAGES = 1_600
SEEDS = range(2)


@cache
def setup(seed: int) -> Setup:
    return Setup.of("strong", "clear", "listed", IMAGES, seed)


@cache
def played(arm: str, images: int) -> tuple[int, int, int]:
    """True findings, claims, and claims that do not fail, over all worlds."""
    rows = [setup(seed).play(arm, images) for seed in SEEDS]
    claims = sum(row.claims for row in rows)
    return sum(row.minimal for row in rows), claims, claims - sum(row.failing for row in rows)


def test_a_helpful_atlas_doubles_what_a_quarter_of_the_budget_finds() -> None:
    true, claims, wrong = played("warm", IMAGES // 4)
    assert true >= 2 * max(played("cold", IMAGES // 4)[0], 5)
    assert wrong <= 1 + 0.1 * claims


@pytest.mark.parametrize("arm", ["swapped", "exchanged"])
def test_a_misleading_atlas_costs_little_and_makes_nothing_false(arm: str) -> None:
    """One hunt differs from the next by more than a tenth: the bound leaves room for luck."""
    true, claims, wrong = played(arm, IMAGES)
    assert true >= 0.7 * played("cold", IMAGES)[0]
    assert wrong <= 1 + 0.1 * claims
