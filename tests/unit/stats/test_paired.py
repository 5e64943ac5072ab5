"""Evidence from pairs: what is exact, what must never happen, and that intervals cover when one may stop."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.stats.differences import anytime_difference, grouped_difference, log_e_more, pairs_needed
from failscape.stats.intervals import STAKES, mean_interval


def test_evidence_is_the_mean_of_what_fixed_stakes_pay() -> None:
    pays = (1 + STAKES) ** 5 * (1 - STAKES) ** 2
    assert np.exp(log_e_more(5, 2, 30)) == pytest.approx(pays.mean())


def test_pairs_that_agree_say_nothing_about_zero_but_much_about_a_margin() -> None:
    assert log_e_more(0, 0, 500) == pytest.approx(0.0)
    assert log_e_more(0, 0, 500, 0.05) < -1
    assert log_e_more(0, 0, 500, -0.05) > np.log(20)


def test_the_interval_is_that_of_the_mean_of_bounded_numbers() -> None:
    low, high = anytime_difference(12, 4, 60)
    _, (expected_low, expected_high) = mean_interval([1.0] * 12 + [-1.0] * 4 + [0.0] * 44, -1.0, 1.0)
    assert (float(low), float(high)) == pytest.approx((expected_low, expected_high), abs=1e-6)


def test_without_pairs_nothing_is_known() -> None:
    low, high = anytime_difference([0, 30], [0, 0], [0, 30])
    assert (low[0], high[0]) == (-1.0, 1.0)
    assert low[1] > 0.5
    assert high[1] == 1.0


def test_it_covers_whenever_one_stops() -> None:
    rng = np.random.default_rng(2)
    truth, runs = 0.1, 300
    steps = rng.choice([1, -1, 0], size=(runs, 200), p=[0.2, 0.1, 0.7])
    more, less = (steps == 1).cumsum(axis=1), (steps == -1).cumsum(axis=1)
    ever = np.zeros(runs, dtype=bool)
    for pairs in range(5, 201, 5):
        refuted = log_e_more(more[:, pairs - 1], less[:, pairs - 1], pairs, truth) >= np.log(40)
        refuted |= log_e_more(less[:, pairs - 1], more[:, pairs - 1], pairs, -truth) >= np.log(40)
        ever |= refuted
    # 5 % is allowed; 300 runs at 5 % exceed 32 with a chance below 1e-4.
    assert ever.sum() <= 32


def test_groups_that_differ_widen_the_interval() -> None:
    alike = grouped_difference([1, 0, -1, 0] * 25, list(range(100)))[1]
    grouped = grouped_difference([1] * 25 + [0] * 50 + [-1] * 25, ["a"] * 25 + ["b"] * 50 + ["c"] * 25)[1]
    assert grouped[1] - grouped[0] > alike[1] - alike[0]
    assert grouped_difference([0.0] * 50, range(50))[1][1] > 0, "no difference seen is not none at all"
    assert grouped_difference([], [])[1] == (-1.0, 1.0)


def test_the_number_of_pairs_that_is_named_suffices() -> None:
    needed = np.log(200 / 0.05)
    pairs = pairs_needed(0.1, 0.1, needed, 0.8)
    made = np.random.default_rng(9).multinomial(pairs, [0.15, 0.05, 0.8], 4_000)
    reached = np.mean(log_e_more(made[:, 0], made[:, 1], pairs) >= needed)
    assert 0.76 <= reached <= 0.86
    assert pairs_needed(0.05, 0.1, needed) > 2 * pairs


@pytest.mark.parametrize(("more", "less", "pairs"), [(-1, 0, 5), (3, 3, 5)])
def test_impossible_counts_are_refused(more: int, less: int, pairs: int) -> None:
    with pytest.raises(ValueError, match="must hold"):
        log_e_more(more, less, pairs)
