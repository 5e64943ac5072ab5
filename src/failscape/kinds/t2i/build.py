"""From the settings of a t2i hunt to a strategy. This is the only place that knows which ones exist.

Can a judge with these errors tell at all? Said before the first image, and by name of the check. Pure.
"""

import math
from collections.abc import Sequence
from typing import Any

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.failureatlas import RULES, FailureAtlasHunt
from failscape.kinds.t2i.baselines.predictors import build_ordering, forewarn_predictor
from failscape.kinds.t2i.config import T2IConfig
from failscape.kinds.t2i.probes import Prompting
from failscape.kinds.t2i.prompts.build import build_prompt_hunt, forewarn_prompts
from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.search.protocol import Content, Hunt
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.pairs import PAIR_FAMILIES, pair_lattice
from failscape.spaces.prompt_list import load_prompts
from failscape.stats.evalues import log_bet
from failscape.stats.judging.accuracy import JudgeAccuracy

#: Strategies that choose by model.
CHOOSING = ("certified", "listed")


def build_hunt(
    config: T2IConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
) -> Hunt:
    if config.space.prompts:
        return build_prompt_hunt(config, shard, accuracy)
    lattice = build_lattice(config)
    search = config.search
    if config.space.pairs:
        _refuse_parts_of_pairs(search.strategy, shard)
    if search.strategy in CHOOSING:
        settings = CertifiedSettings(
            threshold=search.threshold,
            fdr=search.fdr,
            strategy=search.strategy,
            tolerance=search.tolerance if search.minimal == "tolerant" else 0.0,
            openings=search.openings,
            panel=search.panel,
            audit=search.audit,
            images=config.budget.images,
            rules=search.rules,
        )
        prompting = build_prompting(config, lattice)
        return CertifiedHunt(lattice, prompting, settings, accuracy=accuracy, seed=config.seed, shard=shard)
    return FailureAtlasHunt(
        lattice,
        wording_of(lattice.corpus),
        images_per_node=search.images_per_node,
        threshold=search.threshold,
        at_threshold=search.at_threshold,
        stopping=search.strategy if search.strategy in RULES else "fixed",
        traversal="random" if search.strategy == "random" else search.traversal,
        batch_nodes=search.batch_nodes,
        seed=config.seed,
        shard=shard,
        prompting=build_prompting(config, lattice),
        order=build_ordering(search.predictor, lattice, config.seed),
    )


def _refuse_parts_of_pairs(strategy: str, shard: tuple[int, int]) -> None:
    """A pair rests on both of its things, which a shard may not have and the baselines do not ask about."""
    if strategy not in CHOOSING:
        raise ConfigError(
            f"`search.strategy: {strategy}` looks at one thing at a time, so it cannot search pairs",
            f"use {' or '.join(CHOOSING)}, or remove space.pairs",
        )
    if shard[1] > 1:
        raise ConfigError(
            f"a space of pairs cannot be split, but shard {shard[0] + 1}/{shard[1]} is asked for: a pair "
            "rests on both of its things",
            "run it as one, or give every run entities of its own",
        )


