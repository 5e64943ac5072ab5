"""Counting by arithmetic gives what walking the lattice gives."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from failscape.spaces import Lattice, load_corpus
from failscape.spaces.lattice import NodeCounts

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, entities=("cat", "cup", "house", "tree"), depth=3)
COUNTS = NodeCounts(LATTICE)
NODES = {layer: list(LATTICE.nodes(layer)) for layer in range(4)}


def test_nodes_per_entity_and_value() -> None:
    for layer, nodes in NODES.items():
        walked = np.zeros((4, len(CORPUS.values)), int)
        for node in nodes:
            walked[LATTICE.entities.index(node.entity), list(node.values)] += 1
        assert COUNTS.per_entity(layer).sum() == len(nodes)
        assert (COUNTS.with_value(layer) == walked).all()


@given(st.sets(st.integers(0, len(CORPUS.values) - 1), max_size=12), st.integers(0, 3))
@settings(max_examples=30)
def test_nodes_without_some_values(values, layer) -> None:
    walked = sum(not values.intersection(node.values) for node in NODES[layer])
    assert COUNTS.without(values, layer).sum() == walked


@given(st.sampled_from(NODES[2] + NODES[1]), st.integers(0, 3))
@settings(max_examples=30)
def test_nodes_with_all_of_some_values(node, layer) -> None:
    walked = sum(set(node.values) <= set(other.values) for other in NODES[layer])
    assert COUNTS.with_all(node.values, layer).sum() == walked
