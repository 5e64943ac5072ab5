"""What a corpus knows of captions, how large it is, and what is odd about it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.cli import cli
from failscape.spaces import load_corpus
from failscape.spaces.corpus.census import CaptionCoverage, CoverageCounter, oddities, take_census
from tests.unit.spaces.tiny import ENTITIES, write_corpus


def cover(folder: Path, *captions: str) -> CaptionCoverage:
    counter = CoverageCounter(load_corpus(write_corpus(folder)))
    for caption in captions:
        counter.add(caption)
    return counter.coverage


def test_known_and_unknown_words_are_told_apart(tmp_path: Path) -> None:
    found = cover(tmp_path, "A red cat on a beach.", "two green quokkas, sleeping in a box", "fog")
    assert (found.captions, found.with_entity, found.with_value, found.with_both) == (3, 1, 2, 1)
    assert found.known_things == 1
    assert found.known_attributes == 3  # red, beach, two
    assert dict(found.unknown_things) == {"quokkas": 1, "box": 1, "fog": 1}
    assert dict(found.unknown_attributes) == {"green": 1, "sleeping": 1}
    assert found.things_share == 1 / 4
    assert found.attributes_share == 3 / 5


def test_words_joined_by_a_hyphen_are_one_phrase_and_marks_end_one(tmp_path: Path) -> None:
    found = cover(tmp_path, "a photo of a wide-eyed lemur, shiny")
    assert dict(found.unknown_attributes) == {"wide": 1, "eyed": 1}
    assert dict(found.unknown_things) == {"lemur": 1, "shiny": 1}


def test_captions_about_nothing_have_no_share(tmp_path: Path) -> None:
    found = cover(tmp_path, "", "a picture of it")
    assert found.things_share is None
    assert found.attributes_share is None


def test_the_census_counts_nodes_and_pairs(tmp_path: Path) -> None:
    match = {"Animals": {"Pets": {"cat": {"Colour": ["red"]}}}}
    census = take_census(load_corpus(write_corpus(tmp_path, match=match)), depth=1)
    assert (census.classes, census.sub_classes, census.entities, census.sample) == (2, 3, 4, 3)
    assert census.values == {"Base": 4, "Background": 2, "Image": 0, "Text": 0}
    assert census.plausible == 13 / 16
    assert census.layers == (4, 13 + 8)


def test_oddities_are_named_but_allowed(tmp_path: Path) -> None:
    entities = {"Animals": {"Cat": ["cat", "cats", "red"]}, "B": {"C": ["thing"]}}
    match = {"Animals": {"Cat": {"*": {}}}, "B": {"C": {"*": {"Colour": ["red"]}}}}
    files = {"entities": entities, "match": match, "attribute_base": {}, "attributes_background": None}
    folder = write_corpus(tmp_path, **files, conflicts=[["Colour=red", "Colour=blue"]])
    notes = "\n".join(oddities(load_corpus(folder), tmp_path))
    for part in (
        "not read: 'attribute_base.json'",
        "named like its own class: 'cat'",
        "as one and as many: 'cat'",
        "both entity and value: 'red'",
        "take no value at all: 'cat', 'cats', 'red'",
        "plausible for no entity: 'Base: Colour=blue'",
        "1 conflicts join values of one sub-category",
    ):
        assert part in notes


def test_shipped_corpora_have_no_oddities() -> None:
    from failscape.spaces.corpus import corpus_names, folder_of

    assert {name: oddities(load_corpus(name), folder_of(name)) for name in corpus_names()} == {
        name: [] for name in corpus_names()
    }


def test_the_command_prints_sizes_and_coverage(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    captions = tmp_path / "captions.csv"
    captions.write_text("id,alt\n1,a red cat\n2,a zebra\n")
    options = ["corpus", "check", folder, "--captions", str(captions), "--field", "alt"]
    text = CliRunner().invoke(cli, options).output
    assert "no mistakes" in text
    assert "50.0%" in text
    assert "zebra 1" in text
    data = json.loads(CliRunner().invoke(cli, [*options, "--json"]).output)
    assert data["entities"] == 4
    assert data["coverage"]["unknown_things"] == {"zebra": 1}


@pytest.mark.parametrize("captions", ["", "\n\n"])
def test_files_without_captions_are_refused(tmp_path: Path, captions: str) -> None:
    path = tmp_path / "c.txt"
    path.write_text(captions)
    result = CliRunner().invoke(cli, ["corpus", "check", write_corpus(tmp_path), "--captions", str(path)])
    assert "holds no captions" in str(result.exception)


def test_every_entity_of_the_tiny_corpus_is_known(tmp_path: Path) -> None:
    names = [name for subs in ENTITIES.values() for rows in subs.values() for name in rows]
    assert cover(tmp_path, *names).with_entity == len(names)
