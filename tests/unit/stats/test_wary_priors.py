"""Priors for who would claim something: they reckon with what is hardest to tell from the claim."""

import numpy as np
import pytest

from failscape.stats.rate_priors import (
    RATES,
    ROWS,
    Seen,
    barely_failing,
    barely_passing,
    bell_priors,
    by_a_hair,
    row_of,
    wary_priors,
)

TABLE = bell_priors(1.5)
PASSING = RATES >= 0.8


def test_whatever_passes_does_so_barely_and_as_much_passes_as_before() -> None:
    wary = barely_passing(TABLE, 0.8)
    assert wary.sum(axis=1) == pytest.approx(np.ones(len(ROWS)))
    assert wary[:, PASSING].sum(axis=1) == pytest.approx(TABLE[:, PASSING].sum(axis=1))
    assert RATES[wary.max(axis=0) * PASSING > 0].max() < 0.88
    assert np.array_equal(wary[:, ~PASSING], TABLE[:, ~PASSING])


def test_whatever_fails_does_so_barely_for_who_would_claim_that_a_node_passes() -> None:
    wary = barely_failing(TABLE, 0.8)
    assert wary[:, ~PASSING].sum(axis=1) == pytest.approx(TABLE[:, ~PASSING].sum(axis=1))
    assert RATES[wary.max(axis=0) * ~PASSING > 0].min() > 0.7
    assert np.array_equal(wary[:, PASSING], TABLE[:, PASSING])


@pytest.mark.parametrize(("share", "least", "most"), [(0.3, 0.25, 0.6), (0.0, 0.0, 0.15)])
def test_as_many_fail_by_a_hair_as_the_counts_allow(share: float, least: float, most: float) -> None:
    """The prior itself knows of none: all are taken to pass at about .95."""
    rng = np.random.default_rng(5)
    rates = np.where(np.arange(150) < 150 * share, 0.77, 0.95)
    successes = rng.binomial(10, rates).astype(np.float64)
    predicted = np.full(150, 3.0)
    table = Seen(predicted, successes, 10 - successes).mixed(bell_priors(0.3), by_a_hair(0.8))
    failing = float(table[row_of(np.array([3.0]))[0], ~PASSING].sum())
    assert least <= failing <= most


@pytest.mark.parametrize(("rate", "barely"), [(0.82, True), (0.97, False)])
def test_what_passes_is_taken_to_pass_barely_unless_the_counts_tell_otherwise(
    rate: float, barely: bool
) -> None:
    successes = np.random.default_rng(6).binomial(12, np.full(400, rate)).astype(np.float64)
    seen = Seen(np.full(400, 3.0), successes, 12 - successes)
    below, _ = wary_priors(TABLE, seen, 0.8)
    row = below[row_of(np.array([3.0]))[0]]
    assert (row[RATES > 0.9].sum() < 0.05) == barely


def test_more_may_fail_by_a_hair_where_the_others_may_be_better_for_it() -> None:
    """30 % at .78 and the rest at .95 look like all at .9 to who has five images of each."""
    rng = np.random.default_rng(5)
    rates = np.where(np.arange(150) < 45, 0.78, 0.95)
    passes = rng.binomial(5, rates).astype(float)
    seen = Seen(np.full(150, 2.2), passes, 5 - passes)
    table, hair = bell_priors(0.3), by_a_hair(0.8)
    row, failing = int(row_of(np.array([2.2]))[0]), RATES < 0.8
    alone, moved = (seen.mixed(table, hair, shifts)[row] for shifts in ((0.0,), (0.0, 0.5, 1.0)))
    assert moved[failing].sum() > 1.3 * alone[failing].sum()
    assert moved.sum() == pytest.approx(1)
