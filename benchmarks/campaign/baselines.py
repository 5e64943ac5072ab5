"""The FailureAtlas rule in planted worlds, and whether a predictor's order finds failures sooner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.campaign.measurements import Measurement, at_least, at_most, just
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.baselines.lanes import Ordering
from failscape.kinds.t2i.baselines.predictors import build_ordering
from failscape.kinds.t2i.config import PredictorConfig
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus

IMAGES = 25
NODES = 400


def failureatlas_rule() -> Iterator[Measurement]:
    """Every tested node fails with its binomial chance; counts of false claims and false passes follow."""
    corpus = load_corpus("starter")
    lattice = Lattice(corpus, entities="sample", depth=2)
    for regime in ("weak", "medium", "strong"):
        world = PlantedWorld(lattice, regime, seed=17)
        hunt = FailureAtlasHunt(lattice, Wording(corpus))
        told = Counter(trial.subject for trial in simulate(hunt, world, 30_000, shuffle=1, keep=True).trials)
        settled = [subject for subject, images in told.items() if images == IMAGES]
        rates = np.array([world.rate(lattice.parse(subject)) for subject in settled])
        chance = np.asarray(stats.binom.cdf(19, IMAGES, rates))
        claimed = {finding.subject for finding in hunt.findings()}
        hits = np.array([subject in claimed for subject in settled])
        for name, group in (("passing", rates >= 0.8), ("failing", rates < 0.8)):
            spread = np.sqrt((chance[group] * (1 - chance[group])).sum())
            off = abs(hits[group].sum() - chance[group].sum()) / spread
            yield at_most(f"{regime}: claims among {name} nodes, standard errors off", float(off), 4.5)
        precision = (hits & (rates < 0.8)).sum() / hits.sum()
        yield just(f"{regime}: share of claims that fail", float(precision))


def failureatlas_with_a_noisy_judge() -> Iterator[Measurement]:
    """At 84 % accuracy per attribute a perfect picture rarely passes two checks: the known weak point."""
    corpus = load_corpus("starter")
    lattice = Lattice(corpus, entities="sample", depth=1)
    world = PlantedWorld(lattice, "strong", seed=3, accuracy={"entity": (0.96, 0.96), "*": (0.84, 0.84)})
    hunt = FailureAtlasHunt(lattice, Wording(corpus))
    simulate(hunt, world, 40_000)
    claimed = [lattice.parse(finding.subject) for finding in hunt.findings() if "; " in finding.subject]
    false = float(np.mean([world.rate(node) >= 0.8 for node in claimed]))
    yield just("share of claims with one value that do not fail", false)


class Shuffled:
    """Has learnt nothing: a random order."""

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None: ...

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.random.default_rng(len(nodes)).random(len(nodes))


def failing_pairs(kind: str, world: PlantedWorld) -> int:
    """How many of the first nodes with two values fail, of some 3,500 to 5,000 in the layer."""
    settings = PredictorConfig.model_validate({"kind": kind, "warm_up": 200, "retrain_every": 300})
    order = build_ordering(settings, world.lattice, seed=5) or Ordering(Shuffled(), 200, 300)
    hunt = FailureAtlasHunt(world.lattice, Wording(world.lattice.corpus), images_per_node=10, order=order)
    trials = simulate(hunt, world, 13_000, keep=True).trials
    subjects = dict.fromkeys(trial.subject for trial in trials)
    pairs = [subject for subject in subjects if subject.count("; ") == 2][:NODES]
    failed = {finding.subject for finding in hunt.findings()}
    return sum(subject in failed for subject in pairs)


def predictors() -> Iterator[Measurement]:
    """Failing nodes among the first 400 with two values, three worlds. The transformer needs torch."""
    lattice = Lattice(load_corpus("starter"), entities="sample", depth=2)
    worlds = [PlantedWorld(lattice, "medium", seed) for seed in (21, 22, 23)]
    shuffled = sum(failing_pairs("none", world) for world in worlds)
    yield just("failing nodes in a random order", shuffled)
    for kind in ["ridge", *(["transformer"] if find_spec("torch") else [])]:
        ordered = sum(failing_pairs(kind, world) for world in worlds)
        yield at_least(f"failing nodes in the order of {kind}, times those", ordered / shuffled, 1.3)
