"""The lattice against brute force on small random corpora, and its size and speed on a large one."""

import itertools
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from failscape.errors import ConfigError
from failscape.spaces import Corpus, Entity, Lattice, Node, Value, load_corpus
from tests.counting import calls_of
from tests.unit.spaces.tiny import corpora


def brute_force(corpus: Corpus, depth: int) -> list[Node]:
    """All nodes in the order of their numbers, by the definition."""
    nodes = []
    for layer in range(depth + 1):
        for entity in range(len(corpus.entities)):
            for values in itertools.combinations(range(len(corpus.values)), layer):
                kinds = {corpus.values[value].kind for value in values}
                plausible = all(corpus.allowed[entity, value] for value in values)
                clash = any(corpus.conflicts[a, b] for a, b in itertools.combinations(values, 2))
                if len(kinds) == layer and plausible and not clash:
                    nodes.append(Node(entity, values))
    return nodes


@given(corpora(), st.integers(0, 4))
@settings(max_examples=80, deadline=None)
def test_numbers_neighbours_and_sizes_match_the_definition(corpus: Corpus, depth: int) -> None:
    lattice, expected = Lattice(corpus, depth=depth), brute_force(corpus, depth)
    assert len(lattice) == len(expected)
    assert [lattice.node(i) for i in range(len(lattice))] == expected
    assert [lattice.index(node) for node in expected] == list(range(len(expected)))
    assert [n for layer in range(depth + 1) for n in lattice.nodes(layer)] == expected
    known = set(expected)
    for node in expected:
        assert lattice.parse(lattice.subject(node)) == node
        assert set(lattice.parents(node)) <= known
        children = {n for n in known if len(n.values) == len(node.values) + 1 and node in lattice.parents(n)}
        assert set(lattice.children(node)) == children


@given(corpora())
@settings(max_examples=30, deadline=None)
def test_membership_matches_the_definition(corpus: Corpus) -> None:
    lattice, known = Lattice(corpus, depth=2), set(brute_force(corpus, 2))
    for entity in range(len(corpus.entities)):
        for values in itertools.product(range(len(corpus.values)), repeat=2):
            assert (Node(entity, values) in lattice) == (Node(entity, values) in known)


def test_sampling_is_uniform() -> None:
    lattice = Lattice(load_corpus("starter"), entities=("cat", "house"), families=("Base",), depth=2)
    size = lattice.layer_size(2)
    draws = Counter(lattice.sample(2, 40 * size, np.random.default_rng(0)))
    assert len(draws) == size
    assert stats.chisquare([draws[node] for node in lattice.nodes(2)]).pvalue > 1e-4


def test_entities_and_families_can_be_chosen() -> None:
    corpus = load_corpus("starter")
    sample = Lattice(corpus, entities="sample", families=("Image",), depth=1)
    sub_classes = {(entity.upper_class, entity.sub_class) for entity in corpus.entities}
    assert sample.layer_size(0) == len(sub_classes)
    assert {corpus.values[node.values[0]].family for node in sample.nodes(1)} == {"Image"}


@pytest.mark.parametrize(
    "subject", ["unicorn", "cat; Base: Colour=beige", "cat; Base: Shape=square", "", "cat;"]
)
def test_foreign_subjects_are_refused(subject: str) -> None:
    with pytest.raises(ConfigError, match="no node of this space"):
        Lattice(load_corpus("starter")).parse(subject)


def test_unknown_entities_get_the_nearest_suggested() -> None:
    with pytest.raises(ConfigError, match="did you mean 'penguin'"):
        Lattice(load_corpus("starter"), entities=("pengiun",))
    with pytest.raises(ConfigError, match="no entity is chosen"):
        Lattice(load_corpus("starter"), entities=())


def large_corpus() -> Corpus:
    """As many entities and values as FailureAtlas has, with a random whitelist."""
    entities = tuple(Entity(f"e{i}", f"C{i % 5}", f"S{i % 25}") for i in range(758))
    values = tuple(Value(f"v{i}", "Base", f"K{i % 29:02}") for i in range(437))
    values = tuple(sorted(values, key=lambda value: value.kind))
    rng = np.random.default_rng(1)
    conflicts = np.triu(rng.random((437, 437)) < 0.01, 1)
    return Corpus("large", entities, values, rng.random((758, 437)) < 0.6, conflicts | conflicts.T, (0,))


def test_ten_million_nodes_open_without_being_walked_in_little_memory() -> None:
    corpus = large_corpus()
    tracemalloc.start()
    lattice = Lattice(corpus, depth=2)
    size = len(lattice)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 10_000_000
    assert calls_of(lambda: len(Lattice(corpus, depth=2))) < 200_000
    assert peak < 200e6
    rng = np.random.default_rng(2)
    for index in rng.integers(size, size=200).tolist():
        assert lattice.index(lattice.node(index)) == index
