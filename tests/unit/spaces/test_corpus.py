"""Corpora: the shipped ones are sound, FailureAtlas's file names are read, mistakes are named."""

from pathlib import Path
from typing import Any

import pytest

from failscape.errors import ConfigError
from failscape.spaces import corpus_names, load_corpus
from failscape.spaces.corpus.files import USUAL_FAMILIES
from tests.unit.spaces.tiny import BASE, ENTITIES, write_corpus


def test_the_starter_corpus_is_rich_enough() -> None:
    corpus = load_corpus("starter")
    assert len(corpus.entities) >= 25
    assert len({entity.upper_class for entity in corpus.entities}) >= 5
    assert len({entity.sub_class for entity in corpus.entities}) >= 10
    assert len(corpus.values) >= 60
    assert len(corpus.sub_categories) >= 10
    assert {value.family for value in corpus.values} == set(USUAL_FAMILIES)
    assert corpus.conflicts.any()
    assert (corpus.conflicts == corpus.conflicts.T).all()


def test_shipped_corpora_load_by_name() -> None:
    assert {"starter", "toybox"} <= set(corpus_names())
    for name in corpus_names():
        assert load_corpus(name).name == name


def test_the_whitelist_limits_base_values_only() -> None:
    corpus = load_corpus("starter")
    cat = corpus.find_entity("cat")
    assert not corpus.allowed[cat, corpus.value_index["Base: Shape=square"]]
    assert corpus.allowed[cat, corpus.value_index["Base: Action=sleeping"]]
    assert corpus.allowed[cat, corpus.value_index["Background: Place=kitchen"]]
    assert not corpus.allowed[corpus.find_entity("cup"), corpus.value_index["Base: Action=sleeping"]]


def test_failureatlas_file_names_are_read(tmp_path: Path) -> None:
    match = {"Animals": {"Pets": {"cat": {"Colour": ["red"]}}}}
    files: dict[str, Any] = {"entities": None, "attributes_base": None, "attributes_background": None}
    files |= {"entity_en": ENTITIES, "attribute_en_base": BASE, "match": match}
    files |= {"entity_en_sample": {"Animals": {"Pets": ["dog"]}}}
    corpus = load_corpus(write_corpus(tmp_path, **files))
    assert [corpus.entities[i].name for i in corpus.sample] == ["dog"]
    assert corpus.allowed[corpus.find_entity("cat")].tolist() == [True, False, False, False]
    assert corpus.allowed[corpus.find_entity("dog")].all()


def test_conflicts_may_be_named_in_several_ways(tmp_path: Path) -> None:
    pairs = [["Colour=red", "Place=beach"], [["Base: Colour", "blue"], ["Place", "*"]]]
    corpus = load_corpus(write_corpus(tmp_path, conflicts=pairs))
    index = corpus.value_index
    found = {
        tuple(sorted((corpus.values[a].name, corpus.values[b].name))) for a, b in _pairs(corpus.conflicts)
    }
    assert found == {("beach", "red"), ("beach", "blue"), ("blue", "forest")}
    assert index["Base: Colour=red"] == 0


def test_a_conflict_may_name_several_values_at_once(tmp_path: Path) -> None:
    short = load_corpus(write_corpus(tmp_path, conflicts=[[["Colour", ["red", "blue"]], "Place=beach"]]))
    pairs = [["Colour=red", "Place=beach"], ["Colour=blue", "Place=beach"]]
    long = load_corpus(write_corpus(tmp_path, conflicts=pairs))
    assert (short.conflicts == long.conflicts).all()
    with pytest.raises(ConfigError, match="names no value"):
        load_corpus(write_corpus(tmp_path, conflicts=[[["Colour", []], "Place=beach"]]))


def test_an_entry_may_take_over_what_it_does_not_change(tmp_path: Path) -> None:
    cat = {"*": ["*"], "Colour": ["blue"]}
    match = {"Animals": {"Pets": {"*": {"Colour": ["red"], "Place": ["beach"]}, "cat": cat}}}
    corpus = load_corpus(write_corpus(tmp_path, match=match))
    allowed = {
        name: [v.name for i, v in enumerate(corpus.values) if corpus.allowed[corpus.find_entity(name), i]]
        for name in ("cat", "dog")
    }
    assert allowed == {"cat": ["blue", "beach"], "dog": ["red", "beach"]}


