"""Accounting and warnings are pure: no models needed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from failscape.atlas import Call, Recorded, Spent
from failscape.config import BudgetConfig
from failscape.models.roles import Identity, Usage
from failscape.runtime.engine import Budget, RunHealth
from failscape.runtime.progress import ProgressMeter, duration
from failscape.trials import Check, Decide, Generate, Probe, Trial, Verdict

from .fakes import CHECK

PROBE = Probe("cat#0", "cat", (Generate("a cat"), Decide((CHECK,))))


def call(role: str, cached: bool = False, requests: int = 1) -> Call:
    identity = Identity(role, "fake", role)
    return Call(b"k" * 16, role, identity, None, "", "", Usage(requests, cost=0.5), None, cached)


@given(st.integers(1, 40), st.lists(st.booleans(), max_size=120))
def test_no_order_of_starts_and_ends_passes_the_limit(limit: int, moves: list[bool]) -> None:
    budget, under_way = Budget(BudgetConfig(images=limit), Spent()), 0
    for start in moves:
        if start and budget.start(PROBE):
            under_way += 1
        elif under_way:
            under_way -= 1
            budget.end(PROBE, [call("generator"), call("judge")])
        assert budget.spent.images + under_way <= limit
        assert budget.room(1000) <= limit - budget.spent.images - under_way


@given(st.integers(1, 30), st.lists(st.booleans(), max_size=120))
def test_money_is_never_passed(limit: int, moves: list[bool]) -> None:
    prices = {"generator": 0.5, "judge": 0.5}
    budget, under_way = Budget(BudgetConfig(money=limit), Spent(), prices), 0
    for start in moves:
        if start and budget.start(PROBE):
            under_way += 1
        elif under_way:
            under_way -= 1
            budget.end(PROBE, [call("generator"), call("judge")])
        assert budget.spent.money + under_way <= limit


def test_cached_calls_cost_nothing() -> None:
    budget = Budget(BudgetConfig(money=10), Spent())
    assert budget.start(PROBE)
    budget.end(PROBE, [call("generator", cached=True), call("judge", requests=3)])
    assert (budget.spent.images, budget.spent.requests, budget.spent.money) == (0, 3, 0.5)
    assert budget.share() == 0.05


def recorded(verdict: Verdict, digest: str, seed: int, reason: str = "judge: gibberish") -> Recorded:
    trial = Trial(f"cat#{seed}", "cat", verdict, reason, [digest], seed)
    return Recorded(PROBE, trial, (), 0.0, 0.0)


def not_shown(digest: str, seed: int) -> Recorded:
    gate = Check("entity", "cat", "A cat is there.", gate=True)
    probe = Probe("cat#0", "cat", (Generate("a cat"), Decide((gate,))))
    trial = Trial(f"cat#{seed}", "cat", Verdict.INVALID, "not shown: cat", [digest, [False]], seed)
    return Recorded(probe, trial, (), 0.0, 0.0)


def test_a_server_that_ignores_the_seed_is_noticed() -> None:
    health = RunHealth()
    for seed in range(20):
        health.watch(recorded(Verdict.PASS, "same", seed))
    assert [warning.name for warning in health.warnings()] == ["seed-ignored"]


def test_equal_images_of_different_prompts_say_nothing_about_seeds() -> None:
    health = RunHealth()
    for seed in range(20):
        probe = Probe(f"cat#{seed}", "cat", (Generate(f"prompt {seed}"),))
        trial = Trial(f"cat#{seed}", "cat", Verdict.PASS, "", ["same"], seed)
        health.watch(Recorded(probe, trial, (), 0.0, 0.0))
    (warning,) = health.warnings()
    assert warning.name == "prompt-ignored"
    assert "of another prompt" in warning.text


def test_distinct_images_and_few_invalid_trials_give_no_warning() -> None:
    health = RunHealth()
    for seed in range(100):
        health.watch(recorded(Verdict.INVALID if seed % 20 == 0 else Verdict.PASS, str(seed), seed))
    assert health.warnings() == []
    assert health.hopeless() is None


def test_many_invalid_trials_warn_and_all_invalid_stop() -> None:
    health = RunHealth()
    for seed in range(20):
        assert health.hopeless() is None
        health.watch(recorded(Verdict.INVALID, str(seed), seed))
    assert health.hopeless() is not None
    health.watch(recorded(Verdict.PASS, "p", 99))
    assert health.hopeless() is None
    assert health.meaningless == []
    assert [warning.name for warning in health.warnings()] == ["invalid"]


def test_kinds_that_a_judge_leaves_undecided_do_not_stop_a_run() -> None:
    health = RunHealth()
    health.watch(recorded(Verdict.PASS, "p", 0))
    for seed in range(1, 1000):
        health.watch(recorded(Verdict.INVALID, str(seed), seed))
    assert health.hopeless() is None


def test_a_thing_that_cannot_be_drawn_does_not_stop_a_run_but_a_judge_that_never_sees_anything_does() -> None:
    health = RunHealth()
    for seed in range(199):
        health.watch(not_shown(str(seed), seed))
    assert health.hopeless() is None
    health.watch(not_shown("last", 199))
    assert health.hopeless() is not None


def test_rates_and_durations() -> None:
    meter = ProgressMeter()
    assert meter.rate(0.0, 0) == 0.0
    assert meter.rate(2.0, 100) == 50.0
    assert [duration(seconds) for seconds in (5, 65, 3700)] == ["5s", "1m05s", "1h01m"]
