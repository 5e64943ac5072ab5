"""Crossed effects: what was planted is found again, nothing is found where nothing is, and runs repeat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from failscape.stats.effects import Effects, fit_effects

Floats = NDArray[np.float64]


def planted(
    spreads: tuple[float, float, float], trials: int, seed: int = 1, rows: int = 4000
) -> tuple[Effects, list[Floats], list[NDArray[np.int64]]]:
    """Rows with a level of a small and of a large factor, and an effect of their own."""
    rng = np.random.default_rng(seed)
    sizes = [30, 400]
    levels = [rng.integers(0, size, (rows, 1)) for size in sizes]
    effects = [rng.normal(0, spread, size) for spread, size in zip(spreads, sizes, strict=False)]
    eta = 0.8 + effects[0][levels[0][:, 0]] + effects[1][levels[1][:, 0]] + rng.normal(0, spreads[2], rows)
    successes = rng.binomial(trials, special.expit(eta)).astype(float)
    fit = fit_effects(levels, sizes, np.zeros(rows), successes, np.full(rows, float(trials)))
    return fit, effects, levels


@pytest.mark.parametrize("trials", [1, 5])
def test_effects_are_recovered(trials: int) -> None:
    fit, effects, _ = planted((1.0, 1.0, 0.5), trials)
    assert np.corrcoef(fit.effects[0], effects[0])[0, 1] > 0.95
    assert np.corrcoef(fit.effects[1], effects[1])[0, 1] > (0.75 if trials == 1 else 0.85)
    assert fit.intercept == pytest.approx(0.8, abs=0.5)


@pytest.mark.parametrize("trials", [1, 5])
def test_variances_are_of_the_right_size_even_with_few_trials_per_level(trials: int) -> None:
    fit, _, _ = planted((1.0, 1.0, 0.5), trials)
    assert all(0.5 < variance < 1.8 for variance in fit.variances)


def test_a_factor_that_says_nothing_shrinks() -> None:
    fit, _, _ = planted((1.0, 0.0, 0.0), 3)
    assert fit.variances[1] < 0.12
    assert float(np.abs(fit.effects[1]).max()) < 0.5
    assert fit.variances[0] > 0.5


def test_rows_that_vary_by_themselves_are_noticed() -> None:
    calm, _, _ = planted((0.5, 0.5, 0.0), 10)
    wild, _, _ = planted((0.5, 0.5, 1.2), 10)
    assert calm.spread < 0.35 < 0.7 < wild.spread


def test_held_out_predictions_do_not_know_their_own_row() -> None:
    """With a level per row and nothing to share, the others say nothing about a row."""
    rows = 300
    rng = np.random.default_rng(3)
    successes = rng.binomial(4, 0.5, rows).astype(float)
    own_level = np.arange(rows)[:, None]
    fit = fit_effects([own_level], [rows], np.zeros(rows), successes, np.full(rows, 4.0))
    fitted = fit.predict([own_level], np.zeros(rows))
    assert np.corrcoef(fitted, successes)[0, 1] > 0.9
    assert abs(np.corrcoef(fit.held_out, successes)[0, 1]) < abs(np.corrcoef(fitted, successes)[0, 1])
    assert fit.held_out.std() < fitted.std()


def test_unknown_levels_predict_the_average_and_are_doubted_most() -> None:
    fit, _, levels = planted((1.0, 1.0, 0.5), 5)
    nobody = [np.full((1, 1), -1), np.full((1, 1), -1)]
    assert fit.predict(nobody, np.array([0.3]))[0] == pytest.approx(fit.intercept + 0.3)
    assert fit.standard_error(nobody)[0] > fit.standard_error(levels).max()


def test_rows_with_several_levels_of_one_factor_converge() -> None:
    rng = np.random.default_rng(5)
    rows, size = 5000, 40
    levels = np.stack([rng.integers(0, size, rows), rng.integers(0, size, rows)], axis=1)
    effects = rng.normal(0, 0.8, size)
    successes = rng.binomial(3, special.expit(effects[levels].sum(axis=1))).astype(float)
    fit = fit_effects([levels], [size], np.zeros(rows), successes, np.full(rows, 3.0))
    assert np.corrcoef(fit.effects[0], effects)[0, 1] > 0.97
    assert float(np.abs(fit.effects[0]).max()) < 4


def test_the_same_rows_give_the_same_fit() -> None:
    first, _, _ = planted((1.0, 1.0, 0.5), 2, seed=8)
    second, _, _ = planted((1.0, 1.0, 0.5), 2, seed=8)
    assert np.array_equal(first.held_out, second.held_out)
    assert first.variances == second.variances


def test_only_failures_or_only_successes_stay_finite() -> None:
    levels = [np.zeros((50, 1), dtype=np.int64)]
    for share in (0.0, 1.0):
        fit = fit_effects(levels, [1], np.zeros(50), np.full(50, 20 * share), np.full(50, 20.0))
        assert np.isfinite(fit.held_out).all()
        assert np.sign(fit.intercept + fit.effects[0][0]) == (1 if share else -1)
