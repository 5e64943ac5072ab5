"""A warm start pays where the old atlas is right, costs little where it misleads, and makes no claim false.

The figures of docs/better-model.md come from `python -m benchmarks.warm_start`, with more worlds than here.
"""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.warm_start import Setup

IMAGES = 2_400


@cache
def setup(seed: int) -> Setup:
    return Setup.of("strong", "clear", "listed", IMAGES, seed)


def test_a_helpful_atlas_doubles_what_a_quarter_of_the_budget_finds() -> None:
    cold, warm = ([setup(seed).play(arm, IMAGES // 4) for seed in range(3)] for arm in ("cold", "warm"))
    assert sum(one.minimal for one in warm) >= 2 * sum(one.minimal for one in cold)
    assert sum(one.claims - one.failing for one in warm) <= 0.15 * sum(one.claims for one in warm)


@pytest.mark.parametrize("arm", ["swapped", "exchanged"])
def test_a_misleading_atlas_costs_little_and_makes_nothing_false(arm: str) -> None:
    """One hunt differs from the next by a tenth; the bound is on three together, with room for luck."""
    cold, misled = ([setup(seed).play(which, IMAGES) for seed in range(3)] for which in ("cold", arm))
    assert sum(one.minimal for one in misled) >= 0.7 * sum(one.minimal for one in cold)
    assert sum(one.claims - one.failing for one in misled) <= 0.15 * sum(one.claims for one in misled)
