"""Planted worlds: their shares, their truth, and that all three ways of using them agree."""

import itertools

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.models.registry import create_model
from failscape.pictures import Picture
from failscape.simulate.models import SIDE, Shown, draw, look
from failscape.simulate.planted import REGIMES, SHAPES, PlantedGenerator, PlantedJudge, PlantedWorld, simulate
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.trials import Check, Decide, Generate, Probe

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, depth=2)
WORDING = Wording(CORPUS)


def probe_of(node: Node, number: int) -> Probe:
    steps = (Generate(WORDING.caption(node)), Decide(WORDING.checks(node)))
    return Probe(f"{LATTICE.subject(node)}#{number}", LATTICE.subject(node), steps, number)


@pytest.mark.parametrize("regime", REGIMES)
def test_shares_of_failing_nodes_match_the_regime(regime: str) -> None:
    world = PlantedWorld(LATTICE, regime, seed=5)
    failing, reachable = [0, 0, 0], [0, 0, 0]
    passing: set[Node] = set()
    for layer in range(3):
        nodes = [n for n in LATTICE.nodes(layer) if all(p in passing for p in LATTICE.parents(n))]
        rates = world.landscape.rates(nodes)
        reachable[layer], failing[layer] = len(nodes), int((rates < 0.8).sum())
        passing |= {node for node, rate in zip(nodes, rates, strict=True) if rate >= 0.8}
    wanted = REGIMES[regime]
    assert abs(failing[0] - wanted.entity * reachable[0]) <= 1
    assert failing[1] / reachable[1] == pytest.approx(wanted.one_value, abs=0.01)
    assert failing[2] / reachable[2] == pytest.approx(wanted.two_values, abs=0.03)
    assert len(world.minimal_failures(0.8)) == sum(failing)


@pytest.mark.parametrize("shape", SHAPES)
def test_worlds_of_every_shape_have_the_shares_they_want(shape: str) -> None:
    world = PlantedWorld(LATTICE, "medium", seed=4, shape=shape)
    wanted = world.landscape.wanted
    entities = world.landscape.rates(list(LATTICE.nodes(0)))
    assert np.mean(entities < 0.8) == pytest.approx(wanted.entity, abs=1.5 / len(entities))
    passing = {node for node, rate in zip(LATTICE.nodes(0), entities, strict=True) if rate >= 0.8}
    singles = [node for node in LATTICE.nodes(1) if Node(node.entity, ()) in passing]
    rates = world.landscape.rates(singles)
    assert np.mean(rates < 0.8) == pytest.approx(wanted.one_value, abs=0.01)
    pairs = world.landscape.rates(LATTICE.sample(2, 500, np.random.default_rng(1)))
    assert np.all((pairs > 0) & (pairs < 1))
    assert np.all(world.landscape.rates(Lattice(CORPUS, depth=3).sample(3, 20, np.random.default_rng(1))) > 0)


def test_shapes_are_what_they_are_named_after() -> None:
    worlds = {shape: PlantedWorld(LATTICE, "medium", seed=4, shape=shape) for shape in SHAPES}
    singles = list(LATTICE.nodes(1))
    rates = {shape: world.landscape.rates(singles) for shape, world in worlds.items()}
    assert rates["adversarial"].max() <= 0.85
    entities = worlds["near-miss"].landscape.rates(list(LATTICE.nodes(0)))
    assert 0.74 <= entities.min() < 0.8
    assert np.mean((rates["sparse"] > 0.81) & (rates["sparse"] < 0.95)) < 0.05
    assert np.mean((rates["planted"] > 0.81) & (rates["planted"] < 0.95)) > 0.1
    assert worlds["entity-dominated"].landscape.wanted.entity == 0.4
    with pytest.raises(ConfigError, match="low-rank"):
        PlantedWorld(LATTICE, shape="round")


def test_an_uneven_judge_errs_as_stated_in_the_mean() -> None:
    world = PlantedWorld(LATTICE, "medium", seed=3, accuracy={"*": (0.9, 0.9)}, uneven=(0.1, 0.5))
    words = [(value.kind, value.name) for value in CORPUS.values]
    words += [("entity", entity.name) for entity in CORPUS.entities]
    misread = [world.is_misread(*word) for word in words]
    assert 0 < np.mean(misread) < 0.25
    low, usual = (
        {world.accuracy(*w) for w, m in zip(words, misread, strict=True) if m == it} for it in (1, 0)
    )
    assert low == {(0.5, 0.9)}
    assert {round(accuracy.sensitivity, 4) for accuracy in usual} == {round((0.9 - 0.05) / 0.9, 4)}
    assert world.accuracy("entity") == (0.9, 0.9)
    node = next(n for n in LATTICE.nodes(1) if any(map(world.is_misread, *named(world, n))))
    share = np.mean([world.run(probe_of(node, number)).verdict == "pass" for number in range(1500)])
    assert share == pytest.approx(world.judged_rate(node), abs=0.06)


def named(world: PlantedWorld, node: Node) -> tuple[list[str], list[str]]:
    plan = world.plan(world.lattice.subject(node))
    return plan.kinds, plan.words