def recorded(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings from an atlas, in today's words. Those without a version of the rules were recorded under the
    first; until the fifth, `minimal_doubt` was a level of its own, and `audit` was called `replication`."""
    search = settings.get("search")
    if not isinstance(search, dict):
        return settings
    known = {name: value for name, value in search.items() if name not in ("minimal_doubt", "replication")}
    if "replication" in search:
        known.setdefault("audit", search["replication"])
    return {**settings, "search": {"rules": 1, **known}}


def contents(config: T2IConfig) -> dict[str, Content]:
    if config.space.prompts:
        return {
            "prompts": Content("prompts", config.space.prompts, load_prompts(config.space.prompts).digest)
        }
    corpus = config.space.corpus
    return {"space": Content("corpus", corpus, load_corpus(corpus).digest)}


def forewarn(config: T2IConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    if config.space.prompts:
        return forewarn_prompts(config, accuracy)
    warnings = forewarn_predictor(config)
    if config.search.strategy in CHOOSING:
        return warnings + _forewarn_certified(config, accuracy or JudgeAccuracy.perfect())
    images, needed = config.budget.images, config.search.images_per_node
    if images is not None and images < needed:
        warnings.append(f"a budget of {images} images cannot finish even one node, which takes {needed}")
    return warnings


def _forewarn_certified(config: T2IConfig, accuracy: JudgeAccuracy) -> list[str]:
    """Refuses a judge that cannot tell; warns of a budget that cannot certify anything."""
    lattice, search, images = build_lattice(config), config.search, config.budget.images
    kinds = [value.kind for value in lattice.corpus.values if value.family in families_of(config)]
    warnings = check_reach(kinds, config.space.depth, accuracy, search.threshold)
    entities = len(lattice.entities)
    least = least_images(entities, search.threshold, search.fdr)
    if images is not None and images < least:
        rest = "" if search.strategy == "certified" else "; what is likely can still be listed"
        warnings.append(
            f"a budget of {images:,} images is too small to certify anything at fdr {search.fdr:g}: "
            f"{entities:,} entities alone need about {least:,}{rest}. "
            "Take fewer entities, a larger budget or a larger fdr"
        )
    elif images is not None and images < ENOUGH * entities:
        warnings.append(
            f"a budget of {images:,} images is {images / entities:.0f} for each of {entities:,} entities: "
            f"entities that fail can be certified, but of {len(lattice) - entities:,} nodes above them few "
            f"will be tried. {ENOUGH} or more for each entity reach further"
        )
    return warnings


#: Images per entity below which a hunt hardly gets beyond the entities: to settle that one passes takes as
#: many, and only then are failures above it minimal for sure.
ENOUGH = 12


def least_images(entities: int, threshold: float, fdr: float) -> int:
    """Images after which a model that never succeeds could first be claimed: all entities get their first
    images, then one fails again and again until e-BH, which counts all of them, must believe it."""
    fails = 1
    while float(log_bet(0, fails, threshold)) < math.log(entities / (tuning.FOR_ENTITIES * fdr)):
        fails += 1
    return tuning.FIRST_IMAGES * (entities - 1) + fails


def corpus_of(config: T2IConfig) -> Corpus | None:
    """What can be asked, with second things and relations where pairs are."""
    return None if config.space.prompts else build_lattice(config).corpus


def families_of(config: T2IConfig) -> tuple[str, ...]:
    """The families whose values can be asked for."""
    space = config.space
    return (*space.families, *PAIR_FAMILIES) if space.pairs else space.families


def build_lattice(config: T2IConfig) -> Lattice:
    space = config.space
    if space.pairs:
        corpus = load_corpus(space.corpus)
        return pair_lattice(corpus, space.entities, space.families, space.depth, space.relations)
    return Lattice(load_corpus(space.corpus), space.entities, space.families, space.depth)


def build_prompting(config: T2IConfig, lattice: Lattice) -> Prompting:
    return Prompting(wording_of(lattice.corpus), config.space.wording == "vary", config.polish is not None)


ENTITY = "entity"


FIX = (
    "label more of these checks (`failscape review`), use a better judge or another threshold, leave their "
    "family out, or set `judge_accuracy: none` to take the judge at its word"
)


def check_reach(kinds: Sequence[str], depth: int, accuracy: JudgeAccuracy, threshold: float) -> list[str]:
    """Warnings about nodes that can be neither certified nor passed; `kinds` are those of attribute values.

    Raises when failures of an entity alone, or with a single value, could never be certified.
    """
    values = list(dict.fromkeys(kinds)) if depth else []
    for checks in [(ENTITY,), *((ENTITY, kind) for kind in values)]:
        if text := accuracy.unreachable(checks, threshold, passes=False):
            raise ConfigError(text, FIX)
    worst = sorted(values, key=lambda kind: accuracy.room((ENTITY, kind), threshold))
    for layer in range(min(depth, len(worst)) + 1):
        if text := accuracy.unreachable((ENTITY, *worst[:layer]), threshold):
            return [f"some nodes with {layer} values are out of reach: {text}"]
    return []
