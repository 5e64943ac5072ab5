"""The loop: record before tell, budgets, interrupts, errors, resume."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.atlas import Atlas, Spent
from failscape.config import BudgetConfig, RuntimeConfig
from failscape.errors import AtlasError, BadReply, ModelError, Permanent, Refused
from failscape.models.roles import Reply
from failscape.runtime.engine import Budget, Engine, Stop, StopKind
from failscape.runtime.walk import Team
from failscape.search.protocol import replay
from failscape.trials import Trial, Verdict

from .fakes import CountingHunt, FakeGenerator, FakeJudge


class Bench:
    """An atlas, a hunt and a team, run as often as a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hunt_id = 0

    async def run(
        self,
        hunt: CountingHunt,
        generator: FakeGenerator | None = None,
        judge: FakeJudge | None = None,
        budget: BudgetConfig | None = None,
        after: float | None = None,
        **settings: object,
    ) -> Stop:
        team = Team({"generator": generator or FakeGenerator(), "judge": judge or FakeJudge()})
        with Atlas.open(self.folder, create=True) as atlas:
            identities = {role: model.identity for role, model in team.models.items()}
            self.hunt_id = self.hunt_id or atlas.start_hunt("test", {}, identities)
            replay(hunt, atlas.replay(self.hunt_id))
            limits = Budget(budget or BudgetConfig(), atlas.spent(self.hunt_id))
            runtime = RuntimeConfig.model_validate({"in_flight": 8, **settings})
            async with team:
                engine = Engine(hunt, team, atlas, self.hunt_id, limits, runtime)
                if after is not None:
                    asyncio.get_running_loop().call_later(after, engine.interrupt)
                return await engine.run()

    def trials(self) -> list[Trial]:
        with Atlas.open(self.folder, readonly=True) as atlas:
            return list(atlas.replay(self.hunt_id))

    def spent(self) -> Spent:
        with Atlas.open(self.folder, readonly=True) as atlas:
            return atlas.spent(self.hunt_id)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "atlas")


async def test_a_hunt_runs_to_its_end_and_is_told_in_recorded_order(bench: Bench) -> None:
    hunt = CountingHunt(100)
    stop = await bench.run(hunt)
    assert stop.kind == "done"
    assert hunt.told == bench.trials()
    assert len({trial.key for trial in hunt.told}) == 100


async def test_every_trial_is_in_the_atlas_before_the_hunt_hears_of_it(bench: Bench) -> None:
    class Suspicious(CountingHunt):
        def tell(self, trial: Trial) -> None:
            with Atlas.open(bench.folder, readonly=True) as atlas:
                assert trial.key in {known.key for known in atlas.replay(bench.hunt_id)}
            super().tell(trial)

    await bench.run(Suspicious(20))


async def test_budgets_are_never_passed_and_count_over_sessions(bench: Bench) -> None:
    assert (await bench.run(CountingHunt(100), budget=BudgetConfig(images=30))).kind == "budget"
    assert bench.spent().images == 30
    stop = await bench.run(CountingHunt(100), budget=BudgetConfig(images=45))
    assert stop == Stop(StopKind.BUDGET, "budget of 45 images")
    assert bench.spent().images == 45
    assert len(bench.trials()) == 45


async def test_a_request_budget_is_never_passed(bench: Bench) -> None:
    assert (await bench.run(CountingHunt(100), budget=BudgetConfig(requests=21))).kind == "budget"
    assert bench.spent().requests <= 21


async def test_a_time_budget_stops_cleanly(bench: Bench) -> None:
    stop = await bench.run(
        CountingHunt(10_000), FakeGenerator(wait=0.02), budget=BudgetConfig(seconds=0.3), in_flight=2
    )
    assert stop.kind == "budget"
    assert 0 < len(bench.trials()) < 10_000


async def test_an_interrupt_records_what_is_in_flight_and_resume_finishes_the_rest(bench: Bench) -> None:
    first = CountingHunt(40)
    stop = await bench.run(first, FakeGenerator(wait=0.05), after=0.12)
    assert stop.kind == "interrupted"
    assert 0 < len(first.told) < 40
    second = CountingHunt(40)
    assert (await bench.run(second)).kind == "done"
    keys = [trial.key for trial in bench.trials()]
    assert len(keys) == len(set(keys)) == 40
    assert second.told[: len(first.told)] == first.told


