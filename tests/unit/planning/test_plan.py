"""Plans: sums of time, money, disk and labels; warnings and proposals; what cannot be planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from failscape.cli import cli
from failscape.cli.plan import make_plan
from failscape.config import HuntConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError
from failscape.kinds.t2i import plan
from failscape.kinds.t2i.build import build_lattice
from failscape.planning.foresight import (
    Expectation,
    Foresight,
    Pace,
    Part,
    SimulationEffort,
    count_range,
    labels_for,
    reckon,
    say_range,
)
from failscape.simulate.planted import simulate

TOY = {"provider": "toybox"}
BRIEF = SimulationEffort(worlds=2)
THINGS = ["penguin", "camel", "owl", "turtle"]


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations of a few hundred images: here only that they are made matters, not how good they are."""
    for module in ("t2i.plan", "t2i.plan_prompts", "classifier.plan"):
        monkeypatch.setattr(f"failscape.kinds.{module}.SIMULATED_IMAGES", 300)
        monkeypatch.setattr(f"failscape.kinds.{module}.QUICK_IMAGES", 600)
    monkeypatch.setattr("failscape.kinds.vlm.plan.QUICK_QUESTIONS", 900)


def config(**more: Any) -> HuntConfig:
    space = {"corpus": "toybox", "entities": THINGS, "depth": 1}
    data = {"hunt": "t2i", "target": TOY, "judge": TOY, "space": space, "budget": {"images": 400}}
    data["search"] = {"strategy": "failureatlas", "images_per_node": 5}  # it simulates in no time
    return parse_config({**data, **more}, "a test")


def foreseen(images: int = 1000) -> Foresight:
    likely = Expectation("medium", "", 10, 20)
    return Foresight(("s",), ("p",), (likely,), images, {"generator": images, "judge": images}, 3)


def test_time_money_and_disk_are_sums() -> None:
    settings = config(
        target={**TOY, "price": 0.04}, judge={**TOY, "price": 0.001}, runtime={"keep_images": "failures"}
    )
    planned = reckon(settings, foreseen(), Pace(5.0, 2000.0, "as given"))
    assert planned.seconds == 200
    assert planned.cost == pytest.approx(41)
    assert planned.unpriced == ()
    assert planned.disk == 1_000_000


def test_what_nobody_knows_is_not_made_up() -> None:
    planned = reckon(config(target={**TOY, "price": 0.04}), foreseen(), Pace())
    assert planned.seconds is None
    assert planned.unpriced == ("judge",)
    assert planned.cost == 40
    assert "guess" in planned.disk_basis
    assert reckon(config(), foreseen(), Pace()).cost is None


def test_a_limit_of_seconds_ends_it_sooner() -> None:
    planned = reckon(config(budget={"images": 1000, "seconds": 60}), foreseen(), Pace(1.0))
    assert planned.seconds == 60


def ranged(counts: list[float], whole: float = 1.0) -> tuple[int, int]:
    return count_range([Part(1.0, count) for count in counts], whole)


def test_ranges_are_as_wide_as_worlds_differ() -> None:
    assert ranged([0.0] * 4) == (0, 2), "all alike: a world may still find one"
    low, high = ranged([100.0, 130.0, 110.0, 120.0])
    assert low < 100 < 130 < high
    assert high - low < 120
    wider = ranged([50.0, 200.0, 110.0, 120.0])
    assert wider[0] < low < high < wider[1]
    scaled = ranged([10.0, 13.0, 11.0, 12.0], 10)
    assert scaled[0] < 100 < 130 < scaled[1]


def test_a_larger_run_finds_in_proportion_at_least_and_at_most_as_it_grew() -> None:
    """Twice the size brings four times as much here: three times the largest brings three to nine times."""
    parts = [Part(size, size**2 - 1) for size in (10, 10, 20, 20, 40)]
    at_top = count_range(parts, 40)
    assert at_top[0] <= 1600 <= at_top[1]
    assert at_top[1] - at_top[0] < 10, "all lie on one line"
    low, high = count_range(parts, 120)
    assert low == pytest.approx(3 * 1600, rel=0.01)
    assert high == pytest.approx(9 * 1600, rel=0.01)
    nothing = count_range([Part(size, 0.0) for size in (10, 10, 20, 40)], 400)
    assert nothing[0] == 0


def test_more_kinds_of_checks_need_more_labels() -> None:
    assert labels_for(1) == 385
    assert labels_for(40) == 800


