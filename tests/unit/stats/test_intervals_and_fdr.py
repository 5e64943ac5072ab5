"""Intervals cover what they promise; e-BH claims what its definition says, and keeps its level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from failscape.stats import clopper_pearson, e_bh, jeffreys, log_e_bh, wilson
from failscape.stats.evalues import e_value


@pytest.mark.parametrize("n", [1, 5, 25, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_clopper_pearson_covers_every_rate(n: int, level: float) -> None:
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, n, level)
    for p in np.linspace(0.001, 0.999, 199):
        assert stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() >= level


@pytest.mark.parametrize("interval", [wilson, jeffreys])
def test_shorter_intervals_cover_on_average(interval: object) -> None:
    k, n = np.arange(26), 25
    low, high = interval(k, n)  # type: ignore[operator]
    grid = np.linspace(0.01, 0.99, 197)
    coverage = [stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() for p in grid]
    assert 0.94 < np.mean(coverage) < 0.97


@given(st.integers(0, 80), st.integers(0, 80))
def test_intervals_hold_the_observed_rate_and_mirror(hits: int, misses: int) -> None:
    n = hits + misses
    for interval in (clopper_pearson, wilson, jeffreys):
        low, high = interval(hits, n)
        mirror_low, mirror_high = interval(misses, n)
        assert 0 <= low <= high <= 1
        assert low == pytest.approx(1 - mirror_high, abs=1e-9)
        assert high == pytest.approx(1 - mirror_low, abs=1e-9)
        if n:
            assert low - 1e-9 <= hits / n <= high + 1e-9
        else:
            assert (low, high) == (0, 1)


def test_published_figure() -> None:
    low, high = wilson(20, 25)
    assert (round(float(low), 2), round(float(high), 2)) == (0.61, 0.91)
    with pytest.raises(ValueError, match="hits <= trials"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="level"):
        wilson(1, 2, level=1.0)


@given(
    st.lists(st.floats(0, 1e6), max_size=12),
    st.sampled_from([0.01, 0.05, 0.2, 0.9]),
    st.integers(0, 20),
)
def test_e_bh_is_its_definition(values: list[float], level: float, more: int) -> None:
    total = len(values) + more
    best = 0
    for k in range(1, len(values) + 1):
        if sorted(values, reverse=True)[k - 1] * level * k >= total * (1 - 1e-12):
            best = k
    claimed = e_bh(values, level, total)
    assert claimed.sum() == best
    if best:
        assert min(np.array(values)[claimed]) >= max([*np.array(values)[~claimed], 0.0])


def test_e_bh_takes_logarithms_and_refuses_nonsense() -> None:
    assert log_e_bh([2000.0, -np.inf], 0.05).tolist() == [True, False]
    assert e_bh([], 0.05).tolist() == []
    with pytest.raises(ValueError, match="level"):
        e_bh([1.0], 0.0)
    with pytest.raises(ValueError, match="total"):
        e_bh([1.0, 2.0], 0.1, total=1)
    with pytest.raises(ValueError, match="negative"):
        e_bh([-1.0], 0.1)


def test_e_bh_keeps_its_level_on_dependent_tests() -> None:
    """200 nodes at the threshold and 50 far below it share their luck in blocks."""
    rng = np.random.default_rng(8)
    rates = np.concatenate([np.full(200, 0.8), np.full(50, 0.3)])
    shares = []
    for _ in range(60):
        luck = np.repeat(rng.random((25, 30)), 10, axis=0)
        passes = (luck < rates[:, None]).sum(axis=1)
        claimed = e_bh(e_value(passes, 30 - passes, 0.8), 0.1)
        shares.append(claimed[:200].sum() / max(claimed.sum(), 1))
    assert np.mean(shares) <= 0.1
