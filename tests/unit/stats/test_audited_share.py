"""What a tested sample says of its list: exact, by enumeration."""

import numpy as np
import pytest
from scipy import stats

from failscape.stats.audited_share import (
    LEVELS,
    MOST_IMAGES,
    images_expected,
    log_failing,
    log_passing,
    most_wrong,
    sample_needed,
    share_right,
    size_of_test,
)


@pytest.mark.parametrize("wrong", [0, 1, 5, 20, 60])
@pytest.mark.parametrize(("sampled", "size"), [(10, 0.28), (40, 0.28), (60, 0.05)])
def test_the_bound_is_too_small_no_more_often_than_stated(wrong: int, sampled: int, size: float) -> None:
    """Over every sample, with every wrong one confirmed as often as a test of that size may."""
    drawn = np.arange(min(wrong, sampled) + 1)
    chances = stats.hypergeom.pmf(drawn, 60, wrong, sampled)
    missed = 0.0
    for number, chance in zip(drawn, chances, strict=True):
        for unconfirmed in range(number + 1):
            if most_wrong(60, sampled, unconfirmed, size, 0.05) < wrong:
                missed += chance * stats.binom.pmf(unconfirmed, number, 1 - size)
    assert missed <= 0.05


def test_the_size_of_a_test_is_what_a_rate_at_the_limit_reaches() -> None:
    rng = np.random.default_rng(0)
    for limit, level in ((0.8, 2.0), (0.2, 2.0), (0.8, 10.0)):
        passed = rng.random((4_000, MOST_IMAGES)) < limit
        passes = passed.cumsum(axis=1)
        fails = np.arange(1, MOST_IMAGES + 1) - passes
        known = {(p, f): log_failing(p, f, limit) for p, f in set(zip(passes.flat, fails.flat, strict=True))}
        evidence = np.array([known[pair] for pair in zip(passes.flat, fails.flat, strict=True)])
        crossed = (evidence.reshape(passes.shape) >= np.log(level)).any(axis=1).mean()
        assert crossed == pytest.approx(size_of_test(limit, level), abs=0.03)
        assert size_of_test(limit, level) <= 1 / level + 1e-9


def test_stronger_tests_are_smaller_and_cost_more() -> None:
    sizes = [size_of_test(0.8, level) for level in LEVELS]
    assert sizes == sorted(sizes, reverse=True)
    costs = [images_expected(1, 6, 0.8, level) for level in LEVELS]
    assert costs == sorted(costs)
    assert images_expected(7, 3, 0.8, 2.0) > images_expected(0, 10, 0.8, 2.0), "near the limit it is longer"


def test_both_directions_mirror_each_other() -> None:
    assert log_passing(9, 1, 0.8) == pytest.approx(log_failing(1, 9, 0.2))
    assert log_failing(0, 3, 0.8) > 0 > log_passing(0, 3, 0.8)


def test_what_a_sample_shows() -> None:
    assert share_right(0, 0, 0, 0.3, 0.05) == 0.0
    assert share_right(100, 100, 0, 0.0, 0.05) == 1.0
    assert share_right(100, 50, 10, 0.3, 0.05) < share_right(100, 50, 0, 0.3, 0.05)
    needed = sample_needed(2_000, 0.9, 0.28, 0.025)
    assert needed is not None
    assert share_right(2_000, needed, 0, 0.28, 0.025) >= 0.9 > share_right(2_000, needed - 1, 0, 0.28, 0.025)
    assert sample_needed(3, 0.9, 0.28, 0.025) is None
    with pytest.raises(ValueError, match="sampled"):
        most_wrong(3, 4, 0, 0.3, 0.05)
