"""Spaces of two things: the lattice against its definition, what parents leave out, and the words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failscape.errors import ConfigError
from failscape.spaces import Corpus, Lattice, Node, Wording, load_corpus
from failscape.spaces.pair_wording import wording_of
from failscape.spaces.pair_words import say_subject_of_two, say_value
from failscape.spaces.pairs import RELATIONS, USUAL_RELATIONS, PairLattice, pair_lattice
from failscape.spaces.wording import Understanding
from failscape.trials import Subject, parse_label
from tests.unit.spaces.tiny import corpora

TOYBOX = load_corpus("toybox")
THINGS = ("cow", "car", "owl", "guitar")


def toy_lattice(depth: int = 3, relations: tuple[str, ...] = USUAL_RELATIONS) -> PairLattice:
    return pair_lattice(TOYBOX, THINGS, ("Base",), depth, relations)


LATTICE = toy_lattice()
WORDING = wording_of(LATTICE.corpus)


def node_of(subject: str) -> Node:
    return LATTICE.parse(subject)


def closure(lattice: PairLattice, node: Node) -> set[Node]:
    above = set(lattice.parents(node))
    return above.union(*(closure(lattice, parent) for parent in above)) if above else above


@given(corpora(), st.integers(0, 3), st.integers(0, 10))
@settings(max_examples=40, deadline=None)
def test_the_lattice_matches_its_definition(corpus: Corpus, depth: int, seed: int) -> None:
    """Counts, numbers and texts by enumeration; parents and children belong together."""
    if len(corpus.entities) < 2:
        return
    relations = tuple(np.random.default_rng(seed).permutation(list(RELATIONS))[:3].tolist())
    lattice = pair_lattice(corpus, "all", ("Base",), depth, relations)
    nodes = [node for layer in range(depth + 1) for node in lattice.nodes(layer)]
    assert len(lattice) == len(nodes) == len(set(nodes))
    assert [lattice.node(number) for number in range(len(nodes))] == nodes
    known = set(nodes)
    for node in nodes[:: max(1, len(nodes) // 150)]:
        assert lattice.parse(lattice.subject(node)) == node
        parents = lattice.parents(node)
        assert known.issuperset(parents)
        assert {len(parent.values) for parent in parents} <= {len(node.values) - 1}
        assert closure(lattice, node) == set(lattice.ancestors(node))
        assert all(node in lattice.parents(child) for child in lattice.children(node))


def test_counts_match_brute_force() -> None:
    corpus = LATTICE.corpus
    chosen = {
        value
        for bits in LATTICE.plausible.values()
        for value in range(len(corpus.values))
        if bits >> value & 1
    }
    count = 0
    for entity in LATTICE.entities:
        for pair in itertools.combinations(sorted(chosen), 2):
            kinds = {corpus.values[value].kind for value in pair}
            plausible = all(corpus.allowed[entity, value] for value in pair)
            count += len(kinds) == 2 and plausible and not corpus.conflicts[pair]
    assert LATTICE.layer_size(2) == count


def test_nodes_of_one_thing_are_what_they_were() -> None:
    """Subjects, captions, checks and parents: keys and exports of one thing do not change."""
    plain, words = Lattice(TOYBOX, THINGS, ("Base",), 2), Wording(TOYBOX)
    for layer in range(3):
        for node in plain.nodes(layer):
            assert node in LATTICE
            assert LATTICE.subject(node) == plain.subject(node)
            assert LATTICE.parents(node) == plain.parents(node)
            assert WORDING.captions(node) == words.captions(node)
            assert WORDING.checks(node) == words.checks(node)


def test_parents_leave_out_an_attribute_the_relation_or_one_of_the_things() -> None:
    node = node_of("cow; Relation: is=left of; Second: thing=car; Second: colour=blue")
    assert {LATTICE.subject(parent) for parent in LATTICE.parents(node)} == {
        "cow; Relation: is=left of; Second: thing=car",
        "cow; Second: thing=car; Second: colour=blue",
        "cow; Relation: is=left of; Second: colour=blue",
        "car; Base: colour=blue; Relation: is=right of",
    }


def test_a_relation_without_a_word_for_the_other_direction_goes_with_the_first_thing() -> None:
    node = node_of("cow; Relation: is=larger than; Second: thing=car")
    found = {LATTICE.subject(one) for one in LATTICE.ancestors(node)}
    assert "car" in found
    assert not any(subject.startswith("car; Relation") for subject in found)
    both_ways = toy_lattice(relations=("larger than", "smaller than"))
    node = both_ways.parse("cow; Relation: is=larger than; Second: thing=car")
    assert both_ways.parse("car; Relation: is=smaller than") in both_ways.parents(node)


def test_the_second_thing_with_its_attributes_must_pass_alone() -> None:
    node = node_of("cow; Base: colour=red; Second: thing=car; Second: colour=blue")
    found = {LATTICE.subject(one) for one in LATTICE.ancestors(node)}
    assert {"cow; Base: colour=red", "car; Base: colour=blue", "car", "cow"} <= found


@pytest.mark.parametrize(
    "subject",
    [
        "cow; Second: thing=cow",
        "cow; Base: count=two; Second: thing=car",
        "cow; Relation: is=larger than; Second: size=small",
        "cow; Base: size=large; Relation: is=larger than",
        "cow; Relation: is=same colour as; Second: colour=red",
    ],
)
def test_what_makes_no_sense_is_no_node(subject: str) -> None:
    with pytest.raises(ConfigError, match="is no node of this space"):
        node_of(subject)


def test_what_is_not_plausible_for_a_thing_is_not_asked_of_it_as_the_second() -> None:
    general = load_corpus("general")
    lattice = pair_lattice(general, "sample", ("Base",), 2)
    rng = np.random.default_rng(0)
    for node in lattice.sample(2, 3_000, rng):
        alone = lattice.without_first(node)
        assert alone is None or all(
            general.allowed[alone.entity, value] for value in alone.values if value < len(general.values)
        )


def test_a_space_of_many_nodes_is_sampled_and_numbered_at_once() -> None:
    lattice = pair_lattice(load_corpus("general"), "sample", ("Base",), 3)
    assert len(lattice) > 10**8
    for node in lattice.sample(3, 200, np.random.default_rng(1)):
        assert lattice.node(lattice.index(node)) == node


# Words


@pytest.mark.parametrize(
    ("subject", "caption", "statements"),
    [
        (
            "cow; Base: colour=red; Relation: is=left of; Second: thing=car",
            "An image of a red cow to the left of a car.",
            [
                "The image shows a cow.",
                "The cow is red.",
                "The cow is to the left of the car.",
                "Beside the cow, the image shows a car as an object of its own.",
            ],
        ),
        (
            "owl; Second: thing=car; Second: colour=blue; Second: size=small",
            "An image of an owl and a small blue car.",
            [
                "The image shows an owl.",
                "Beside the owl, the image shows a car as an object of its own.",
                "The car is blue.",
                "The car is small.",
            ],
        ),
        (
            "owl; Relation: is=above",
            "An image of an owl above another object.",
            ["The image shows an owl.", "The owl is above another object."],
        ),
        (
            "owl; Base: colour=red; Second: colour=blue",
            "An image of a red owl and a blue object.",
            ["The image shows an owl.", "The owl is red.", "Beside the owl, the image shows a blue object."],
        ),
    ],
)
def test_captions_and_checks(subject: str, caption: str, statements: list[str]) -> None:
    node = node_of(subject)
    assert WORDING.caption(node) == caption
    checks = WORDING.checks(node)
    assert [check.statement for check in checks] == statements
    assert not any(check.choices for check in checks), "multiple choice cannot say which of the two is meant"


def test_checks_stand_in_the_order_of_the_values() -> None:
    for node in LATTICE.sample(3, 300, np.random.default_rng(2)):
        kinds = [check.kind for check in WORDING.checks(node)]
        assert kinds == ["entity", *(LATTICE.corpus.values[value].kind for value in node.values)]


def test_captions_can_be_read_back_and_differ_from_each_other() -> None:
    nodes = LATTICE.sample(2, 60, np.random.default_rng(3))
    reader = Understanding(WORDING)
    for node in nodes:
        assert [reader.node(caption) for caption in WORDING.captions(node)] == [node] * WORDING.variants(node)
    node = node_of("cow; Relation: is=left of; Second: thing=car")
    assert "A picture of a cow on the left side of a car." in WORDING.captions(node)


def test_titles_say_which_attribute_is_whose() -> None:
    subject = Subject.parse("cow; Base: colour=red; Second: thing=car; Second: colour=blue")
    assert say_subject_of_two(subject) == "cow (red) and car (blue)"
    assert say_subject_of_two(Subject.parse("owl; Relation: is=above")) == "owl above another object"
    assert say_subject_of_two(Subject.parse("owl; Base: colour=red")) == ""
    assert say_value(parse_label("Second: colour=blue")) == "second blue"
    assert say_value(parse_label("Relation: is=above")) == "above"


# Mistakes


def test_unknown_relations_are_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="there is no relation 'left off'"):
        toy_lattice(relations=("left off",))


def test_one_thing_makes_no_pair() -> None:
    with pytest.raises(ConfigError, match="needs two or more entities, but 1 is chosen"):
        pair_lattice(TOYBOX, ("cow",), ("Base",), 2)
