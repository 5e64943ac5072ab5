"""From the settings of a t2i hunt with `space.prompts` to its hunt, and what can be said before it starts."""

import math

from failscape.errors import ConfigError
from failscape.kinds.t2i.config import SpaceConfig, T2IConfig
from failscape.kinds.t2i.prompts.hunt import PromptHunt, PromptSettings
from failscape.spaces.prompt_list import PromptList, load_prompts
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy

#: The last two are one: findings are listed by posterior, besides those that are certified.
STRATEGIES = ("certified", "listed")

FIX = (
    "label more of these checks (`failscape review`), use a better judge or another threshold, or set "
    "`judge_accuracy: none` to take the judge at its word"
)


def build_prompt_hunt(
    config: T2IConfig, shard: tuple[int, int], accuracy: JudgeAccuracy | None
) -> PromptHunt:
    search = config.search
    _check_settings(config)
    settings = PromptSettings(
        threshold=search.threshold,
        fdr=search.fdr,
        listed=search.strategy != "certified",
        panel=search.panel,
        audit=search.audit,
        images=config.budget.images,
    )
    prompts = load_prompts(config.space.prompts)
    if shard[0] >= len(prompts):
        raise ConfigError(
            f"shard {shard[0] + 1}/{shard[1]} has no prompt: the list has {len(prompts)}", "use fewer shards"
        )
    return PromptHunt(prompts, settings, accuracy=accuracy, seed=config.seed, shard=shard)


def _check_settings(config: T2IConfig) -> None:
    """What only a lattice has cannot be set beside a list."""
    space, usual = config.space, SpaceConfig()
    for name in ("corpus", "entities", "families", "depth", "wording"):
        value = getattr(space, name)
        # An atlas that was read gives all settings, also those that nobody chose.
        if name in space.model_fields_set and value != getattr(usual, name):
            raise ConfigError(
                f"`space.{name}: {value}` is about a lattice, but `space.prompts` takes the place of one",
                f"leave out `space.{name}` or `space.prompts`",
            )
    if config.polish is not None:
        raise ConfigError(
            "`polish` would change your own prompts, and `space.prompts` are used as they are",
            "leave out `polish`",
        )
    if config.search.strategy not in STRATEGIES:
        raise ConfigError(
            f"`search.strategy: {config.search.strategy}` walks a lattice, but `space.prompts` is a list",
            "use certified or listed",
        )


def forewarn_prompts(config: T2IConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    """Refuses a judge that can tell nothing; warns of a budget that cannot certify anything."""
    _check_settings(config)
    prompts, search, images = load_prompts(config.space.prompts), config.search, config.budget.images
    warnings = _out_of_reach(prompts, accuracy, search.threshold) if accuracy else []
    least = least_images(len(prompts), search.threshold, search.fdr)
    if images is not None and images < least:
        warnings.append(
            f"a budget of {images:,} images is too small to certify anything at fdr {search.fdr:g}: a prompt "
            f"that always fails needs {least} of them among {len(prompts):,} prompts"
        )
    if images is not None and images < 2 * len(prompts):
        warnings.append(
            f"{images:,} images are fewer than two for each of {len(prompts):,} prompts: "
            "tags choose which get them, and not every prompt will be tried"
        )
    return warnings


def _out_of_reach(prompts: PromptList, accuracy: JudgeAccuracy, threshold: float) -> list[str]:
    said = {
        one.kinds: text
        for one in prompts.prompts
        if (text := accuracy.unreachable(one.kinds, threshold, passes=False))
    }
    lost = [one for one in prompts.prompts if one.kinds in said]
    if len(lost) == len(prompts):
        raise ConfigError(next(iter(said.values())), FIX)
    if not lost:
        return []
    return [f"{len(lost):,} prompts such as {lost[0].id!r} can never be certified: {said[lost[0].kinds]}"]


def least_images(prompts: int, threshold: float, fdr: float) -> int:
    """Failures in a row after which e-BH, which counts every prompt, must believe the first claim."""
    fails = 1
    while float(log_bet(0, fails, threshold)) < math.log(prompts / fdr):
        fails += 1
    return fails
