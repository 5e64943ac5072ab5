"""Statistical tests of the hunt over a list of prompts: few false claims, and the whole budget is used.

Tolerances are binomial (one false alarm in 10,000 looks). Rates are planted; most lie near the threshold.
"""

from functools import cache

import pytest
from scipy import stats

from failscape.hunts.t2i.prompts.hunt import PromptHunt, PromptSettings
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.scoring import Watched, watch
from tests.quality.planted_prompts import PlantedPrompts

ALARM, LEVEL, LISTS, IMAGES = 1e-4, 0.05, 3, 1_500
NOISE, WORSE = (0.95, 0.9), (0.85, 0.9)


@cache
def run(seed: int, listed: bool, noisy: bool = False, told: bool = True) -> tuple[Watched, set[str]]:
    noise = NOISE if told else WORSE
    world = PlantedPrompts(300, 0.3, seed, accuracy=noise if noisy else (1.0, 1.0))
    accuracy = JudgeAccuracy.from_rates({"*": noise}) if noisy and told else None
    settings = PromptSettings(listed=listed, images=IMAGES)
    hunt = PromptHunt(world.list, settings, accuracy=accuracy, seed=seed)
    watched = watch(hunt, world, IMAGES, checkpoints=6, shuffle=seed)
    return watched, {one.status for one in hunt.findings()}


def assert_few_false(runs: list[Watched]) -> None:
    for points in zip(*(each.checkpoints for each in runs), strict=True):
        claims = sum(point.claims for point in points)
        false = claims - sum(point.failing for point in points)
        assert false <= stats.binom.isf(ALARM, claims, LEVEL), f"{false} of {claims} claims do not fail"


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_few_claims_are_false(listed: bool, noisy: bool) -> None:
    runs = [run(seed, listed, noisy) for seed in range(LISTS)]
    assert_few_false([watched for watched, _ in runs])
    assert sum(watched.last.failing for watched, _ in runs) >= (10 if noisy else 30)
    assert all(statuses <= {"certified", "listed"} for _, statuses in runs)


def test_these_tests_notice_false_claims() -> None:
    """A judge whose errors are not known makes the model look worse than it is."""
    with pytest.raises(AssertionError, match="do not fail"):
        assert_few_false([run(seed, True, noisy=True, told=False)[0] for seed in range(LISTS)])


def test_the_list_finds_more_than_certificates_alone() -> None:
    listed, certified = (
        sum(run(seed, which)[0].last.failing for seed in range(LISTS)) for which in (True, False)
    )
    assert listed > 1.2 * certified


def test_the_whole_budget_is_used_while_something_is_open() -> None:
    assert all(run(seed, True)[0].images == IMAGES for seed in range(LISTS))


def test_eight_prompts_of_which_six_fail_are_all_claimed() -> None:
    """A small list with a budget: every prompt at least 15 points below the threshold is claimed."""
    rates = dict(
        zip([f"p{at}" for at in range(8)], [0.27, 0.35, 0.42, 0.5, 0.55, 0.58, 0.9, 0.95], strict=True)
    )
    for seed in range(3):
        world = PlantedPrompts(8, 0.5, seed, rates=rates)
        hunt = PromptHunt(world.list, PromptSettings(images=1_500), seed=seed)
        watch(hunt, world, 1_500, checkpoints=3, shuffle=seed)
        assert {f"p{at}" for at in range(6)} <= {one.subject for one in hunt.findings()}
