"""Means, shares and contrasts with their intervals: edge cases and what must hold for all inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from failscape.stats.contrasts import blame, interaction
from failscape.stats.deconvolve import fit_mixing, share_below
from failscape.stats.intervals import mean_interval
from failscape.stats.nuisance import same_in_all
from failscape.stats.stratified_mean import Stratum, stratified_mean, worth_interval

shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=40)
counts = st.tuples(st.integers(0, 30), st.integers(0, 30))


@given(shares, st.floats(-2, 2), st.floats(0.1, 5))
@settings(max_examples=30)
def test_a_bounded_mean_lies_in_its_interval_and_moves_with_the_scale(values, shift, scale) -> None:
    mean, (low, high) = mean_interval(values)
    assert 0 <= low <= mean <= high <= 1
    moved = shift + scale * np.array(values)
    mean_2, (low_2, high_2) = mean_interval(moved, shift, shift + scale)
    assert (mean_2, low_2, high_2) == pytest.approx(
        (shift + scale * mean, shift + scale * low, shift + scale * high), abs=1e-6
    )


def test_a_bounded_mean_knows_nothing_without_data_and_learns() -> None:
    assert mean_interval([], 0, 0.2)[1] == (0, 0.2)
    widths = [np.diff(mean_interval([0.0, 1.0] * n)[1])[0] for n in (1, 5, 50, 500)]
    assert widths == sorted(widths, reverse=True)
    assert mean_interval([0.0] * 100)[1][1] < 0.06
    with pytest.raises(ValueError, match="between"):
        mean_interval([1.5])
    with pytest.raises(ValueError, match="low < high"):
        mean_interval([1.0], 1.0, 1.0)
    with pytest.raises(ValueError, match="level"):
        mean_interval([1.0], level=1.0)


@given(shares, st.floats(0.5, 0.99))
@settings(max_examples=20)
def test_higher_levels_are_wider(values, level) -> None:
    _, (low, high) = mean_interval(values, level=level)
    _, (lower, higher) = mean_interval(values, level=(1 + level) / 2)
    assert lower <= low + 1e-9
    assert higher >= high - 1e-9


@given(st.lists(st.tuples(st.floats(0.01, 10), shares), min_size=1, max_size=4))
def test_a_stratified_mean_is_the_weighted_mean_and_lies_in_its_interval(strata) -> None:
    mean, (low, high) = stratified_mean([Stratum(weight, np.array(values)) for weight, values in strata])
    expected = np.average([np.mean(v) for _, v in strata], weights=[w for w, _ in strata])
    assert mean == pytest.approx(expected)
    assert -1e-9 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1 + 1e-9


def test_unseen_strata_widen_the_interval_by_their_weight() -> None:
    seen = Stratum(3.0, np.zeros(50))
    _, (_, alone) = stratified_mean([seen])
    mean, (low, high) = stratified_mean([seen, Stratum(1.0, np.zeros(0))])
    assert (mean, low) == (0.0, 0.0)
    assert high == pytest.approx(0.75 * alone + 0.25)
    assert stratified_mean([])[1] == (0.0, 1.0)


def test_a_perfect_model_leaves_only_what_it_was_averaged_over() -> None:
    """Residuals of zero: the mean is the shift; each observation counts once, not infinitely often."""
    mean, (low, high) = stratified_mean([Stratum(1.0, np.zeros(30), shift=0.4)])
    assert mean == 0.4
    assert (low, high) == pytest.approx(worth_interval(0.4, 30))


@given(st.integers(1, 60), st.integers(0, 60))
def test_whole_numbers_give_clopper_pearson(trials, hits) -> None:
    hits = min(hits, trials)
    exact = stats.binomtest(hits, trials).proportion_ci(method="exact")
    assert worth_interval(hits / trials, trials) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.lists(counts, min_size=1, max_size=30), st.floats(0.05, 0.95))
@settings(max_examples=50)
def test_a_share_below_is_a_share_and_chances_average_to_it(rows, threshold) -> None:
    passes, fails = np.array(rows).T
    share, (low, high) = share_below(passes, fails, threshold)
    known = passes + fails > 0
    if not known.any():
        assert np.isnan(share)
        assert (low, high) == (0.0, 1.0)
        return
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1
    chances = fit_mixing(passes, fails).chance_below(passes[known], fails[known], threshold)
    # EM makes the mean of the posteriors the next fit: after sixty steps they nearly agree.
    assert chances.mean() == pytest.approx(share, abs=0.06)


def test_a_noisy_judge_is_seen_through() -> None:
    """All nodes are perfect, the judge lets 80 % pass: nothing fails. Naively, half would."""
    passes = stats.binom.rvs(10, 0.8, size=400, random_state=1)
    seen = np.tile([0.8, 0.1], (400, 1))
    assert share_below(passes, 10 - passes, 0.7, seen)[0] < 0.06
    assert share_below(passes, 10 - passes, 0.85)[0] > 0.5


def test_weights_choose_who_is_described() -> None:
    passes, fails = [10] * 5 + [0] * 5, [0] * 5 + [10] * 5
    assert fit_mixing(passes, fails).share_below(0.5) == pytest.approx(0.5, abs=0.02)
    assert fit_mixing(passes, fails, weights=[0] * 5 + [1] * 5).share_below(0.5) > 0.98
    with pytest.raises(ValueError, match="negative"):
        fit_mixing([1], [-1])


def test_interaction_of_two_values_is_against_the_product_of_ratios() -> None:
    found = interaction((40, 60), [(90, 10), (80, 20)], (95, 5))
    assert found is not None
    assert found.predicted == pytest.approx(1 - 0.9 * 0.8 / 0.95)
    assert found.excess == pytest.approx(0.6 - found.predicted)
    assert found.interval[0] > 0
    assert "more often than its parts predict" in found.sentence


def test_interaction_of_three_values_uses_all_parents() -> None:
    entity, ratios = 0.9, (0.9, 0.8, 0.7)
    pairs = [(0, 1), (0, 2), (1, 2)]
    parents = [(round(1000 * entity * ratios[i] * ratios[j]), 0) for i, j in pairs]
    parents = [(passes, 1000 - passes) for passes, _ in parents]
    found = interaction((454, 546), parents, (900, 100))
    assert found is not None
    assert found.excess == pytest.approx(0, abs=0.002)
    assert "about as often as its parts predict" in found.sentence


def test_interaction_needs_counts_and_speaks_of_the_entity_for_one_value() -> None:
    assert interaction((5, 5), [], (10, 0)) is None
    assert interaction((5, 5), [(10, 0), (0, 0)], (10, 0)) is None
    found = interaction((2, 18), [(19, 1)], (19, 1))
    assert found is not None
    assert "its entity alone" in found.sentence
    less = interaction((50, 0), [(10, 40), (12, 38)], (45, 5))
    assert less is not None
    assert "less often" in less.sentence


@given(counts, st.lists(counts, min_size=1, max_size=4), counts)
def test_interactions_are_differences_of_rates(own, parents, entity) -> None:
    found = interaction(own, parents, entity)
    if found is not None:
        assert 0 <= found.predicted <= 1
        low, high = found.interval
        assert -1 <= low <= found.excess + 1e-9 <= high + 2e-9 <= 1 + 2e-9


def test_blame_names_the_check_and_a_rival_that_could_be_it_as_well() -> None:
    clear = blame({"The cat": 1, "Colour": 38}, 40)
    assert clear is not None
    assert (clear.check, clear.share) == ("Colour", 0.95)
    assert clear.sentence == "Colour is missing in 95% of failures (38 of 40)."
    torn = blame({"The cat": 5, "Colour": 6}, 10)
    assert torn is not None
    assert "the cat about as often" in torn.sentence
    assert blame({}, 3) is None
    assert blame({"a": 0}, 3) is None
    assert blame({"a": 1}, 0) is None


def test_the_stratified_test_is_the_classical_one_for_two_treatments() -> None:
    rng = np.random.default_rng(3)
    tries = rng.integers(20, 40, (6, 2))
    hits = rng.binomial(tries, [[0.5, 0.6]])
    n, t, m = tries.sum(1), tries[:, 0], hits.sum(1)
    variance = (t * (n - t) * m * (n - m) / (n**2 * (n - 1))).sum()
    classical = (hits[:, 0] - t * m / n).sum() ** 2 / variance
    assert same_in_all(list(hits), list(tries)) == pytest.approx(stats.chi2.sf(classical, 1))


def test_the_stratified_test_ignores_levels_and_sees_effects() -> None:
    """Simpson's paradox: the hard stratum has mostly the second wording; within strata none differs."""
    assert same_in_all([[90, 9], [1, 10]], [[100, 10], [10, 100]]) > 0.5
    assert same_in_all([[10, 2], [10, 1], [9, 3]], [[10, 10]] * 3) < 1e-3
    assert same_in_all([[3, 0]], [[3, 3]]) == pytest.approx(0.1, abs=0.03)  # shuffled: 2 of 20 tables
    assert same_in_all([[5, 5]], [[5, 5]]) == 1.0
    with pytest.raises(ValueError, match="passes"):
        same_in_all([[2]], [[1]])