def _pairs(matrix: Any) -> list[tuple[int, int]]:
    return [(a, b) for a in range(len(matrix)) for b in range(a) if matrix[a, b]]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "not JSON": ({"entities": '{\n "A": {\n'}, r"entities\.json, line 3: not JSON"),
    "no entity file": ({"entities": None}, r"no entities\.json"),
    "duplicate entity": ({"entities": {"A": {"B": ["cat"], "C": ["dog", "Cat"]}}}, "'Cat' is given twice"),
    "empty class": ({"entities": {"A": {}}}, "class 'A' is empty"),
    "empty sub-class": ({"entities": {"A": {"B": []}}}, "sub-class 'B' is empty"),
    "class given twice": ({"entities": '{"A": {"B": ["x"]},\n"A": {"C": ["y"]}}'}, r"line 2: the key 'A'"),
    "no entity at all": ({"entities": {}}, "there is no entity"),
    "list instead of object": ({"entities": ["cat"]}, "must be an object, but is a list"),
    "object without name": ({"entities": {"A": {"B": [{"plural": "x"}]}}}, "an entity's name must be"),
    "unknown key": ({"entities": {"A": {"B": [{"nam": "x"}]}}}, "unknown key 'nam'"),
    "bad character": ({"entities": {"A": {"B": ["cat; dog"]}}}, "contains '; '"),
    "duplicate value": ({"attributes_base": {"Colour": ["red", "red"]}}, "value 'red' is given twice"),
    "two sub-categories": (
        {"attributes_base": {"Colour": ["gold"], "Material": ["gold"]}},
        "'gold' is in two sub-categories, 'Colour' and 'Material'",
    ),
    "empty sub-category": ({"attributes_base": {"Colour": []}}, "sub-category 'Colour' is empty"),
    "unknown slot": (
        {"attributes_base": {"Colour": {"wording": "{valu} {thing}", "values": ["red"]}}},
        r"unknown slot \{valu\}",
    ),
    "class inside itself": (
        {"entities": {"A": {"a": ["x"], "B": ["y"]}}},
        "'A' is also a sub-class of itself",
    ),
    "class inside another": (
        {"entities": {"A": {"B": ["x"]}, "B": {"C": ["y"]}}},
        "'B' is also a sub-class of the class 'A'",
    ),
    "three levels": ({"entities": {"A": {"B": {"C": ["x"]}}}}, "'B' holds classes of its own"),
    "plural is no text": ({"entities": {"A": {"B": [{"name": "x", "plural": 2}]}}}, "plural must be a text"),
    "wording is no text": (
        {"attributes_base": {"Colour": {"wording": 5, "values": ["red"]}}},
        "a wording of 'Colour' must be text",
    ),
    "unknown slot in a statement": (
        {"attributes_base": {"Colour": [{"value": "red", "statement": "It is {valu}."}]}},
        r"unknown slot \{valu\}",
    ),
    "match: unknown value": (
        {"match": {"Animals": {"Pets": {"cat": {"Colour": ["rad"]}}}}},
        "no value 'rad'",
    ),
    "match: unknown attribute": (
        {"match": {"Animals": {"Pets": {"cat": {"Hue": []}}}}},
        "sub-category 'Hue'",
    ),
    "match: unknown entity": ({"match": {"Animals": {"Pets": {"cot": {}}}}}, "no entity 'cot'"),
    "match: unknown sub-class": ({"match": {"Animals": {"Pet": {}}}}, "no sub-class 'Pet'"),
    "conflict: unknown": ({"conflicts": [["Colour=red", "Colour=rad"]]}, "no value 'rad'"),
    "conflict: not a pair": ({"conflicts": [["Colour=red"]]}, "not a pair"),
    "conflict: no value": ({"conflicts": [["red", "Colour=red"]]}, "names no value"),
    "sample: unknown": ({"entities_sample": {"A": {"B": ["ghost"]}}}, "unknown entity 'ghost'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_with_file_and_fix(name: str, tmp_path: Path) -> None:
    files, message = MISTAKES[name]
    with pytest.raises(ConfigError, match=message) as caught:
        load_corpus(write_corpus(tmp_path, **files))
    assert str(tmp_path) in caught.value.message
    assert caught.value.fix


def test_errors_point_at_the_line(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path, entities='{"A": {\n "B": ["cat"],\n "C": ["dog",\n "cat"]}}')
    with pytest.raises(ConfigError, match=r"entities\.json, line 4: the entity 'cat' is given twice"):
        load_corpus(folder)


def test_a_class_that_is_not_divided_may_have_one_sub_class_of_its_name(tmp_path: Path) -> None:
    corpus = load_corpus(write_corpus(tmp_path, entities={"Food": {"Food": ["apple"]}}))
    assert corpus.entities[0].sub_class == "Food"


def test_the_line_is_that_of_the_mistake_not_of_the_same_word_elsewhere(tmp_path: Path) -> None:
    match = """{"Animals": {"Pets": {
      "cat": {"Colour": ["red"], "Count": ["two"]},
      "dog": {"Colour": ["blue"],
              "Count": ["red"]}}}}"""
    with pytest.raises(ConfigError, match=r"match\.json, line 4: sub-category 'Count' has no value 'red'"):
        load_corpus(write_corpus(tmp_path, match=match))


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    entities = {"A": {"B": ["cat", "Cat", 3]}, "C": {}, "D": {"E": []}}
    with pytest.raises(ConfigError) as caught:
        load_corpus(write_corpus(tmp_path, entities=entities, attributes_base={"Colour": ["red", "red"]}))
    text = str(caught.value)
    assert "the corpus has 5 mistakes" in text
    for part in ("'Cat' is given twice", "but is 3", "class 'C' is empty", "'E' is empty", "'red' is given"):
        assert part in text
    assert text.count("fix:") == 5


def test_all_mistakes_about_names_are_told_at_once(tmp_path: Path) -> None:
    match = {"Animals": {"Pets": {"cot": {}, "cat": {"Hue": ["red"], "Colour": ["rad", "rod"]}}, "Pet": {}}}
    files = {"match": match, "conflicts": [["Colour=red", "Colour=x"], ["Colour=red"]]}
    files |= {"entities_sample": {"A": {"B": ["ghost", "spook"]}}}
    with pytest.raises(ConfigError, match="the corpus has 9 mistakes"):
        load_corpus(write_corpus(tmp_path, **files))


def test_unknown_corpora_get_the_nearest_suggested() -> None:
    with pytest.raises(ConfigError, match="did you mean 'starter'"):
        load_corpus("startr")
    with pytest.raises(ConfigError, match="neither shipped nor a folder"):
        load_corpus("")
