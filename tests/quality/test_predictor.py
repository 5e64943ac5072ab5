"""Ordering by a predictor must find failures sooner than chance, on worlds it was not tuned to."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from failscape.hunts.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.hunts.t2i.baselines.lanes import Ordering
from failscape.hunts.t2i.baselines.predictors import build_ordering
from failscape.hunts.t2i.config import PredictorConfig
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.testing.planted import PlantedWorld, simulate

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, entities="sample", depth=2)
WORLDS = (21, 22, 23)
NODES = 400


class Shuffled:
    """Has learnt nothing: a random order."""

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None: ...

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.random.default_rng(len(nodes)).random(len(nodes))


def failing_pairs(kind: str, world: PlantedWorld) -> int:
    """How many of the first nodes with two values fail, of some 3,500 to 5,000 in the layer."""
    settings = PredictorConfig.model_validate({"kind": kind, "warm_up": 200, "retrain_every": 300})
    order = build_ordering(settings, LATTICE, seed=5) or Ordering(Shuffled(), 200, 300)
    hunt = FailureAtlasHunt(LATTICE, Wording(CORPUS), images_per_node=10, order=order)
    trials = simulate(hunt, world, 13_000, keep=True).trials
    pairs = [
        subject for subject in dict.fromkeys(trial.subject for trial in trials) if subject.count("; ") == 2
    ]
    assert len(pairs) >= NODES
    failed = {finding.subject for finding in hunt.findings()}
    return sum(subject in failed for subject in pairs[:NODES])


@pytest.mark.parametrize("kind", ["ridge", pytest.param("transformer", marks=pytest.mark.extra("torch"))])
def test_failures_come_sooner(kind: str) -> None:
    """A random order finds about 310 failing nodes in 1,200, give or take 15."""
    worlds = [PlantedWorld(LATTICE, "medium", seed) for seed in WORLDS]
    shuffled = sum(failing_pairs("none", world) for world in worlds)
    ordered = sum(failing_pairs(kind, world) for world in worlds)
    assert ordered > 1.3 * shuffled
