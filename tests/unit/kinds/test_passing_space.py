"""What is said of a space in which little fails, and that it is said of no other."""

import numpy as np
import pytest

from failscape.kinds.t2i.page_trust import trust_boxes
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.passing import passing_space
from failscape.kinds.t2i.survey.survey import T2ISurvey
from failscape.spaces import Lattice, Node, load_corpus

LATTICE = Lattice(load_corpus("starter"), depth=1)
ENTITIES = {Node(entity): TriedCounts(100, 0) for entity in LATTICE.entities}


def panel_of(rate: float, seed: int, nodes: int = 60) -> dict[Node, TriedCounts]:
    """Panel nodes of both layers, all with the same success rate."""
    rng = np.random.default_rng(seed)
    chosen = [node for layer in range(2) for node in LATTICE.sample(layer, nodes, rng)]
    passes = rng.binomial(4, rate, len(chosen))
    return {node: TriedCounts(int(p), 4 - int(p)) for node, p in zip(chosen, passes, strict=True)}


def test_a_space_that_passes_is_bounded_and_more_images_bound_it_better() -> None:
    small = passing_space(LATTICE, panel_of(1.0, 0), ENTITIES, 0.8)
    large = passing_space(LATTICE, panel_of(1.0, 0, 300), ENTITIES, 0.8)
    assert small is not None
    assert large is not None
    assert 0 < large.requests_at_most < small.requests_at_most <= 0.2
    assert large.nodes_at_most == pytest.approx(large.requests_at_most / 0.2)
    assert 0 < large.entity_at_most < 0.2
    assert "With 95% confidence at most" in large.sentence
    (box,) = trust_boxes(T2ISurvey(passing=large), None, None, False)
    assert box.says == large.sentence


def test_the_bound_of_requests_holds() -> None:
    found = [passing_space(LATTICE, panel_of(0.95, seed, 200), ENTITIES, 0.8) for seed in range(40)]
    assert sum(one is not None for one in found) > 30
    assert all(one.requests_at_most >= 0.05 for one in found if one is not None)


def test_nothing_is_said_of_a_space_that_fails_or_that_nobody_looked_at() -> None:
    assert passing_space(LATTICE, panel_of(0.5, 1, 200), ENTITIES, 0.8) is None
    assert passing_space(LATTICE, {}, ENTITIES, 0.8) is None
    some = dict(list(ENTITIES.items())[1:])
    assert passing_space(LATTICE, panel_of(1.0, 0, 300), some, 0.8) is None