def test_a_config_is_planned_as_json_and_by_dry_run(tmp_path: Path) -> None:
    (tmp_path / "hunt.yaml").write_text(json.dumps(config().model_dump(mode="json")))
    done = CliRunner().invoke(
        cli, ["plan", str(tmp_path / "hunt.yaml"), "--json", "--worlds", "2", "--speed", "10"]
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["seconds"] == 40
    assert [one["like"] for one in told["foresight"]["expectations"]] == ["weak", "medium", "strong"]
    dry = ["run", str(tmp_path / "hunt.yaml"), "--atlas", str(tmp_path / "atlas"), "--dry-run"]
    dry_run = CliRunner().invoke(cli, dry)
    assert dry_run.exit_code == 0, dry_run.output
    assert "findings if the model is like 'medium'" in dry_run.output
    assert "`price`" in dry_run.output
    assert not (tmp_path / "atlas").exists()


def test_a_budget_far_too_small_is_warned_of_with_proposals() -> None:
    large = {"corpus": "general", "entities": "sample", "depth": 2}
    planned = make_plan(config(space=large, budget={"images": 300}), effort=BRIEF)
    assert any("300 images are few for 4,6" in warning for warning in planned.foresight.warnings)
    changes = [proposal.change.partition("=")[0] for proposal in planned.foresight.proposals]
    assert changes == ["budget.images", "space.entities", "space.depth"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"hunt": "classifier", "target": TOY, "generator": TOY, "judge": TOY, "classes": THINGS[:2]},
            "tests, all under one error control",
        ),
        ({"hunt": "vlm", "target": TOY, "questions": 400}, "400 questions in all"),
    ],
)
def test_other_hunts_are_planned(data: dict[str, Any], said: str) -> None:
    settings = parse_config({**data, "budget": {"images": 1000}}, "a test")
    planned = make_plan(settings, effort=BRIEF)
    assert any(said in line for line in planned.foresight.space)
    assert len(planned.foresight.expectations) == 3


def test_speed_is_measured_by_real_trials() -> None:
    planned = make_plan(config(), measuring=True, effort=BRIEF)
    assert planned.seconds
    assert "measured on" in planned.speed
    assert "as measured" in planned.disk_basis


def test_a_dead_model_cannot_be_measured() -> None:
    dead = {"provider": "python", "path": "no_such_module:draw"}
    with pytest.raises(ConfigError, match="nothing can be measured"):
        make_plan(config(target=dead), measuring=True, effort=BRIEF)


def test_no_budget_of_images_is_said() -> None:
    planned = make_plan(config(budget={}), effort=BRIEF)
    assert any("no `budget.images`" in warning for warning in planned.foresight.warnings)


def test_lists_of_prompts_are_planned(tmp_path: Path) -> None:
    checks = [[{"kind": "thing", "value": f"{n}", "statement": f"It is {n}."}] for n in range(20)]
    rows = [{"id": f"p{n}", "prompt": f"a {n}", "checks": one} for n, one in enumerate(checks)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    data = {"hunt": "t2i", "target": TOY, "judge": TOY, "space": {"prompts": str(tmp_path / "prompts.jsonl")}}
    planned = make_plan(parse_config({**data, "budget": {"images": 200}}, "a test"), effort=BRIEF)
    assert "20 prompts; 200 images are 10.0 for each" in planned.foresight.space[0]
    weak, _, strong = planned.foresight.expectations
    assert weak.high > strong.low


def test_an_empty_list_of_prompts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text("")
    data = {"hunt": "t2i", "target": TOY, "judge": TOY, "space": {"prompts": str(tmp_path / "prompts.jsonl")}}
    with pytest.raises(ConfigError):
        make_plan(parse_config(data, "a test"), effort=BRIEF)


def test_ranges_are_said_as_in_a_sentence() -> None:
    assert say_range(0, 0) == "no"
    assert say_range(0, 6) == "at most 6"
    assert say_range(3, 3) == "3"
    assert say_range(21, 1059) == "between 21 and 1,059"


SPACES: dict[str, tuple[dict[str, Any], int]] = {
    "small": ({"corpus": "toybox", "entities": THINGS, "families": ["Base"], "depth": 1}, 400),
    "small, many images": (
        {"corpus": "toybox", "entities": THINGS, "families": ["Base"], "depth": 1},
        50_000,
    ),
    "middle": ({"corpus": "toybox", "entities": THINGS, "depth": 2}, 2000),
    "huge": ({"corpus": "general", "entities": "sample", "depth": 2}, 20_000),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_plan_takes_little_and_promises_no_more_than_there_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work is counted in simulated images, so that the test does not depend on how fast a machine is."""
    space, images = SPACES[name]
    settings: Any = config(space=space, budget={"images": images}, search={"strategy": "listed"})
    simulated: list[int] = []

    def counting(hunt: Any, world: Any, number: int, in_flight: int) -> Any:
        simulated.append(number)
        return simulate(hunt, world, number, in_flight)

    monkeypatch.setattr(plan, "simulate", counting)
    foresight = make_plan(settings).foresight
    assert sum(simulated) <= 3 * plan.QUICK_IMAGES + plan.SIMULATED_IMAGES
    lattice = build_lattice(settings)
    for one in foresight.expectations:
        assert one.high <= min(len(lattice), images)
        for depth, (_, high) in one.by_depth.items():
            assert high <= lattice.layer_sizes[int(depth)]
    if name.startswith("small"):
        assert not any("are few" in warning for warning in foresight.warnings)
        assert not foresight.proposals


def test_fewer_images_than_planned_are_no_reason_to_promise_less() -> None:
    little = Expectation("many", "", 1, 5, {"0": (0, 2)})
    assert little.up_to(12).high == 12
    assert little.up_to(3).high == 5
    assert little.stretched(2.5) == Expectation("many", "", 1, 13, {"0": (0, 5)})


def test_no_range_exceeds_its_limits() -> None:
    wide = Expectation("weak", "", 90, 333_642, {"0": (2, 40), "1": (80, 9000)})
    assert wide.at_most(68, {"0": 4, "1": 64}) == Expectation(
        "weak", "", 68, 68, {"0": (2, 4), "1": (64, 64)}
    )
