"""Hunts over two things: what a node rests on, what is found of planted weaknesses, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from failscape.errors import ConfigError
from failscape.kinds.t2i.build import build_hunt, build_lattice
from failscape.kinds.t2i.config import T2IConfig
from failscape.kinds.t2i.plan import _space
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.search.standing import Standing
from failscape.search.belief.nodes import Nodes
from failscape.testing.exam.pair_worlds import PairWorld, mark_pairs
from failscape.toybox.pair_painter import WEAKNESSES
from failscape.trials import Subject

SPACE: dict[str, Any] = {
    "corpus": "toybox",
    "entities": ["cow", "penguin", "owl", "car", "butterfly", "teapot", "umbrella", "guitar"],
    "families": ["Base"],
    "pairs": True,
    "relations": ["left of", "right of", "above", "below", "larger than"],
}


def config(**changes: Any) -> T2IConfig:
    toy = {"provider": "toybox"}
    settings = {"hunt": "t2i", "target": toy, "judge": toy, "space": {**SPACE, **changes.pop("space", {})}}
    return T2IConfig.model_validate({**settings, **changes})


def planted_world() -> PairWorld:
    """The weaknesses that ship with pair-painter, over the things of the example."""
    world = PairWorld(0)
    world.lattice = build_lattice(config())  # type: ignore[assignment]
    world.wording = build_hunt(config()).prompting.wording  # type: ignore[attr-defined]
    world.weaknesses = WEAKNESSES
    return world


def test_the_ledger_knows_all_that_a_node_rests_on() -> None:
    lattice = build_lattice(config(space={"depth": 3}))
    ledger = Ledger(lattice)
    for node in lattice.sample(3, 400, np.random.default_rng(0)):
        key = (ledger.place_of[node.entity], *node.values)
        found = {(lattice.entities[one[0]], one[1:]) for one in ledger.ancestors_of(key)}
        assert found == set(lattice.ancestors(node))


@pytest.mark.parametrize("layer", [1, 2])
def test_many_pairs_are_weighed_as_one_is(layer: int) -> None:
    lattice = build_lattice(config())
    ledger = Ledger(lattice)
    rng = np.random.default_rng(3)
    shape = (len(lattice.entities), len(lattice.corpus.values))
    passes, prices = (rng.random(shape[0]), rng.random(shape)), (rng.random(shape[0]), rng.random(shape))
    standing = Standing(passes, prices, ledger.ancestors_of, ledger.reflection)
    nodes = lattice.sample(layer, 300, rng)
    keys = [(ledger.place_of[node.entity], *node.values) for node in nodes]
    for key in keys[::9]:
        standing.put(ledger.ancestors_of(key)[-1], 0.9, 4.0, settled=True, dead=key[-1] % 5 == 0)
    many = Nodes(np.array([key[0] for key in keys]), np.array([key[1:] for key in keys]))
    chance, cost, dead = standing.weigh_all(layer, many)
    for row, key in enumerate(keys):
        alone = standing.weigh(key)
        assert dead[row] == alone[2]
        if not dead[row]:
            assert (chance[row], cost[row]) == (pytest.approx(alone[0]), pytest.approx(alone[1]))


@pytest.fixture(scope="module")
def hunt() -> CertifiedHunt:
    """One hunt of the painter with planted weaknesses."""
    world = planted_world()
    hunt = CertifiedHunt(world.lattice, world.wording, CertifiedSettings(images=4000), seed=7)
    mark_pairs(world, hunt, 4000, seed=7)
    return hunt


def test_a_hunt_finds_what_is_planted_and_blames_the_right_part(hunt: CertifiedHunt) -> None:
    """Swapped colours need two colours, lost things need two things, and a guitar fails by itself."""
    truth = planted_world().minimal_failures()
    found = {finding.subject for finding in hunt.findings()}
    assert len(truth) == 25
    assert len(found & truth.keys()) > len(truth) / 2
    assert len(found - truth.keys()) <= 0.05 * len(found), found - truth.keys()
    assert "guitar" in found
    assert not any("thing=guitar" in one for one in found), "it fails alone, so no pair with it is minimal"
    kinds = {Subject.parse(subject).kinds for subject in found & truth.keys()}
    assert {("Base: colour", "Second: colour"), ("Relation: is",), ("Second: thing",), ()} <= kinds


def test_findings_show_both_things_alone_as_parents(hunt: CertifiedHunt) -> None:
    found = [one for one in hunt.findings() if Subject.parse(one.subject).kinds == ("Second: thing",)]
    assert found
    for finding in found:
        subject = Subject.parse(finding.subject)
        second = subject.values[0].value
        assert finding.title == f"{subject.name} and {second}"
        assert [parent["subject"] for parent in finding.parents] == [subject.name, second]
        assert finding.details_data["blamed"]["check"] == f"Second thing “{second}”"


def test_random_worlds_of_pairs_are_searched_soundly() -> None:
    """Nothing that passes is claimed; what is claimed is minimal but for the share that the level allows."""
    marks = []
    for seed in (500, 501):
        world = PairWorld(seed)
        searched = CertifiedHunt(world.lattice, world.wording, CertifiedSettings(images=3000), seed=seed)
        marks.append(mark_pairs(world, searched, 3000, seed))
    claims = sum(mark.claims for mark in marks)
    assert claims > 0
    assert sum(mark.failing for mark in marks) == claims
    assert claims - sum(mark.minimal for mark in marks) <= 0.05 * claims


def test_a_plan_tells_how_many_nodes_have_two_things() -> None:
    lattice = build_lattice(config())
    own = lattice.corpus.own  # type: ignore[attr-defined]
    nodes = [node for layer in range(3) for node in lattice.nodes(layer)]
    two_things = sum(any(value >= own for value in node.values) for node in nodes)
    text = " ".join(_space(lattice, 4000))
    assert f"{len(nodes):,} nodes in all, {two_things:,} of them with two things" in text


def test_a_space_of_one_thing_is_recorded_as_it_was() -> None:
    """So that hunts of earlier versions go on: their settings do not change."""
    assert not {"pairs", "relations"} & config(space={"pairs": False}).model_dump()["space"].keys()
    recorded = config().model_dump(mode="json")["space"]
    assert (recorded["pairs"], recorded["relations"]) == (True, SPACE["relations"])


# Mistakes


def test_shards_and_baselines_are_refused() -> None:
    with pytest.raises(ConfigError, match="a space of pairs cannot be split, but shard 1/2"):
        build_hunt(config(), shard=(0, 2))
    with pytest.raises(ConfigError, match="looks at one thing at a time"):
        build_hunt(config(search={"strategy": "failureatlas"}))


def test_unknown_relations_and_prompt_lists_are_refused() -> None:
    with pytest.raises(ValidationError, match="there is no relation 'left'"):
        config(space={"relations": ["left"]})
    with pytest.raises(ValidationError, match="takes no `prompts`"):
        config(space={"prompts": "prompts.jsonl"})
