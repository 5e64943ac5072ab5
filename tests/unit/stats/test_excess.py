"""Evidence that one rate exceeds another: monotone, valid by enumeration, one-sample test at its edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from failscape.stats.differences import (
    absent_share,
    log_above,
    log_below,
    log_excess,
    log_excess_grid,
    paired_difference,
)
from failscape.stats.evalues import Floats, log_e_value
from tests.quality.exact import Ints, chance_to_cross

counts = st.integers(0, 200)


@given(counts, counts, st.floats(0.01, 0.99))
def test_it_is_the_one_sample_evidence_inside(hits: int, misses: int, limit: float) -> None:
    assert log_below(hits, misses, limit) == pytest.approx(float(log_e_value(hits, misses, limit)), abs=1e-6)


def test_at_the_ends_nothing_is_infinite_or_missing() -> None:
    assert log_below(3, 5, 0.0) == pytest.approx(-np.log(4))
    assert np.isfinite(log_below(0, 5, 1.0))
    assert log_below(0, 5, 1.0) > 50


@given(counts, counts, st.floats(0.0, 0.98), st.floats(0.0, 0.02))
def test_evidence_rises_with_the_limit(hits: int, misses: int, limit: float, more: float) -> None:
    assert log_below(hits, misses, limit + more) >= log_below(hits, misses, limit) - 1e-6


@given(counts, counts, st.floats(0.0, 0.98), st.floats(0.0, 0.02))
def test_evidence_above_falls_as_the_limit_rises(hits: int, misses: int, limit: float, more: float) -> None:
    assert log_above(hits, misses, limit + more) <= log_above(hits, misses, limit) + 1e-6


@pytest.mark.parametrize("limit", [0.02, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("images", [1, 7, 40, 300])
def test_evidence_above_is_worth_one_on_average_where_the_rate_is_the_limit(
    limit: float, images: int
) -> None:
    hits = np.arange(images + 1)
    chance = stats.binom.logpmf(hits, images, limit)
    mean = np.exp(chance + log_above(hits, images - hits, limit)).sum()
    assert mean == pytest.approx(1.0, abs=1e-6)


def test_small_excesses_are_proven_with_more_evidence_than_by_a_uniform_stake() -> None:
    assert log_above(24, 76, 0.1) > log_below(76, 24, 0.9) + 0.7
    assert log_above(9, 1, 0.1) > log_below(1, 9, 0.9) - 0.7  # and large ones with hardly less


def test_thousands_of_images_leave_no_hole() -> None:
    rates = np.linspace(0.0, 1.0, 21)
    assert np.isfinite(log_above(5_000 * rates, 5_000 * (1 - rates), 0.3)).all()
    assert np.isfinite(log_below(4_000, 1_000, np.linspace(0.01, 0.99, 50))).all()


@given(counts, counts, counts, counts, st.floats(0, 0.5))
def test_no_grid_point_gives_less_evidence_than_claimed(
    base_fails: int, base_passes: int, fails: int, passes: int, margin: float
) -> None:
    """The bound over cells is at most the product at every single baseline, between grid points too."""
    claimed = log_excess(log_excess_grid(base_fails, base_passes), [fails], [passes], margin)[0]
    q = np.linspace(0.0005, 0.9995, 41)
    product = log_below(base_fails, base_passes, q) + log_above(fails, passes, np.minimum(1.0, q + margin))
    assert (claimed <= product + 1e-6).all()


def test_more_failures_more_margin_more_absent_objects() -> None:
    base = log_excess_grid(2, 98)
    few, many = log_excess(base, [5], [25], 0.05)[0], log_excess(base, [15], [15], 0.05)[0]
    assert many > few
    assert log_excess(base, [15], [15], 0.2)[0] < many
    assert log_excess(base, [15], [15], 0.05, [0.1])[0] < many


def test_without_a_baseline_nothing_is_proven() -> None:
    assert log_excess(log_excess_grid(0, 0), [50], [0], 0.05)[0] <= 0


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_under_the_null_large_evidence_is_rare_even_when_one_looks_after_every_image(rate: float) -> None:
    """Exact, over all baselines of 20 images and all paths of 40: e reaches 10 with chance .1 at most."""
    margin = 0.05
    reached = 0.0
    for fails_base in range(21):
        base = log_excess_grid(fails_base, 20 - fails_base)

        def evidence(fails: Ints, passes: Ints, base: Floats = base) -> Floats:
            return log_excess(np.repeat(base, len(fails), axis=0), fails, passes, margin)

        chance = chance_to_cross(evidence, rate + margin, 40, np.log(10))
        reached += float(stats.binom.pmf(fails_base, 20, rate)) * chance
    assert reached <= 0.1


def test_absent_share_is_small_for_a_good_judge_and_large_for_a_generator_that_leaves_things_out() -> None:
    assert absent_share(98, 100, 0.99, 0.01) < 0.002
    assert absent_share(4, 4, 0.99, 0.1) > 0.1  # four accepted images hardly tell how many are good
    assert absent_share(30, 100, 0.99, 0.2) > 0.3
    assert absent_share(98, 100, 0.99, 0.0) == 0


@given(st.floats(0.05, 1), st.floats(0.5, 1), st.floats(0, 0.4), st.integers(1, 300))
def test_absent_share_is_a_bound(shown: float, hit: float, slip: float, tried: int) -> None:
    """With as many accepted as expected or fewer, no bound is below the share that is truly absent."""
    rate = shown * hit + (1 - shown) * slip
    bound = absent_share(np.floor(rate * tried), tried, hit, slip)
    assert bound >= min(1.0, (1 - shown) * slip / rate) - 1e-9


@pytest.mark.parametrize(("more", "less"), [(0.3725, 0.0225), (0.1, 0.1), (0.02, 0.0)])
def test_paired_difference_covers_the_truth(more: float, less: float) -> None:
    """Exact, over everything that 40 pairs can show."""
    covered = 0.0
    for first_only in range(41):
        for second_only in range(41 - first_only):
            counts = [first_only, second_only, 40 - first_only - second_only]
            _, (low, high) = paired_difference(first_only, second_only, 40)
            if low <= more - less <= high:
                covered += float(stats.multinomial.pmf(counts, 40, [more, less, 1 - more - less]))
    assert covered >= 0.92


def test_paired_difference_of_nothing_says_nothing() -> None:
    assert paired_difference(0, 0, 0) == (0.0, (-1.0, 1.0))
    with pytest.raises(ValueError, match="only_first"):
        paired_difference(3, 3, 5)
