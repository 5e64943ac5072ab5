"""From the settings of a t2i hunt to a strategy. This is the only place that knows which ones exist."""

from __future__ import annotations

from failscape.config import T2IConfig
from failscape.hunts.protocol import Content, Hunt
from failscape.hunts.t2i.failureatlas import FailureAtlasHunt
from failscape.hunts.t2i.predictors import build_ordering, forewarn_predictor
from failscape.hunts.t2i.prompting import Prompting
from failscape.hunts.t2i.stopping import RULES
from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice
from failscape.spaces.wording import Wording
from failscape.stats.judges import JudgeAccuracy


def build_hunt(
    config: T2IConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
) -> Hunt:
    lattice = build_lattice(config)
    search = config.search
    return FailureAtlasHunt(
        lattice,
        Wording(lattice.corpus),
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


def contents(config: T2IConfig) -> dict[str, Content]:
    corpus = config.space.corpus
    return {"space": Content("corpus", corpus, load_corpus(corpus).digest)}


def forewarn(config: T2IConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    warnings = forewarn_predictor(config)
    images, needed = config.budget.images, config.search.images_per_node
    if images is not None and images < needed:
        warnings.append(f"a budget of {images} images cannot finish even one node, which takes {needed}")
    return warnings


def build_lattice(config: T2IConfig) -> Lattice:
    space = config.space
    return Lattice(load_corpus(space.corpus), space.entities, space.families, space.depth)


def build_prompting(config: T2IConfig, lattice: Lattice) -> Prompting:
    return Prompting(Wording(lattice.corpus), config.space.wording == "vary", config.polish is not None)
