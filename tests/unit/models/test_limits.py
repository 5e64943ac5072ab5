from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.models.transport.endpoints import Aimd, Backoff, EndpointState, Outage


def test_limit_grows_only_while_it_is_used_up() -> None:
    aimd = Aimd(most=64, start=4)
    aimd.succeeded(in_flight=2)
    assert aimd.limit == 4
    aimd.succeeded(in_flight=4)
    assert aimd.limit == 5


def test_limit_never_passes_the_most_allowed() -> None:
    aimd = Aimd(most=8, start=8)
    for _ in range(50):
        aimd.succeeded(in_flight=8)
    assert aimd.limit == 8


def test_limit_halves_once_per_round_trip() -> None:
    aimd = Aimd(most=64, start=16)
    assert aimd.congested(now=10.0, sent_at=9.0)
    assert not aimd.congested(now=10.1, sent_at=9.5)  # was out before the decrease
    assert aimd.limit == 8
    assert aimd.congested(now=11.0, sent_at=10.5)
    assert aimd.limit == 4


def test_after_a_decrease_growth_is_one_per_round_trip() -> None:
    aimd = Aimd(most=64, start=16)
    aimd.congested(now=1.0, sent_at=0.0)
    for _ in range(8):
        aimd.succeeded(in_flight=int(aimd.limit))
    assert 8.8 < aimd.limit < 9.1


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 100))
def test_limit_stays_in_its_bounds(outcomes: list[bool], most: int) -> None:
    aimd = Aimd(most)
    for step, good in enumerate(outcomes):
        if good:
            aimd.succeeded(in_flight=int(aimd.limit))
        else:
            aimd.congested(now=step, sent_at=step)
        assert 1 <= aimd.limit <= most
        assert aimd.has_room(0)
        assert not aimd.has_room(most)


def test_endpoint_is_ejected_after_failures_in_a_row_and_gets_one_trial() -> None:
    state = EndpointState(eject_after=3, shortest=1.0, longest=4.0)
    assert not state.failed(0.0, trial=False)
    assert not state.failed(0.0, trial=False)
    assert state.failed(0.0, trial=False)
    assert not state.usable(0.5)
    assert state.usable(1.0)
    state.sent()
    assert state.on_trial
    assert not state.usable(1.0)
    state.succeeded()
    assert state.usable(1.0)
    assert not state.ejected


def test_success_in_between_keeps_an_endpoint() -> None:
    state = EndpointState(eject_after=3)
    for _ in range(10):
        state.failed(0.0, trial=False)
        state.failed(0.0, trial=False)
        state.succeeded()
    assert not state.ejected


def test_only_failed_trials_lengthen_the_rest_and_it_is_capped() -> None:
    state = EndpointState(eject_after=1, shortest=1.0, longest=4.0)
    state.failed(0.0, trial=False)
    for _ in range(20):
        state.failed(0.5, trial=False)  # these were out when it was ejected
    assert state.until == 1.0
    rests = []
    now = 1.0
    for _ in range(4):
        state.sent()
        state.failed(now, trial=True)
        rests.append(state.until - now)
        now = state.until
    assert rests == [2.0, 4.0, 4.0, 4.0]


def test_a_cancelled_trial_leaves_room_for_the_next() -> None:
    state = EndpointState(eject_after=1, shortest=0.0)
    state.failed(0.0, trial=False)
    state.sent()
    state.let_go()
    assert state.usable(0.0)


def test_outage_needs_failures_and_time() -> None:
    outage = Outage(enough=3)
    outage.failed(0.0)
    assert not outage.hopeless(1000.0, patience=0.0)
    outage.failed(1.0)
    outage.failed(2.0)
    assert outage.hopeless(2.0, patience=2.0)
    assert not outage.hopeless(2.0, patience=3.0)
    outage.succeeded()
    assert not outage.hopeless(1000.0, patience=0.0)
    assert outage.lasts(1000.0) == 0


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_backoff_is_between_half_and_full(failures: int, chance: float) -> None:
    backoff = Backoff(first=0.5, longest=30.0)
    full = min(30.0, 0.5 * 2.0 ** min(failures - 1, 20))
    assert full / 2 <= backoff.delay(failures, chance) <= full


def test_backoff_doubles() -> None:
    backoff = Backoff(first=1.0, longest=5.0)
    assert [backoff.delay(n, 0.0) * 2 for n in (1, 2, 3, 4)] == pytest.approx([1, 2, 4, 5])
