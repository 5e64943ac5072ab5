"""The hunt over a list of prompts: few false claims, and everything that plainly fails is claimed.

Rates are planted; most lie near the threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from benchmarks.campaign.measurements import Measurement, at_least, few_of, just
from benchmarks.planted_prompts import PlantedPrompts
from failscape.kinds.t2i.prompts.hunt import PromptHunt, PromptSettings
from failscape.simulate.scoring import Watched, watch
from failscape.stats.judging.accuracy import JudgeAccuracy

LISTS = 3
IMAGES = 1_500
NOISE = (0.95, 0.9)


@cache
def run(seed: int, listed: bool, noisy: bool) -> Watched:
    world = PlantedPrompts(300, 0.3, seed, accuracy=NOISE if noisy else (1.0, 1.0))
    accuracy = JudgeAccuracy.from_rates({"*": NOISE}) if noisy else None
    hunt = PromptHunt(world.list, PromptSettings(listed=listed, images=IMAGES), accuracy=accuracy, seed=seed)
    return watch(hunt, world, IMAGES, checkpoints=6, shuffle=seed)


def prompt_lists() -> Iterator[Measurement]:
    """Three lists of 300 prompts, of which 30 % fail."""
    for listed in (False, True):
        for noisy in (False, True):
            name = f"{'listed' if listed else 'certified'}, {'a noisy' if noisy else 'an exact'} judge"
            runs = [run(seed, listed, noisy) for seed in range(LISTS)]
            looks = []
            for points in zip(*(each.checkpoints for each in runs), strict=True):
                claims = sum(point.claims for point in points)
                looks.append((claims - sum(point.failing for point in points), claims))
            false, claims = max(looks, key=lambda look: (look[0] / max(look[1], 50), look[1]))
            yield few_of(f"{name}: claims that do not fail, at the worst of 6 looks", false, claims, 0.05)
            failing = sum(each.last.failing for each in runs)
            yield at_least(f"{name}: true claims at the end", failing, 10 if noisy else 30)
    listed_claims, certified_claims = (
        sum(run(seed, which, False).last.failing for seed in range(LISTS)) for which in (True, False)
    )
    yield at_least("true claims of the list, times those certified", listed_claims / certified_claims, 1.2)
    used = sum(run(seed, True, False).images for seed in range(LISTS))
    yield just("images used of 4,500", used)


def eight_prompts() -> Iterator[Measurement]:
    """A small list with a budget: six prompts lie at least 15 points below the threshold."""
    rates = dict(
        zip([f"p{at}" for at in range(8)], [0.27, 0.35, 0.42, 0.5, 0.55, 0.58, 0.9, 0.95], strict=True)
    )
    claimed = 0
    for seed in range(3):
        world = PlantedPrompts(8, 0.5, seed, rates=rates)
        hunt = PromptHunt(world.list, PromptSettings(images=IMAGES), seed=seed)
        watch(hunt, world, IMAGES, checkpoints=3, shuffle=seed)
        claimed += len({f"p{at}" for at in range(6)} & {one.subject for one in hunt.findings()})
    yield at_least("prompts of 18 that are claimed, 3 hunts", claimed, 18)
