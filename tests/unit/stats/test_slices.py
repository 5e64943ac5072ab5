"""Exact tests of slices, and which of many to claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from failscape.stats.slices import (
    SliceTable,
    counted_tests,
    holm_tarone,
    least_by_size,
    several_classes_p_value,
    slice_p_value,
)


@pytest.mark.parametrize("table", [(8, 10, 20, 90), (0, 4, 3, 50), (5, 5, 0, 5), (244, 270, 571, 1430)])
def test_one_class_is_fishers_test(table: tuple[int, int, int, int]) -> None:
    fails, items, rest_fails, rest = table
    known = stats.fisher_exact(
        np.array([[fails, items - fails], [rest_fails, rest - rest_fails]]), alternative="greater"
    )[1]
    found = slice_p_value([SliceTable(*table)])
    assert found.p_value == pytest.approx(known, rel=1e-6)
    assert found.least <= found.p_value * (1 + 1e-9)
    assert least_by_size(items, rest) <= found.least * (1 + 1e-9)


def test_several_classes_need_a_second_one() -> None:
    strong, idle = SliceTable(30, 30, 3, 60), SliceTable(3, 30, 6, 60)
    alone = several_classes_p_value([strong, idle, idle])
    assert alone.p_value > 0.05
    both = several_classes_p_value([strong, strong, idle])
    assert both.p_value < 1e-6
    assert several_classes_p_value([strong]).p_value == 1.0
    without_first = slice_p_value([strong, idle]).p_value
    without_last = slice_p_value([strong, strong]).p_value
    assert both.p_value == pytest.approx(max(without_first, without_last))


def test_tests_that_can_reach_nothing_are_not_counted() -> None:
    assert counted_tests([1e-9, 1e-9, 0.5, 0.5, 0.5], 0.05) == 2
    p_values, least = [0.02, 0.9, 0.5, 0.5, 0.5], [1e-9, 1e-9, 0.5, 0.5, 0.5]
    assert holm_tarone(p_values, least, 0.05).tolist() == [True, False, False, False, False]
    assert not holm_tarone(p_values, np.zeros(5), 0.05).any()


def test_claims_are_at_least_those_of_bonferroni() -> None:
    luck = np.random.default_rng(1)
    for _ in range(50):
        p_values = luck.random(40) ** 4
        claimed = holm_tarone(p_values, np.zeros(40), 0.05)
        assert claimed[p_values <= 0.05 / 40].all()
