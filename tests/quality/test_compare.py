"""Comparisons of models that are alike: exact, by enumeration of everything that pairs can show.

How many comparisons and gates of planted models err is in `benchmarks/campaign/comparisons.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from failscape.again.decide import evidence, proven
from failscape.stats.differences import log_e_more
from failscape.stats.evalues import Floats
from tests.quality.exact import chance_to_cross


def evidence_of(worse: Floats, better: Floats) -> Floats:
    """log e that the second model is worse, from pairs where only the second or only the first failed."""
    zeros = np.zeros_like(worse)
    tables = np.stack([zeros, better, worse, zeros], axis=1).astype(np.float64)
    return np.asarray(evidence(tables)[0])


@pytest.mark.parametrize("pairs", [1, 5, 30, 120])
def test_evidence_of_a_change_is_worth_at_most_one_on_average_where_there_is_none(pairs: int) -> None:
    """A pair that differs does so in either direction alike."""
    worse = np.arange(pairs + 1)
    chances = stats.binom.pmf(worse, pairs, 0.5)
    mean = float(chances @ np.exp(evidence_of(worse, pairs - worse)))
    assert mean <= 1 + 1e-9


def test_looking_after_every_pair_rarely_shows_a_change_that_is_none() -> None:
    assert chance_to_cross(evidence_of, 0.5, 200, np.log(20)) <= 0.05


@pytest.mark.parametrize("margin", [0.02, 0.1])
def test_a_gate_rarely_sees_more_harm_than_its_margin_where_there_is_not(margin: float) -> None:
    """Pairs are worse, better or equal, and worse more often than better by just the margin."""
    pairs = 60
    more, less = np.meshgrid(np.arange(pairs + 1), np.arange(pairs + 1), indexing="ij")
    possible = more + less <= pairs
    more, less = more[possible], less[possible]
    counts = np.stack([more, less, pairs - more - less], axis=1)
    for differing in (margin, 0.5, 1.0):
        shares = [(differing + margin) / 2, (differing - margin) / 2, 1 - differing]
        chances = stats.multinomial.pmf(counts, pairs, shares)
        logs = log_e_more(more, less, np.full(len(more), pairs), margin)
        assert float(chances @ np.exp(logs)) <= 1 + 1e-9


def test_pairs_that_never_differ_prove_nothing_and_many_that_do_prove_a_change() -> None:
    tables = np.array([[40.0, 0.0, 0.0, 40.0], [0.0, 0.0, 80.0, 0.0], [0.0, 80.0, 0.0, 0.0]])
    worse, better = proven(*evidence(tables), 0.05)
    assert worse.tolist() == [False, True, False]
    assert better.tolist() == [False, False, True]