def test_minimal_failures_are_what_they_say() -> None:
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Image",), depth=3)
    world = PlantedWorld(lattice, "medium", seed=2)
    found = world.minimal_failures(0.8)
    for node in itertools.chain.from_iterable(lattice.nodes(layer) for layer in range(4)):
        smaller = [v for k in range(len(node.values)) for v in itertools.combinations(node.values, k)]
        sound = all(world.rate(Node(node.entity, values)) >= 0.8 for values in smaller)
        assert (node in found) == (world.rate(node) < 0.8 and sound)
    assert {len(node.values) for node in found} >= {1, 2}


def test_rates_are_seeded_and_need_no_order() -> None:
    nodes = LATTICE.sample(2, 50, np.random.default_rng(1))
    first, again = PlantedWorld(LATTICE, "weak", seed=1), PlantedWorld(LATTICE, "weak", seed=1)
    rates = first.landscape.rates(nodes)
    assert [again.rate(node) for node in reversed(nodes)] == pytest.approx(rates[::-1].tolist())
    assert not np.allclose(PlantedWorld(LATTICE, "weak", seed=2).landscape.rates(nodes), rates)


@pytest.mark.parametrize("noisy", [False, True])
def test_outcomes_have_the_stated_rate(noisy: bool) -> None:
    accuracy = {"entity": (0.96, 0.9), "*": (0.9, 0.84)} if noisy else None
    world = PlantedWorld(LATTICE, "medium", seed=3, accuracy=accuracy)
    for node in LATTICE.sample(2, 4, np.random.default_rng(5)) + LATTICE.sample(
        1, 2, np.random.default_rng(6)
    ):
        trials = [world.run(probe_of(node, number)) for number in range(1500)]
        share = np.mean([t.verdict == "pass" for t in trials])
        expected = world.judged_rate(node)
        assert share == pytest.approx(expected, abs=4.5 * np.sqrt(expected * (1 - expected) / 1500) + 1e-9)
        if not noisy:
            assert expected == pytest.approx(world.rate(node))


def test_failed_images_say_which_check_dropped() -> None:
    world = PlantedWorld(LATTICE, "weak", seed=3)
    node = min(LATTICE.nodes(1), key=world.rate)
    facts = [world.run(probe_of(node, number)).facts[1] for number in range(400)]
    drops = np.array([[not held for held in row] for row in facts if not all(row)]).mean(axis=0)
    weights = np.array(world.landscape.drop_weights(node))
    expected = weights + (1 - weights) * 0.15
    assert drops == pytest.approx(expected, abs=0.12)


async def test_pictures_give_the_same_outcome_as_the_pure_world() -> None:
    world = PlantedWorld(LATTICE, "weak", seed=7, accuracy={"*": (0.9, 0.8)}, undecided=0.2)
    generator, judge = PlantedGenerator(world), PlantedJudge(world)
    probes = [probe_of(n, i) for i, n in enumerate(LATTICE.sample(2, 150, np.random.default_rng(2)))]
    prompts = [probe.steps[0].prompt for probe in probes]  # type: ignore[union-attr]
    drawn = await generator.generate(prompts, [probe.seed for probe in probes])
    pictures = [reply.value for reply in drawn if reply.value]
    judged = await judge.judge(pictures, [probe.steps[1].checks for probe in probes])  # type: ignore[union-attr]
    for probe, reply in zip(probes, judged, strict=True):
        trial = world.run(probe)
        assert reply.value == trial.facts[1]
        assert (trial.verdict == "invalid") == (reply.value is None)


def test_pictures_differ_by_seed_and_carry_facts_losslessly() -> None:
    generator = PlantedGenerator(corpus="starter", seed=1)
    same = [generator.draw("An image of a cat.", 5).digest for _ in range(2)]
    assert same[0] == same[1] != generator.draw("An image of a cat.", 6).digest
    shown = Shown(123, 2**63 + 5, 7, (3, 65535))
    picture = draw(shown)
    assert picture.image.size == (SIDE, SIDE)
    assert look(picture) == shown
    assert look(Picture.from_image(picture.image)) == shown
    assert look(Picture.from_image(picture.image, "JPEG")) is None


def test_foreign_captions_and_pictures_are_survived() -> None:
    world = PlantedWorld(LATTICE)
    picture = PlantedGenerator(world).draw("a spaceship made of cheese", 1)
    checks = [Check("entity", "cat", ""), Check("Base: Colour", "red", "")]
    decided = PlantedJudge(world).decide(picture, checks)
    assert decided.value is not None
    assert not decided.value[1]
    foreign = PlantedJudge(corpus="toybox").decide(picture, checks)
    assert foreign.value is None
    assert "no facts" in foreign.invalid


def test_the_python_provider_takes_them_as_they_are() -> None:
    for role in ("generator", "judge"):
        path = f"failscape.simulate.planted:Planted{role.capitalize()}"
        params = {"corpus": "starter", "regime": "weak", "seed": 4}
        model = create_model(role, ModelConfig(provider="python", path=path, params=params))
        assert model.identity.role == role
        assert model.identity.settings["regime"] == "weak"


def test_simulate_spends_no_more_than_it_may() -> None:
    world = PlantedWorld(LATTICE, "medium", seed=1)
    hunt = FailureAtlasHunt(LATTICE, WORDING)
    done = simulate(hunt, world, 333, in_flight=50, keep=True)
    assert done.images == len(done.trials) == 333
    assert done.in_flight == []


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="no regime"):
        PlantedWorld(LATTICE, "hopeless")
    with pytest.raises(ConfigError, match="too many to enumerate"):
        PlantedWorld(Lattice(CORPUS, depth=4)).minimal_failures()
