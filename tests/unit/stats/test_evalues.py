"""The certificate: its formula, its supermartingale property by exact enumeration, its extremes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from failscape.stats import e_value, log_e_process, log_e_value

counts = st.integers(0, 60)
thresholds = st.floats(0.05, 0.95)


@given(counts, counts, thresholds)
def test_it_is_the_mixture_of_bets_below_the_threshold(s: int, f: int, tau: float) -> None:
    def bet(q: float) -> float:
        return (q / tau) ** s * ((1 - q) / (1 - tau)) ** f / tau

    expected, _ = integrate.quad(bet, 0, tau, limit=200, epsrel=1e-10)
    assert math.isclose(float(e_value(s, f, tau)), expected, rel_tol=1e-6)


@given(counts, counts, thresholds, st.floats(0, 1))
def test_under_the_null_one_more_image_never_gains_on_average(
    s: int, f: int, tau: float, above: float
) -> None:
    p = tau + above * (1 - tau)
    now = float(e_value(s, f, tau))
    after = p * float(e_value(s + 1, f, tau)) + (1 - p) * float(e_value(s, f + 1, tau))
    assert after <= now * (1 + 1e-9)
    fair = tau * float(e_value(s + 1, f, tau)) + (1 - tau) * float(e_value(s, f + 1, tau))
    assert math.isclose(fair, now, rel_tol=1e-8)


@pytest.mark.parametrize("p", [0.8, 0.85, 0.95])
def test_stopping_when_it_looks_best_does_not_help(p: float) -> None:
    """Exact over all paths of 40 images: P(ever e ≥ 20) ≤ 1/20, and the stopped mean is at most 1."""
    reached, mean, alive = 0.0, 0.0, {(0, 0): 1.0}
    for _ in range(40):
        after: dict[tuple[int, int], float] = {}
        for (s, f), mass in alive.items():
            for place, chance in (((s + 1, f), p), ((s, f + 1), 1 - p)):
                after[place] = after.get(place, 0.0) + mass * chance
        stopped = {place for place in after if float(e_value(*place, 0.8)) >= 20}
        reached += sum(after[place] for place in stopped)
        mean += sum(after[place] * float(e_value(*place, 0.8)) for place in stopped)
        alive = {place: mass for place, mass in after.items() if place not in stopped}
    mean += sum(mass * float(e_value(*place, 0.8)) for place, mass in alive.items())
    assert reached <= 1 / 20
    assert mean <= 1 + 1e-9


@given(st.lists(st.booleans(), max_size=60), thresholds)
def test_the_running_process_is_the_value_after_each_image(outcomes: list[bool], tau: float) -> None:
    path = log_e_process(outcomes, tau)
    assert path[0] == pytest.approx(0.0, abs=1e-12)
    assert len(path) == len(outcomes) + 1
    done = np.array(outcomes, dtype=bool)
    assert path[-1] == pytest.approx(float(log_e_value(done.sum(), (~done).sum(), tau)), abs=1e-9)


def test_extremes_stay_finite_and_ordered() -> None:
    passes = log_e_value([10, 1_000, 100_000], 0, 0.8)
    assert np.isfinite(passes).all()
    assert (np.diff(passes) < 0).all()
    assert float(log_e_value(0, 100_000, 0.8)) > 100_000
    assert float(e_value(0, 100_000, 0.8)) > 1e300
    assert np.isfinite(log_e_value(1_000_000, 10, 0.2))


def test_arrays_broadcast_and_nonsense_is_refused() -> None:
    assert e_value(np.arange(5)[:, None], np.arange(3), 0.8).shape == (5, 3)
    with pytest.raises(ValueError, match="threshold"):
        e_value(1, 1, 1.0)
    with pytest.raises(ValueError, match="successes"):
        e_value(-1, 1, 0.5)
