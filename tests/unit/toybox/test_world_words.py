"""Words: captions read well, stay inside the vocabulary, and can be read back exactly."""

import json

import numpy as np
import pytest
from tools.toybox_training.build_corpus import corpus_files

from failscape.spaces import Lattice, Wording, load_corpus
from failscape.spaces.corpus import folder_of
from failscape.toybox import world


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        (world.Attributes("apple"), "an apple"),
        (world.Attributes("owl", size="large"), "a large owl"),
        (world.Attributes("cow", colour="orange"), "an orange cow"),
        (world.Attributes("cactus", count="two", colour="pink"), "two pink cacti"),
        (
            world.Attributes("apple", "red", "three", place="beach", time="sunset", style="sketch"),
            "three red apples on a beach at sunset, as a sketch",
        ),
        (world.Attributes("teddy bear", position="left"), "a teddy bear, on the left"),
    ],
)
def test_canonical_wording(attributes: world.Attributes, text: str) -> None:
    assert world.caption(attributes) == text


def test_captions_can_be_read_back() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        scene = world.sample_scene(rng, vary=0.5)
        expected = {"entity": scene.attributes.entity, **scene.attributes.special()}
        assert world.parse_caption(world.caption(scene)) == expected
        assert world.parse_caption(world.caption(scene, rng)) == expected


def test_every_mention_can_be_read_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        attributes = world.sample_attributes(rng, vary=0.5)
        mention = [name for name in world.ATTRIBUTES if rng.random() < 0.5]
        text = world.caption(attributes, rng, mention)
        assert world.parse_caption(text) == {
            "entity": attributes.entity,
            **world.mentioned(attributes, mention),
        }


def test_defaults_can_be_said_aloud() -> None:
    text = world.caption(world.Attributes("cow"), mention=world.ATTRIBUTES)
    assert text == "one cow in a studio by day, in the centre, as a plain photo"


def test_unknown_mentions_are_refused() -> None:
    with pytest.raises(ValueError, match="mood"):
        world.caption(world.Attributes("cow"), mention=["mood"])


def test_there_are_several_wordings() -> None:
    scene = world.build_scene(world.Attributes("cow", place="beach", time="night", style="sketch"))
    assert len({world.caption(scene, np.random.default_rng(i)) for i in range(60)}) > 10


def test_layout_captions_name_every_thing() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        scene = world.sample_layout(rng)
        parsed = world.parse_caption(world.caption(scene, rng))
        named = parsed.get("things", [parsed])
        total = sum(["one", "two", "three", "four", "five"].index(t.get("count", "one")) + 1 for t in named)
        assert total == len(scene.things)
        assert {t["entity"] for t in named} == {thing.entity for thing in scene.things}


def test_all_texts_stay_inside_the_vocabulary() -> None:
    rng = np.random.default_rng(3)
    words = set(world.vocabulary())
    for _ in range(1000):
        for scene in (world.sample_scene(rng, vary=0.6), world.sample_layout(rng)):
            text = f"{world.caption(scene, rng)} {world.describe(scene)}"
            assert set(world.tokens(text)) <= words
            assert set(text) <= set("abcdefghijklmnopqrstuvwxyz ,.")


def test_descriptions_are_several_true_sentences() -> None:
    scene = world.build_scene(world.Attributes("cow", "red", "two", place="beach"))
    assert world.describe(scene) == (
        "there are two cows. the cows are red. the cows are in the centre. the cows are on a beach. "
        "the picture is by day. the picture is shown as a plain photo."
    )


def test_parsing_forgives_other_word_orders() -> None:
    assert world.parse_caption("Two cow, green, at the beach.") == {
        "entity": "cow",
        "count": "two",
        "colour": "green",
        "place": "beach",
    }
    assert world.parse_caption("nothing known") == {}


def test_shipped_corpus_agrees_with_the_world() -> None:
    folder = folder_of("toybox")
    shipped = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    assert shipped == corpus_files()


def test_every_caption_of_the_corpus_is_understood_by_the_world() -> None:
    """toy-painter knows only the world's words, so every variant must keep to them."""
    corpus = load_corpus("toybox")
    wording, lattice = Wording(corpus), Lattice(corpus, depth=3)
    words, varied = {*world.vocabulary()}, 0
    nodes = [*lattice.nodes(1), *lattice.sample(3, 1000, np.random.default_rng(0))]
    for node in nodes:
        expected = {corpus.values[value].sub_category: corpus.values[value].name for value in node.values}
        captions = wording.captions(node)
        varied += len(captions)
        for caption in captions:
            assert set(world.tokens(caption)) <= words, caption
            assert world.parse_caption(caption) == {
                "entity": corpus.entities[node.entity].name,
                **expected,
            }, caption
    assert varied >= 3 * len(nodes)


def test_conflicts_use_known_values() -> None:
    for pair in world.CONFLICTS:
        assert all(value in world.MENTIONABLE[name] for name, value in pair)
    assert world.conflicts_in({"style": "sepia", "colour": "red", "entity": "cow"})
    assert not world.conflicts_in({"style": "sepia", "place": "beach"})
