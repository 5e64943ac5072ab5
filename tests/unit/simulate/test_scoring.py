"""Scoring hunts against planted worlds, and the made-up corpora that such worlds stand on."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.simulate.corpus import planted_corpus
from failscape.simulate.planted import SPREADS, PlantedWorld
from failscape.simulate.scoring import Checkpoint, Truth, Watched, watch
from failscape.spaces import Lattice, Node, Wording
from failscape.trials import Finding

CORPUS = planted_corpus(30, 24, 3_000)
LATTICE = Lattice(CORPUS, depth=2)
WORLD = PlantedWorld(LATTICE, "medium", seed=4)


def claim(node: Node, **details: object) -> Finding:
    return Finding(LATTICE.subject(node), "", "", "threshold", 0.5, (0.1, 0.9), 30.0, 10, 5, details=details)


@pytest.mark.parametrize(
    ("entities", "values", "nodes"), [(150, 48, 65_000), (758, 437, 7_000_000), (40, 24, 4_000)]
)
def test_corpora_have_about_the_size_asked_for(entities: int, values: int, nodes: int) -> None:
    corpus = planted_corpus(entities, values, nodes)
    assert (len(corpus.entities), len(corpus.values)) == (entities, values)
    assert len(Lattice(corpus, depth=2)) == pytest.approx(nodes, rel=0.15)
    assert len({entity.sub_class for entity in corpus.entities}) == 25
    assert len({entity.upper_class for entity in corpus.entities}) == 5
    assert {value.family for value in corpus.values} == {"Base", "Background", "Image"}
    assert planted_corpus(entities, values, nodes).digest == corpus.digest


def test_sub_classes_share_what_is_plausible() -> None:
    corpus = planted_corpus(150, 48, 65_000)
    same, other = [], []
    for first, second in itertools.combinations(range(0, 150, 3), 2):
        agree = np.mean(corpus.allowed[first, :40] == corpus.allowed[second, :40])
        kin = corpus.entities[first].sub_class == corpus.entities[second].sub_class
        (same if kin else other).append(agree)
    assert np.mean(same) > np.mean(other) + 0.05


def test_a_narrow_world_has_more_nodes_at_the_threshold() -> None:
    def near(spread: str) -> float:
        world = PlantedWorld(LATTICE, "medium", seed=4, spread=spread)
        rates = world.landscape.rates(list(LATTICE.nodes(1)))
        return float(np.mean(np.abs(rates - 0.8) < 0.08))

    assert set(SPREADS) == {"narrow", "wide"}
    assert near("narrow") > near("wide") > 0
    with pytest.raises(ConfigError, match="no spread"):
        PlantedWorld(LATTICE, "medium", spread="flat")


def test_claims_are_scored_by_the_true_rates() -> None:
    truth = Truth(WORLD)
    minimal = next(node for node in truth.minimal if len(node.values) == 1)
    below = LATTICE.children(minimal)
    failing = next(node for node in below if WORLD.rate(node) < 0.8)
    sound = next(node for node in LATTICE.nodes(1) if WORLD.rate(node) >= 0.8)
    score = truth.score(10, [claim(minimal), claim(failing), claim(sound)])
    assert score == Checkpoint(10, 3, 2, 3, 1)
    assert (score.not_failing, score.not_minimal) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    modest = [claim(minimal), claim(failing, minimal=False)]
    assert truth.score(10, modest) == Checkpoint(10, 2, 2, 1, 1)


def test_what_a_false_claim_closes_off() -> None:
    truth = Truth(WORLD)
    pair = next(node for node in truth.minimal if len(node.values) == 2)
    entity = Node(pair.entity)
    lost = sum(node.entity == pair.entity for node in truth.minimal)
    assert truth.pruned([claim(entity)]) == pytest.approx(lost / len(truth.minimal))
    assert truth.pruned([claim(pair)]) == 0


def test_watching_spends_the_budget_and_looks_at_every_checkpoint() -> None:
    hunt = FailureAtlasHunt(LATTICE, Wording(CORPUS))
    truth = Truth(WORLD)
    watched = watch(hunt, truth, 2_000, in_flight=40, checkpoints=10, shuffle=3)
    assert [point.images for point in watched.checkpoints] == [200 * n for n in range(1, 11)]
    assert watched.images == 2_000
    assert watched.last == truth.score(2_000, hunt.findings())
    assert watched.seconds > 0


def test_watching_ends_with_the_hunt() -> None:
    lattice = Lattice(CORPUS, depth=0)
    hunt = FailureAtlasHunt(lattice, Wording(CORPUS))
    watched = watch(hunt, Truth(PlantedWorld(lattice)), 5_000, checkpoints=5)
    assert hunt.done
    assert watched.images == 25 * 30
    assert len(watched.checkpoints) == 5


def test_the_worst_checkpoint_is_found_among_those_with_enough_claims() -> None:
    early, bad, good = (
        Checkpoint(1, 10, 0, 10, 0),
        Checkpoint(2, 50, 40, 50, 30),
        Checkpoint(3, 90, 90, 90, 90),
    )
    assert Watched([early, bad, good]).worst() == (pytest.approx(0.2), pytest.approx(0.4))
    assert Watched([early]).worst() == (0, 0)
    assert Watched([replace(bad, minimal_claims=49)]).worst() == (pytest.approx(0.2), 0)
