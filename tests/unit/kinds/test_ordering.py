"""A predictor chooses which nodes of a layer come first; everything else stays as the rule has it."""

from collections.abc import Sequence

import numpy as np
import pytest

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.baselines.lanes import Ordering
from failscape.kinds.t2i.baselines.predictors import RidgePredictor
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Probe, Trial

CORPUS = load_corpus("starter")
WORDING = Wording(CORPUS)
SMALL = Lattice(CORPUS, entities=("cat", "cup", "house"), families=("Base",), depth=2)
WORLD = PlantedWorld(SMALL, "medium", seed=3, undecided=0.1)


class Diviner:
    """Knows the true rates, and counts how often it is asked to learn."""

    def __init__(self, world: PlantedWorld) -> None:
        self.world = world
        self.fits: list[int] = []

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None:
        self.fits.append(len(nodes))

    def predict(self, nodes: Sequence[Node]) -> np.ndarray:
        return np.array([self.world.rate(node) for node in nodes])


def make(
    predictor: object, warm_up: int = 20, retrain_every: int = 15, **settings: object
) -> FailureAtlasHunt:
    order = Ordering(predictor, warm_up, retrain_every)  # type: ignore[arg-type]
    return FailureAtlasHunt(SMALL, WORDING, **{"images_per_node": 5, "order": order, **settings})  # type: ignore[arg-type]


def opened(hunt: FailureAtlasHunt, images: int = 10**6) -> list[Node]:
    """The nodes in the order in which they were first asked for."""
    trials = simulate(hunt, WORLD, images, in_flight=7, keep=True).trials
    return [SMALL.parse(subject) for subject in dict.fromkeys(trial.subject for trial in trials)]


class TestOrderedByLayer(HuntSuite):
    images = 1_500

    def make_hunt(self) -> FailureAtlasHunt:
        return make(RidgePredictor(CORPUS))

    def run(self, probe: Probe) -> Trial:
        return WORLD.run(probe)


class TestOrderedByEntity(TestOrderedByLayer):
    def make_hunt(self) -> FailureAtlasHunt:
        return make(RidgePredictor(CORPUS), traversal="entity", batch_nodes=3)


class TestOrderedToTheEnd(TestOrderedByLayer):
    images = 100_000


@pytest.mark.parametrize("traversal", ["layer", "entity"])
def test_order_changes_neither_the_nodes_nor_the_findings(traversal: str) -> None:
    plain = FailureAtlasHunt(SMALL, WORDING, images_per_node=5, traversal=traversal)
    guided = make(RidgePredictor(CORPUS), traversal=traversal)
    in_plain_order, in_guided_order = opened(plain), opened(guided)
    assert in_plain_order != in_guided_order
    assert sorted(in_plain_order) == sorted(in_guided_order)
    assert plain.findings() == guided.findings()


def test_the_lowest_prediction_comes_first_after_the_warm_up() -> None:
    diviner = Diviner(WORLD)
    nodes = opened(make(diviner, warm_up=30, retrain_every=10_000, batch_nodes=1))
    singles = [node for node in nodes if len(node.values) == 1]
    pairs = [node for node in nodes if len(node.values) == 2]
    assert singles[:20] == sorted(singles[:20]), "the warm-up keeps the plain order"
    rates = [round(WORLD.rate(node), 6) for node in pairs]
    assert rates == sorted(rates)
    assert diviner.fits == [30]


def test_retraining_comes_every_so_many_nodes() -> None:
    diviner = Diviner(WORLD)
    opened(make(diviner, warm_up=20, retrain_every=15, batch_nodes=1), images=500)
    assert diviner.fits[:4] == [20, 35, 50, 65]


def test_a_resumed_hunt_learns_once_and_a_watched_one_never() -> None:
    trials = simulate(make(Diviner(WORLD)), WORLD, 1_000, keep=True).trials
    diviner = Diviner(WORLD)
    resumed = make(diviner)
    for trial in trials:
        resumed.tell(trial)
        resumed.progress()
    assert resumed.findings()
    assert not resumed.done
    assert diviner.fits == []
    resumed.ask(500)
    assert len(diviner.fits) == 1


@pytest.mark.parametrize("traversal", ["layer", "entity"])
def test_a_resumed_hunt_goes_on_in_the_same_order(traversal: str) -> None:
    """What has images goes first, then what had none yet, just as in the run that was cut off."""
    whole = make(RidgePredictor(CORPUS), traversal=traversal, batch_nodes=1)
    trials = simulate(whole, WORLD, 903, in_flight=1, keep=True).trials
    resumed = make(RidgePredictor(CORPUS), traversal=traversal, batch_nodes=1)
    for trial in trials:
        resumed.tell(trial)
    follow = [simulate(hunt, WORLD, 300, in_flight=1, keep=True).trials for hunt in (whole, resumed)]
    assert [trial.key for trial in follow[0]] == [trial.key for trial in follow[1]]


def test_ridge_learns_what_fails() -> None:
    nodes = [node for layer in range(3) for node in SMALL.nodes(layer)]
    rates = [WORLD.rate(node) for node in nodes]
    predictor = RidgePredictor(CORPUS)
    predictor.fit(nodes[::2], rates[::2])
    guesses = predictor.predict(nodes[1::2])
    assert ((guesses > 0) & (guesses < 1)).all()
    assert np.corrcoef(guesses, rates[1::2])[0, 1] > 0.5
    again = RidgePredictor(CORPUS)
    again.fit(nodes[1::2], rates[1::2])
    again.fit(nodes[::2], rates[::2])
    assert (again.predict(nodes) == predictor.predict(nodes)).all(), "what was learnt before is forgotten"


def test_settings_that_cannot_work() -> None:
    with pytest.raises(ConfigError, match="warm_up and retrain_every must be at least 1"):
        Ordering(Diviner(WORLD), 0, 10)


def test_scores_of_a_hunt_told_again_come_from_what_was_settled_before() -> None:
    trials = simulate(make(RidgePredictor(CORPUS)), WORLD, 800, in_flight=7, keep=True).trials
    again = make(RidgePredictor(CORPUS))
    for trial in trials:
        again.tell(trial)
    scores = again.predicted()
    subjects = list(dict.fromkeys(trial.subject for trial in trials))
    assert set(scores) < set(subjects), "nodes of the warm-up have none"
    assert not set(scores) & set(subjects[:20])
    assert all(0 <= score <= 1 for score in scores.values())
    true = [WORLD.rate(SMALL.parse(subject)) for subject in scores]
    assert np.corrcoef(true, list(scores.values()))[0, 1] > 0.2, "it learnt something"
    cut = next(at for at, trial in enumerate(trials) if trial.subject == list(scores)[-1])
    early = make(RidgePredictor(CORPUS))
    for trial in trials[: cut + 1]:
        early.tell(trial)
    assert early.predicted() == scores, "what came later changes nothing"