async def test_a_permanent_error_stops_at_once_and_keeps_what_was_paid_for(bench: Bench) -> None:
    with pytest.raises(Permanent, match="wrong key"):
        await bench.run(CountingHunt(8), judge=FakeJudge(errors=[Permanent("wrong key")] * 8))
    assert bench.trials() == []
    assert bench.spent().images == 8
    again = FakeGenerator()
    assert (await bench.run(CountingHunt(8), again)).kind == "done"
    assert again.calls == [], "the images were in the cache"
    assert bench.spent().images == 8


@pytest.mark.parametrize("error", [BadReply("gibberish"), Refused("content policy")])
async def test_an_unusable_reply_makes_one_trial_invalid(bench: Bench, error: ModelError) -> None:
    await bench.run(CountingHunt(30), judge=FakeJudge(errors=[error]))
    verdicts = [trial.verdict for trial in bench.trials()]
    assert verdicts.count(Verdict.INVALID) == 1
    assert Verdict.FAIL in verdicts
    assert Verdict.PASS in verdicts


async def test_a_judge_that_never_answers_in_form_stops_the_run(bench: Bench) -> None:
    with pytest.raises(ModelError, match=r"all of the first \d+ trials were invalid.*no list of booleans"):
        await bench.run(CountingHunt(500), judge=FakeJudge(invalid="no list of booleans"))
    assert bench.trials() == [], "they say nothing about the target: they are withdrawn"


async def test_a_mended_judge_starts_where_a_broken_one_left(bench: Bench) -> None:
    with pytest.raises(ModelError, match="tried anew"):
        await bench.run(CountingHunt(40), judge=FakeJudge(invalid="no list of booleans"))
    images = bench.spent().images
    again, hunt = FakeGenerator(), CountingHunt(40)
    assert (await bench.run(hunt, again)).kind == "done"
    assert {trial.verdict for trial in hunt.told} == {Verdict.PASS, Verdict.FAIL}
    assert sum(again.calls) == 40 - images, "images that were drawn are not drawn again"


async def test_a_judge_that_breaks_in_the_middle_stops_the_run(bench: Bench) -> None:
    class Tired(FakeJudge):
        async def judge(self, images: Any, checks: Any) -> Any:
            if len(self.calls) > 60:
                self.invalid = "no idea"
            return await super().judge(images, checks)

    with pytest.raises(ModelError, match=r"the last \d+ trials were invalid"):
        await bench.run(CountingHunt(1000), judge=Tired())
    assert {trial.verdict for trial in bench.trials()} == {Verdict.PASS, Verdict.FAIL}
    assert 50 < len(bench.trials()) < 80


class Odd(FakeJudge):
    """Gives what a careless plugin might."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    async def judge(self, images: Any, checks: Any) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return [
            Reply(self.value if len(self.calls) % 2 else [True]) for _ in images if not self.calls.append(1)
        ]


async def test_odd_replies_are_made_plain_or_invalid(bench: Bench) -> None:
    await bench.run(CountingHunt(6), judge=Odd([np.bool_(False)]))
    assert Verdict.FAIL in {trial.verdict for trial in bench.trials()}


async def test_a_wrong_number_of_decisions_is_invalid(bench: Bench) -> None:
    await bench.run(CountingHunt(6), judge=Odd([True, True]))
    reasons = [trial.reason for trial in bench.trials() if trial.verdict is Verdict.INVALID]
    assert reasons
    assert "2 decisions for 1 checks" in reasons[0]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), TimeoutError()])
async def test_a_model_that_breaks_is_named(bench: Bench, error: Exception) -> None:
    with pytest.raises(ModelError, match=r"the judge \(fake judge\) broke"):
        await bench.run(CountingHunt(6), judge=Odd(error))


async def test_an_atlas_that_cannot_be_written_stops_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise AtlasError("the disk is full")

    monkeypatch.setattr(Atlas, "record", full)
    hunt = CountingHunt(50)
    with pytest.raises(AtlasError, match="disk is full"):
        await bench.run(hunt)
    assert hunt.told == []


async def test_without_a_cache_calls_are_made_again(bench: Bench) -> None:
    with pytest.raises(Permanent):
        await bench.run(CountingHunt(8), judge=FakeJudge(errors=[Permanent("no")] * 8))
    again = FakeGenerator()
    await bench.run(CountingHunt(8), again, cache=False)
    assert sum(again.calls) == 8
