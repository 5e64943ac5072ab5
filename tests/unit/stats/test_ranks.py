"""Rank correlation: equal to scipy's, with an interval that covers as often as it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from failscape.stats.intervals import grouped_share
from failscape.stats.ranks import average_ranks, rank_correlation, spearman

values = st.integers(-5, 5) | st.floats(-1e6, 1e6)
pairs = st.lists(st.tuples(values, values), min_size=2, max_size=40)


@given(st.lists(values, max_size=40))
def test_ranks_are_those_of_scipy(numbers):
    assert average_ranks(numbers) == pytest.approx(stats.rankdata(numbers))


@given(pairs)
def test_rho_is_that_of_scipy(rows):
    x, y = zip(*rows, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(spearman(x, y))
    else:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@given(pairs, st.integers(1, 8))
def test_the_interval_holds_rho_and_turns_with_it(rows, units):
    x, y = np.array(rows, dtype=float).T
    groups = np.arange(len(x)) % units
    found = rank_correlation(x, y, groups)
    assert -1 <= found.low <= found.high <= 1
    if found.defined:
        assert found.low <= found.rho <= found.high
        turned = rank_correlation(-x, y, groups)
        assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
        assert rank_correlation(2 * x, y, groups) == found  # only the order counts


@given(pairs, st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    first, second = (rank_correlation(*zip(*some, strict=True)) for some in (rows, shuffled))
    assert (first.low, first.high) == pytest.approx((second.low, second.high))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_observations_say_nothing(n):
    found = rank_correlation(range(n), range(n))
    assert (found.low, found.high) == (-1, 1)


def test_a_perfect_order_of_few_is_not_certain():
    few, many = (rank_correlation(range(n), range(n)) for n in (5, 200))
    assert few.rho == many.rho == few.high == 1
    assert few.low < 0.5 < 0.95 < many.low


def test_one_unit_says_nothing_about_others():
    found = rank_correlation(range(50), range(50), [1] * 50)
    assert (found.low, found.high) == (-1, 1)


def test_many_units_are_left_out_in_blocks():
    rng = np.random.default_rng(2)
    x = rng.normal(size=3000)
    found = rank_correlation(x, x + rng.normal(size=3000))
    assert found.units == 3000
    assert 0.66 < found.low < found.rho < found.high < 0.72
    assert found.high - found.low < 0.06


@pytest.mark.parametrize("bad", [([1, 2], [1]), ([1, math.nan], [1, 2]), ([[1]], [[1]])])
def test_rows_that_do_not_fit_are_refused(bad):
    with pytest.raises(ValueError, match="x and y"):
        rank_correlation(*bad)
    with pytest.raises(ValueError, match="level"):
        rank_correlation([1, 2], [1, 2], level=1.0)


def unrelated(rng, n, entities):
    """Counts and failure rates that share no cause; with `entities`, each entity has its own leanings."""
    groups = np.arange(n) % entities if entities else np.arange(n)
    lean = rng.normal(size=(2, n))[:, groups] if entities else np.zeros((2, n))
    counts = np.floor(np.exp(1.5 * (lean[0] + rng.normal(size=n))))
    failed = rng.binomial(10, special.expit(1.5 * (lean[1] + rng.normal(size=n)) - 1.5))
    return counts, failed, groups


@pytest.mark.parametrize(("n", "entities"), [(12, 0), (60, 0), (80, 8), (200, 20)])
def test_without_a_relation_the_interval_covers_zero_as_often_as_it_says(n, entities):
    rng, runs, held = np.random.default_rng([n, entities]), 400, 0
    for _ in range(runs):
        found = rank_correlation(*unrelated(rng, n, entities))
        held += found.low <= 0 <= found.high
    # Four standard errors of a share of 400 at 95 %: 4.4 points.
    assert held / runs >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


def test_ignoring_entities_would_promise_too_much():
    """The reason for units: with leanings per entity, subjects taken as independent err far too often."""
    rng, runs, held = np.random.default_rng(5), 200, 0
    for _ in range(runs):
        counts, failed, _ = unrelated(rng, 200, 20)
        found = rank_correlation(counts, failed)
        held += found.low <= 0 <= found.high
    assert held / runs < 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


def test_a_true_relation_is_covered():
    rng, runs, held = np.random.default_rng(9), 300, 0
    truth = 6 / math.pi * math.asin(0.6 / 2)  # Spearman's rho of a normal pair with correlation 0.6
    for _ in range(runs):
        x = rng.normal(size=40)
        found = rank_correlation(x, 0.6 * x + 0.8 * rng.normal(size=40))
        held += found.low <= truth <= found.high
    assert held / runs >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


# Shares over groups


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_grouped_share_lies_in_its_interval(rows):
    passes, fails, groups = np.array(rows).T
    share, (low, high) = grouped_share(fails, passes + fails, groups)
    if (passes + fails).sum():
        assert 0 <= low <= share <= high <= 1
    else:
        assert math.isnan(share)


def test_groups_that_are_alike_widen_the_interval():
    hits, groups = np.repeat([0, 1, 0, 1, 0, 1], 50), np.repeat(np.arange(6), 50)
    alone = grouped_share(hits, np.ones(300), np.arange(300))[1]
    together = grouped_share(hits, np.ones(300), groups)[1]
    assert together[1] - together[0] > 4 * (alone[1] - alone[0])


def test_a_grouped_share_covers_the_true_rate():
    rng, runs, held = np.random.default_rng(3), 300, 0
    for _ in range(runs):
        rates = rng.beta(1, 3, size=12)
        groups = np.repeat(np.arange(12), 6)
        _, (low, high) = grouped_share(rng.binomial(10, rates[groups]), np.full(72, 10), groups)
        held += low <= 0.25 <= high
    assert held / runs >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)
