"""A nuisance that does nothing is not found; one that matters is, at its size."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.stats.nuisance import nuisance_effect

Units = list[list[tuple[int, int]]]


def world(rng: np.random.Generator, spread: float, units: int = 200, tries: int = 8) -> Units:
    """Units of any rate; the rates of their three levels differ by `spread` (standard deviation)."""
    made: Units = []
    steps = spread * np.array([-1, 0, 1])
    for rate in rng.uniform(0.3, 0.7, units):
        fails = rng.binomial(tries, np.clip(rate + rng.permutation(steps), 0, 1))
        made.append([(tries - int(f), int(f)) for f in fails])
    return made


def test_without_an_effect_p_values_are_even() -> None:
    rng = np.random.default_rng(0)
    found = [nuisance_effect(world(rng, 0.0, units=30), seed) for seed in range(60)]
    p_values = [one.p_value for one in found if one]
    assert len(p_values) == 60
    assert sum(p <= 0.05 for p in p_values) <= 9  # 3 expected; more than 9 has a chance of 1 in 1,000
    assert 0.35 < np.mean(p_values) < 0.65


@pytest.mark.parametrize("spread", [0.1, 0.2])
def test_an_effect_is_found_at_its_size(spread: float) -> None:
    found = nuisance_effect(world(np.random.default_rng(1), spread, units=600))
    assert found is not None
    assert found.p_value < 0.01
    assert found.spread == pytest.approx(spread, abs=0.03)
    assert found.interval[0] < spread < found.interval[1] + 0.02
    assert (found.units, found.trials) == (600, 600 * 24)


def test_units_that_cannot_tell_are_left_out() -> None:
    assert nuisance_effect([]) is None
    assert nuisance_effect([[(5, 5)], [(1, 0), (0, 1)], [(0, 0), (3, 3)]]) is None
    found = nuisance_effect([[(5, 0), (5, 0)], [(5, 5), (5, 5), (0, 0)]])
    assert found is not None
    assert (found.units, found.spread) == (2, 0.0)
    assert found.p_value > 0.5
