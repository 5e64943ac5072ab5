"""`failscape corpus build`: tables, parts of a corpus, and what captions mention."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from failscape.cli import cli
from failscape.errors import ConfigError
from failscape.spaces import Lattice, Wording, load_corpus

ENTITIES = """name,class,sub_class,plural
quokka,Animals,Marsupials,
wombat,Animals,Marsupials,
pair of tongs,Kitchen,Utensils,pairs of tongs
"""
VALUES = """value,sub_category,family,wording
teal,Colour,,
beach,Place,Background,{scene} on a beach
"""


def build(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["corpus", "build", str(folder / "out"), *options])


def table(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_tables_make_a_corpus(tmp_path: Path) -> None:
    entities, values = table(tmp_path, "e.csv", ENTITIES), table(tmp_path, "v.csv", VALUES)
    result = build(tmp_path, "--entities", entities, "--values", values)
    assert result.exit_code == 0, result.output
    corpus = load_corpus(str(tmp_path / "out"))
    node = Lattice(corpus).parse("pair of tongs; Base: Colour=teal; Background: Place=beach")
    assert Wording(corpus).caption(node) == "An image of a teal pair of tongs on a beach."
    assert "3" in result.output


def test_yaml_and_bare_words_will_do(tmp_path: Path) -> None:
    rows = table(tmp_path, "e.yaml", "- cat\n- {name: dog, class: Pets, sub_class: Big}\n")
    assert build(tmp_path, "--entities", rows).exit_code == 0
    homes = [(one.name, one.upper_class) for one in load_corpus(str(tmp_path / "out")).entities]
    assert homes == [("cat", "Things"), ("dog", "Pets")]


def test_a_part_of_a_corpus_and_a_table_are_joined(tmp_path: Path) -> None:
    entities, values = (
        table(tmp_path, "e.csv", ENTITIES),
        table(tmp_path, "v.csv", VALUES.splitlines()[0] + "\nteal,Colour\n"),
    )
    options = ["--from", "starter", "--entity", "cat", "--sub-category", "Colour", "--family", "Image"]
    assert build(tmp_path, *options, "--entities", entities, "--values", values).exit_code == 0
    corpus = load_corpus(str(tmp_path / "out"))
    assert [one.name for one in corpus.entities] == ["cat", "quokka", "wombat", "pair of tongs"]
    assert {value.family for value in corpus.values} == {"Base", "Image"}
    assert {corpus.entities[index].name for index in corpus.sample} == {"cat", "quokka", "pair of tongs"}
    teal = corpus.value_index["Base: Colour=teal"]
    assert corpus.values[teal].wordings == corpus.values[0].wordings, "a new value takes its kind's wording"


def test_captions_choose_what_is_kept(tmp_path: Path) -> None:
    captions = table(tmp_path, "c.txt", "a red cat\na cat on a beach\na blue dog\na red dog\na cup\n")
    assert build(tmp_path, "--from", "starter", "--captions", captions, "--most-entities", "2").exit_code == 0
    corpus = load_corpus(str(tmp_path / "out"))
    assert [one.name for one in corpus.entities] == ["cat", "dog"]
    assert {value.name for value in corpus.values} == {"red", "blue", "beach"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,clas\na,b\nc,d\n", r"line 2: there is no column 'clas'"),
        ("name,class\ncat,b\nCat,c\n", "line 3: the entity 'Cat' is there already"),
        ("name,class\n,b\n", "line 2: name is missing"),
        ("", "holds no rows"),
    ],
)
def test_mistakes_in_tables_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    result = build(tmp_path, "--entities", table(tmp_path, "e.csv", text))
    assert isinstance(result.exception, ConfigError)
    with pytest.raises(ConfigError, match=message):
        raise result.exception
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to build from"),
        (("--class", "Animals"), "nothing to build from"),
        (("--from", "starter", "--class", "Animal"), "no class 'Animal'"),
        (("--from", "starter", "--sub-category", "Colr"), "no sub-category 'Colr'"),
        (("--from", "nowhere"), "there is no corpus"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    assert message in str(build(tmp_path, *options).exception)


def test_a_bad_family_is_refused(tmp_path: Path) -> None:
    values = table(tmp_path, "v.csv", "value,sub_category,family\nred,Colour,Bse\n")
    assert "family must be one of" in str(build(tmp_path, "--from", "starter", "--values", values).exception)


def test_what_is_there_is_replaced_only_when_told(tmp_path: Path) -> None:
    assert build(tmp_path, "--from", "starter").exit_code == 0
    assert "is not empty" in str(build(tmp_path, "--from", "toybox").exception)
    assert build(tmp_path, "--from", "toybox", "--replace").exit_code == 0
    assert load_corpus(str(tmp_path / "out")).digest == load_corpus("toybox").digest
