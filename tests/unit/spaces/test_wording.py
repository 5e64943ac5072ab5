"""Captions read like English, checks carry good distractors, and captions can be understood again."""

import json
from pathlib import Path

import numpy as np
import pytest

from failscape.spaces import Lattice, Wording, load_corpus
from failscape.spaces.wording import Understanding, plural_of, with_article
from tests.unit.spaces.tiny import write_corpus


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("apple", "an apple"),
        ("cat", "a cat"),
        ("unicorn", "a unicorn"),
        ("umbrella", "an umbrella"),
        ("uninhabited island", "an uninhabited island"),
        ("hourglass", "an hourglass"),
        ("house", "a house"),
        ("one-way street", "a one-way street"),
        ("ukulele", "a ukulele"),
        ("x-ray machine", "an x-ray machine"),
        ("two cats", "two cats"),
        ("one cat", "one cat"),
        ("3 cats", "3 cats"),
    ],
)
def test_articles(phrase: str, expected: str) -> None:
    assert with_article(phrase) == expected


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("cat", "cats"),
        ("bus", "buses"),
        ("cherry", "cherries"),
        ("toy", "toys"),
        ("knife", "knives"),
        ("sheep", "sheep"),
        ("fireman", "firemen"),
        ("sailing boat", "sailing boats"),
        ("wooden box", "wooden boxes"),
        ("cactus", "cacti"),
        ("human", "humans"),
    ],
)
def test_plurals(noun: str, expected: str) -> None:
    assert plural_of(noun) == expected


@pytest.mark.parametrize(
    ("subject", "caption"),
    [
        ("elephant", "An image of an elephant."),
        ("cat; Base: Count=three; Base: Colour=orange", "An image of three orange cats."),
        ("apple; Base: Size=huge; Base: Colour=red", "An image of a huge red apple."),
        ("sheep; Base: Count=two", "An image of two sheep."),
        ("chair; Base: Colour=orange; Background: Place=beach", "An image of an orange chair on a beach."),
        (
            "cat; Base: Material=glass; Image: Style=oil painting",
            "An oil painting of a cat made of glass.",
        ),
        (
            "cat; Base: Material=glass; Base: Action=running",
            "An image of a cat made of glass running.",
        ),
        (
            "dog; Background: Weather=rain; Image: Tone=sepia",
            "An image of a dog in the rain, in sepia.",
        ),
    ],
)
def test_canonical_captions(subject: str, caption: str) -> None:
    corpus = load_corpus("starter")
    assert Wording(corpus).caption(Lattice(corpus).parse(subject)) == caption


@pytest.mark.parametrize(
    ("subject", "captions"),
    [
        ("cat", ["An image of a cat.", "A picture of a cat.", "A cat."]),
        (
            "cat; Base: Count=two; Base: Colour=red",
            [
                "An image of two red cats.",
                "A picture of two cats. The cats are red.",
                "Two cats. The colour of the cats is red.",
            ],
        ),
        (
            "cup; Image: Style=oil painting",
            [
                "An oil painting of a cup.",
                "A picture of a cup, painted in oils.",
                "An image of a cup, painted in oils.",
                "A cup, painted in oils.",
            ],
        ),
    ],
)
def test_variants_say_the_same_in_other_words(subject: str, captions: list[str]) -> None:
    corpus = load_corpus("starter")
    wording, node = Wording(corpus), Lattice(corpus).parse(subject)
    assert list(wording.captions(node)) == captions
    assert wording.variants(node) == len(captions)
    assert [wording.caption(node, number) for number in range(2 * len(captions))] == captions * 2


@pytest.mark.parametrize("name", ["starter", "toybox", "general"])
def test_variants_differ_and_are_few(name: str) -> None:
    corpus = load_corpus(name)
    wording, lattice = Wording(corpus), Lattice(corpus, depth=2)
    for layer in range(3):
        for node in lattice.sample(layer, 200, np.random.default_rng(9)):
            captions = wording.captions(node)
            assert captions[0] == wording.caption(node)
            assert 3 <= len(captions) == len(set(captions)) <= 12


def test_checks_start_with_the_entity_and_offer_distractors() -> None:
    corpus = load_corpus("starter")
    wording, lattice = Wording(corpus), Lattice(corpus, depth=3)
    node = lattice.parse("cat; Base: Count=two; Base: Colour=red; Image: Style=cartoon")
    entity, count, colour, style = wording.checks(node)
    assert (entity.kind, entity.value, entity.statement) == ("entity", "cat", "The image shows cats.")
    assert set(entity.choices) >= {"dog", "rabbit"}
    assert count.statement == "There are exactly two cats in the image."
    assert (colour.kind, colour.statement) == ("Base: Colour", "The cats are red.")
    assert style.statement == "The image is a cartoon of cats."
    for check in (entity, count, colour, style):
        assert check.value not in check.choices
        assert len(set(check.choices)) == len(check.choices) <= 5


def test_every_shipped_node_has_a_caption_of_its_own() -> None:
    for name in ("starter", "toybox"):
        corpus = load_corpus(name)
        wording, lattice = Wording(corpus), Lattice(corpus, depth=2)
        nodes = lattice.sample(2, 1500, np.random.default_rng(0)) + list(lattice.nodes(1))
        captions = {wording.caption(node): node for node in nodes}
        assert len(captions) == len(set(nodes))
        assert not any("{" in caption or "  " in caption for caption in captions)


def test_captions_and_statements_are_understood_again() -> None:
    for name in ("starter", "toybox"):
        corpus = load_corpus(name)
        wording, lattice = Wording(corpus), Lattice(corpus, depth=3)
        understanding, rng = Understanding(wording), np.random.default_rng(4)
        for layer in range(4):
            for node in lattice.sample(layer, 60, rng):
                for caption in wording.captions(node):
                    assert understanding.node(caption) == node
                for check in wording.checks(node):
                    found = understanding.check(check.statement)
                    assert found is not None
                    assert (found.kind, found.value) == (check.kind, check.value)
    assert understanding.node("something else entirely") is None
    assert understanding.check("It is Tuesday.") is None


def test_corpora_without_wording_read_like_failureatlas(tmp_path: Path) -> None:
    entities = {"Food": {"Fruit": ["Apple", "Orange"]}}
    base, back = {"Colors": ["Red", "Green"], "Ripeness": ["Raw", "Ripe"]}, {"Time/Period": ["Night", "Noon"]}
    files = {"entities": entities, "attributes_base": base, "attributes_background": back}
    corpus = load_corpus(write_corpus(tmp_path, **files))
    node = Lattice(corpus, depth=3).parse("Apple; Base: Colors=Red; Background: Time/Period=Night")
    assert Wording(corpus).caption(node) == "An image of a red apple. The background time is night."
    unusual = Lattice(corpus).parse("Orange; Base: Ripeness=Ripe")
    assert Wording(corpus).caption(unusual) == "An image of an orange. The ripeness of the orange is ripe."


def test_entities_may_state_article_and_plural(tmp_path: Path) -> None:
    rows = [{"name": "scissors", "plural": "scissors", "article": ""}, {"name": "moon", "article": "the"}]
    corpus = load_corpus(write_corpus(tmp_path, entities=json.loads(json.dumps({"A": {"B": rows}}))))
    wording, lattice = Wording(corpus), Lattice(corpus)
    assert wording.caption(lattice.parse("scissors; Base: Colour=red")) == "An image of red scissors."
    assert wording.checks(lattice.parse("scissors; Base: Colour=red"))[1].statement == "The scissors are red."
    assert wording.caption(lattice.parse("moon; Base: Colour=red")) == "An image of the red moon."
