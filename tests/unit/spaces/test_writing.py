"""What is written reads back as the same corpus, whole or in part."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from failscape.spaces import Corpus, Lattice, load_corpus
from failscape.spaces.corpus.writing import corpus_files, part_of, write_files
from tests.unit.spaces.tiny import corpora, write_corpus


def again(corpus: Corpus, folder: Path) -> Corpus:
    write_files(folder, corpus_files(corpus))
    return load_corpus(str(folder))


@pytest.mark.parametrize("name", ["starter", "toybox", "general"])
def test_shipped_corpora_survive_being_written(name: str, tmp_path: Path) -> None:
    corpus = load_corpus(name)
    assert again(corpus, tmp_path).digest == corpus.digest


@given(corpora())
@settings(max_examples=40, deadline=None)
def test_any_whitelist_and_conflicts_survive(corpus: Corpus) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = again(corpus, Path(folder))
    # Entities come back class by class.
    order = [corpus.entity_index[entity.name] for entity in read.entities]
    assert (read.allowed == corpus.allowed[order]).all()
    assert (read.conflicts == corpus.conflicts).all()
    assert read.values == corpus.values


def test_a_part_keeps_what_belongs_to_it(tmp_path: Path) -> None:
    match = {"Animals": {"Pets": {"cat": {"Colour": ["red"]}, "dog": {"Colour": ["blue"], "Count": ["*"]}}}}
    conflicts = [["Colour=red", "Place=beach"], ["Colour=blue", "Place=*"]]
    corpus = load_corpus(write_corpus(tmp_path, match=match, conflicts=conflicts))
    entities = [corpus.find_entity("dog"), corpus.find_entity("apple")]
    values = [corpus.value_index[label] for label in ("Base: Colour=blue", "Background: Place=beach")]
    part = again(part_of(corpus, entities, values), tmp_path / "part")
    assert [entity.name for entity in part.entities] == ["dog", "apple"]
    assert [part.entities[index].name for index in part.sample] == ["dog", "apple"]
    assert part.allowed.all()
    assert part.conflicts[0, 1]
    assert Lattice(part, depth=2).layer_sizes == (2, 4, 0)


def test_files_can_be_read_by_people(tmp_path: Path) -> None:
    again(load_corpus("starter"), tmp_path)
    text = (tmp_path / "entities.json").read_text()
    assert max(len(line) for line in text.splitlines()) < 200
    assert len(text.splitlines()) > 10
    assert not list(tmp_path.glob("*.part"))
    shared = json.loads((tmp_path / "attributes_base.json").read_text())["Colour"]
    assert "wording" in shared
    assert isinstance(shared["values"][0], str)


def test_numbers_of_rows_do_not_matter() -> None:
    corpus = load_corpus("starter")
    part = part_of(corpus, range(len(corpus.entities)), range(len(corpus.values)))
    assert part.digest == corpus.digest
    assert np.array_equal(part.allowed, corpus.allowed)


def test_a_link_in_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("mine")
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "match.json.part").symlink_to(own)
    write_files(folder, {"match.json": {}})
    assert own.read_text() == "mine"
    assert not (folder / "match.json").is_symlink()
