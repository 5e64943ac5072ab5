"""The hunt over a list of prompts: its promises, its claims, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.planted_prompts import PlantedPrompts

from failscape.errors import AtlasError, ConfigError
from failscape.kinds.t2i.build import build_hunt, contents, forewarn
from failscape.kinds.t2i.config import T2IConfig
from failscape.kinds.t2i.prompts.hunt import PromptHunt, PromptSettings
from failscape.kinds.t2i.prompts.listing import update_list
from failscape.search.hunt_results import from_bytes, results_of, to_bytes
from failscape.simulate.scoring import watch
from failscape.spaces.prompt_list import prompts_text
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Probe, Trial, Verdict

WORLD = PlantedPrompts(60, 0.3, seed=2)


class TestPromises(HuntSuite):
    images = 600
    order_matters = True
    adaptive = True

    def make_hunt(self) -> PromptHunt:
        return PromptHunt(WORLD.list, PromptSettings(images=600), seed=5)

    def run(self, probe: Probe) -> Trial:
        return WORLD.answer(probe)


def hunted(images: int = 900, **settings: Any) -> PromptHunt:
    hunt = PromptHunt(WORLD.list, PromptSettings(images=images, **settings), seed=1)
    watch(hunt, WORLD, images, checkpoints=3)
    return hunt


def test_findings_are_certified_or_listed_and_suspects_say_what_is_missing() -> None:
    hunt = hunted()
    assert {one.status for one in hunt.findings()} == {"certified", "listed"}
    claimed = {one.subject for one in hunt.findings()}
    for one in hunt.suspects():
        assert one.subject not in claimed
        assert "more images would prove it" in one.details_data["missing"]
    only = hunted(listed=False)
    assert {one.status for one in only.findings()} == {"certified"}


def test_the_audit_begins_when_its_last_trial_before_is_told_not_when_a_probe_is_asked_for() -> None:
    images = 600
    first = PromptHunt(WORLD.list, PromptSettings(images=images), seed=1)
    begins = first.unguided.audit_begins
    assert begins is not None
    told: list[Trial] = []
    while len(told) < begins:
        told += [WORLD.answer(probe) for probe in first.ask(1)]
        first.tell(told[-1])
    assert first.unguided.audit.begun
    replayed = PromptHunt(WORLD.list, PromptSettings(images=images), seed=1)
    for trial in told:
        replayed.tell(trial)
    assert replayed.unguided.audit.cases == first.unguided.audit.cases
    assert replayed.unguided.audit.since == begins


def test_a_finding_rests_on_the_images_of_its_prompt_alone() -> None:
    hunt = hunted()
    found = hunt.findings()[0]
    at = hunt.ledger.place(found.subject)
    assert (found.trials, found.failures) == (hunt.ledger.images[at], hunt.ledger.fails[at])
    assert found.interval[0] <= found.rate <= found.interval[1]
    assert sum(found.details_data["blame"].values()) >= found.failures
    assert found.e_value > 1 / 0.05


def test_the_survey_has_masses_by_tag_and_check_and_comes_back_from_the_atlas() -> None:
    hunt = hunted()
    survey = hunt.survey()
    groups = {mass.group for mass in survey.masses}
    assert groups == {"all", "tag", "check"}
    whole = next(mass for mass in survey.masses if mass.group == "all")
    truth = 1 - np.mean(list(WORLD.rates.values()))
    assert whole.interval[0] <= truth <= whole.interval[1]
    assert whole.nodes == survey.counts["prompts"] == 60
    assert survey.list_audit is not None
    assert survey.list_audit.parts[-1].minimal_at_least is None, "nothing is inside a prompt"
    told = results_of(hunt, [(0, 0), (900, 0)])
    assert from_bytes(to_bytes(told)) == told


def test_a_tag_whose_prompts_all_fail_becomes_a_rule() -> None:
    bad = {one.id: 0.1 for one in WORLD.list.prompts if str(one.tags[0]) == "skill=count"}
    good = {one.id: 0.98 for one in WORLD.list.prompts if one.id not in bad}
    world = PlantedPrompts(60, 0.3, seed=2, rates=bad | good)
    hunt = PromptHunt(world.list, PromptSettings(images=600))
    watch(hunt, world, 600, checkpoints=2)
    rule = hunt.survey().rules[0]
    assert {rule.who, *rule.values} & {"skill=count", "count"}
    assert rule.covers == len(bad)
    assert rule.certified >= 0.8 * len(bad)
    assert not rule.exceptions
    assert rule.held_out is not None, "measured by pictures that had no part in making the rule"
    assert rule.held_out.of <= rule.covers
    assert rule.held_out.interval[1] > 0.8


def test_it_says_in_one_line_why_it_ended_before_its_budget() -> None:
    rates = {one.id: 0.999 for one in WORLD.list.prompts} | {"p1": 0.0}
    world = PlantedPrompts(60, 0.3, seed=2, rates=rates)
    hunt = PromptHunt(world.list, PromptSettings(images=20_000))
    done = watch(hunt, world, 20_000, checkpoints=2)
    assert hunt.done
    assert done.images < 20_000
    assert [one.subject for one in hunt.findings()] == ["p1"]
    low, high = hunt.findings()[0].interval
    assert (high - low) / 2 <= 0.1
    assert len(hunt.notices()) == 1
    assert "no further image could change a claim" in hunt.notices()[0]


def test_what_cannot_be_judged_is_left_and_never_a_failure() -> None:
    hunt = PromptHunt(WORLD.list, PromptSettings(images=None, panel=0.0, audit=0.0))
    for _ in range(900):
        for probe in hunt.ask(1):
            trial = WORLD.answer(probe)
            if probe.subject == "p3":
                trial = Trial(probe.key, probe.subject, Verdict.INVALID, "undecided", ["", None], probe.seed)
            hunt.tell(trial)
    assert "p3" in hunt.undecided()
    assert "p3" not in {one.subject for one in (*hunt.findings(), *hunt.suspects())}


def test_trials_of_other_lists_are_refused() -> None:
    with pytest.raises(AtlasError, match="no prompt with the id 'x'"):
        hunted(50).tell(Trial("x#0", "x", Verdict.PASS))


def test_the_list_keeps_its_level_and_does_not_flicker() -> None:
    chances = np.array([0.99, 0.98, 0.97, 0.9, 0.7])
    images = np.full(5, 5.0)
    first = update_list((), (), chances, images, 0.05)
    assert first == {0, 1, 2}
    chances[2] = 0.93
    assert update_list(first, (), chances, images, 0.05) == first, "it stays although it would not enter"
    assert update_list((), (), chances, images, 0.05) == {0, 1}
    chances[2] = 0.4
    assert update_list(first, (), chances, images, 0.05) == {0, 1}
    assert update_list((), (), chances, np.ones(5), 0.05) == set()


def config_of(tmp_path: Path, **parts: Any) -> T2IConfig:
    file = tmp_path / "list.jsonl"
    file.write_text(prompts_text(WORLD.list), encoding="utf-8")
    model = {"provider": "python", "path": "failscape.simulate.planted:PlantedGenerator"}
    space = {"prompts": str(file), **parts.pop("space", {})}
    return T2IConfig.model_validate({"hunt": "t2i", "target": model, "judge": model, "space": space, **parts})


def test_a_config_with_a_list_builds_this_hunt(tmp_path: Path) -> None:
    config = config_of(tmp_path, budget={"images": 600})
    hunt = build_hunt(config)
    assert isinstance(hunt, PromptHunt)
    assert contents(config)["prompts"].digest == WORLD.list.digest
    assert not forewarn(config)
    parts = [build_hunt(config, (at, 7)) for at in range(7)]
    names = [one.id for part in parts if isinstance(part, PromptHunt) for one in part.ledger.prompts]
    assert sorted(names) == sorted(WORLD.rates)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"space": {"depth": 1}}, "space.depth: 1"),
        ({"space": {"corpus": "starter"}}, "space.corpus"),
        ({"space": {"wording": "vary"}}, "space.wording"),
        ({"search": {"strategy": "failureatlas"}}, "search.strategy: failureatlas"),
        ({"polish": {"provider": "openai"}}, "polish"),
    ],
)
def test_settings_of_a_lattice_are_refused(tmp_path: Path, parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        build_hunt(config_of(tmp_path, **parts))
    assert error.value.fix


def test_what_a_budget_cannot_do_is_said_before(tmp_path: Path) -> None:
    warnings = forewarn(config_of(tmp_path, budget={"images": 4}))
    assert "too small to certify anything" in warnings[0]
    assert "not every prompt will be tried" in warnings[1]


def test_a_judge_that_can_tell_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unreachable"):
        forewarn(config_of(tmp_path), JudgeAccuracy.from_rates({"*": (0.6, 0.3)}))
    known = dict.fromkeys(("thing", "colour", "count", "place", "text", "relation"), (1.0, 1.0))
    warnings = forewarn(config_of(tmp_path), JudgeAccuracy.from_rates({**known, "style": (0.6, 0.3)}))
    assert "can never be certified" in warnings[0]


def test_seeds_are_each_prompts_own() -> None:
    hunt = PromptHunt(WORLD.list, PromptSettings(images=600))
    probes = hunt.ask(120)
    assert len({probe.seed for probe in probes}) > 115
    assert json.dumps([probe.seed for probe in probes]) == json.dumps(
        [probe.seed for probe in PromptHunt(WORLD.list, PromptSettings(images=600)).ask(120)]
    )
