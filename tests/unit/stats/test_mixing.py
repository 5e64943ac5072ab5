"""Priors learned from counts: they are distributions, calibrated, and wide where there is little data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from failscape.stats.rate_priors import (
    GRID,
    RATES,
    ROWS,
    bell_priors,
    log_likelihoods,
    mean_above,
    mix_priors,
    relative_entropy,
    row_of,
)


def chances_to_fail(
    table: np.ndarray, predicted: np.ndarray, passes: np.ndarray, fails: np.ndarray
) -> np.ndarray:
    logs = log_likelihoods(passes, fails)
    weights = table[row_of(predicted)] * np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights[:, RATES < 0.8].sum(axis=1)


@pytest.mark.parametrize("shape", ["bell", "two humps"])
def test_chances_are_calibrated(shape: str) -> None:
    """Of the nodes said to fail with chance x, a share of about x fails, whatever shape the truth has."""
    rng = np.random.default_rng(11)
    count = 6000
    predicted = rng.normal(1.2, 1.0, count)
    noise = rng.normal(0, 0.8, count)
    if shape == "two humps":
        noise = np.where(rng.random(count) < 0.3, -2.5, 0.6) + rng.normal(0, 0.3, count)
    rates = special.expit(predicted + noise)
    trials = rng.integers(1, 12, count)
    passes = rng.binomial(trials, rates).astype(float)
    fails = trials - passes
    chances = chances_to_fail(mix_priors(predicted, passes, fails, 0.8), predicted, passes, fails)
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.01)):
        inside = (chances >= low) & (chances < high)
        assert inside.sum() > 50
        assert float((rates[inside] < 0.8).mean()) == pytest.approx(float(chances[inside].mean()), abs=0.07)


@settings(max_examples=25)
@given(st.integers(0, 400), st.integers(0, 5), st.floats(0.1, 4.0))
def test_priors_are_distributions(count: int, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    passes, fails = rng.integers(0, 4, (2, count)).astype(float)
    table = mix_priors(rng.normal(0, 2, count), passes, fails, spread)
    assert table.shape == (len(ROWS), len(GRID))
    assert (table > 0).all()
    assert np.allclose(table.sum(axis=1), 1)


def test_few_nodes_leave_the_bell_curve() -> None:
    table = mix_priors(np.zeros(5), np.full(5, 9.0), np.zeros(5), 1.0)
    assert np.array_equal(table, bell_priors(1.0))


def test_better_predictions_mean_better_nodes() -> None:
    rng = np.random.default_rng(2)
    predicted = rng.normal(0, 1.5, 3000)
    passes = rng.binomial(4, special.expit(predicted)).astype(float)
    means = mix_priors(predicted, passes, 4 - passes, 0.8) @ GRID
    assert (np.diff(means[row_of(np.linspace(-3, 3, 13))]) > 0).all()


def test_many_images_overrule_any_prior() -> None:
    table = mix_priors(np.full(500, 4.0), np.full(500, 5.0), np.zeros(500), 0.5)
    chance = chances_to_fail(table, np.array([4.0]), np.array([2.0]), np.array([18.0]))
    assert chance[0] > 0.99


def test_rows_are_nearest_and_clipped() -> None:
    assert ROWS[row_of(np.array([0.1, -99.0, 99.0, 0.2]))].tolist() == [0.0, ROWS[0], ROWS[-1], 0.25]


def test_the_mean_above_a_threshold_lies_above_it() -> None:
    means = mean_above(bell_priors(1.0), 0.8)
    assert (means >= special.logit(0.8) - 1e-6).all()
    assert means[-1] > means[0]


def test_relative_entropy_is_zero_at_the_threshold_only() -> None:
    values = relative_entropy(np.array([0.1, 0.5, 0.8, 0.95]), 0.8)
    assert values[2] == pytest.approx(0.0, abs=1e-12)
    assert values[0] > values[1] > 0 < values[3]
