"""What a t2i config over a list of prompts can prove: its own hunt on prompts with planted rates."""

import math
import random

from failscape.kinds.t2i.build import build_hunt, forewarn
from failscape.kinds.t2i.config import T2IConfig
from failscape.planning.foresight import (
    QUICK,
    SIMULATED_IMAGES,
    Expectation,
    Foresight,
    Part,
    SimulationEffort,
    expected,
    worlds_for,
)
from failscape.spaces.prompt_list import load_prompts
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Decide, Probe, Trial, reach_verdict

#: Shares of prompts that fail, by sort of model.
FAILING = {"weak": 0.5, "medium": 0.25, "strong": 0.08}

#: Of true rates around the threshold, on the scale of log-odds.
SPREAD = 1.8

NO_LIMIT = 20_000

#: Images of a quick plan for each sort of model: three sorts take some seconds.
QUICK_IMAGES = 3000


def foresee_prompts(
    config: T2IConfig, accuracy: JudgeAccuracy | None = None, effort: SimulationEffort = QUICK
) -> Foresight:
    prompts, images = load_prompts(config.space.prompts), config.budget.images or NO_LIMIT
    expectations = tuple(expect(config, regime, len(prompts), images, effort) for regime in FAILING)
    needed = math.log(len(prompts) / config.search.fdr)
    fails = next(n for n in range(1, 1000) if float(log_bet(0, n, config.search.threshold)) >= needed)
    space = f"{len(prompts):,} prompts; {images:,} images are {images / len(prompts):,.1f} for each"
    return Foresight(
        (space,),
        (f"a prompt alone: {fails} failures of {fails} images prove it",),
        expectations,
        images,
        {"generator": images, "judge": images},
        len(prompts.kinds),
        tuple(forewarn(config, accuracy)),
    )


def expect(
    config: T2IConfig, regime: str, prompts: int, images: int, effort: SimulationEffort = QUICK
) -> Expectation:
    """Findings of simulated runs on every n-th prompt, scaled up to all.

    Prompts have nothing in common here: parts may be small, and many of them tell better how they differ.
    """
    parts = min(math.ceil(2 * images / SIMULATED_IMAGES), prompts) if images > SIMULATED_IMAGES else 1
    simulated = round(images / parts)
    if effort.precise:
        numbers = range(effort.worlds or worlds_for(simulated))
    else:
        numbers = range(effort.quick_worlds(QUICK_IMAGES, simulated))
        simulated = min(simulated, QUICK_IMAGES // len(numbers))
    runs = [Part(1, found(config, regime, simulated, world, parts)) for world in numbers]
    return expected(regime, f"{FAILING[regime]:.0%} of the prompts fail", runs, parts).at_most(prompts)


def found(config: T2IConfig, regime: str, images: int, world: int, parts: int = 1) -> int:
    """Findings of the config's hunt on prompts whose true rates are drawn at random."""
    budget = config.budget.model_copy(update={"images": images})
    hunt = build_hunt(config.model_copy(update={"budget": budget}), shard=(world % parts, parts))
    luck = random.Random(f"plan/{regime}/{world}")
    rates: dict[str, float] = {}
    flying: list[Probe] = []
    drawn = 0
    while drawn < images:
        flying += hunt.ask(min(config.runtime.in_flight - len(flying), images - drawn - len(flying)))
        if not flying:
            break
        probe = flying.pop(0)
        rate = rates.setdefault(probe.subject, _rate(luck, FAILING[regime], config.search.threshold))
        hunt.tell(_trial(probe, luck.random() < rate))
        drawn += probe.images
    return len(hunt.findings())


def _rate(luck: random.Random, failing: float, threshold: float) -> float:
    """A true pass rate that lies below the threshold with chance `failing`."""
    side = -1 if luck.random() < failing else 1
    log_odds = math.log(threshold / (1 - threshold)) + side * abs(luck.gauss(0, SPREAD))
    return 1 / (1 + math.exp(-log_odds))


def _trial(probe: Probe, passes: bool) -> Trial:
    facts = [
        [passes or at > 0 for at in range(len(step.checks))] if isinstance(step, Decide) else f"{probe.key}"
        for step in probe.steps
    ]
    verdict, reason = reach_verdict(probe.steps, facts)
    return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)
