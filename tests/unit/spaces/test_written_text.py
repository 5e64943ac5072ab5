"""Comparing what was read with the text asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice, Node
from failscape.spaces.wording import Wording
from failscape.spaces.written_text import (
    TextRules,
    edit_distance,
    nearest_reading,
    reading_in,
    reading_to_raw,
    says,
)

SAFE = TextRules()


@pytest.mark.parametrize(
    ("expected", "lines", "there"),
    [
        ("OPEN", ["OPEN"], True),
        ("OPEN", ["Open"], True),
        ("OPEN", ["OPEN", "24 hours"], True),
        ("OPEN", ["WE ARE OPEN"], True),
        ("OPEN", ["OPENING"], False),
        ("OPEN", ["OPNE"], False),
        ("OPEN", [], False),
        ("Jazz Night", ["JAZZ", "NIGHT"], True),
        ("Jazz Night", ["JAZZNIGHT"], True),
        ("Jazz Night", ["NIGHT", "JAZZ"], False),
        ("Jazz Night", ["JAZZ"], False),
        ("OPEN", ["O P E N"], True),
        ("50%", ["５０％"], True),
    ],
)
def test_a_text_is_there_when_a_run_of_words_says_it(expected: str, lines: list[str], there: bool) -> None:
    assert says(expected, lines, SAFE) is there


def test_rules_can_be_stricter_or_more_lenient() -> None:
    assert not says("OPEN", ["Open"], TextRules(case=True))
    assert not says("Jazz Night", ["JazzNight"], TextRules(spacing=True))
    assert says("OPEN", ["OPNE"], TextRules(tolerance=2))
    assert says("OPEN", ["OPE"], TextRules(tolerance=1))
    assert not says("OPEN", ["OPNE"], TextRules(tolerance=1))


def test_what_was_written_instead_is_the_nearest_run() -> None:
    assert nearest_reading("OPEN", ["Bakery", "OPNE", "24 h"], SAFE) == "OPNE"
    assert nearest_reading("Jazz Night", ["Jaz Night"], SAFE) == "Jaz Night"
    assert nearest_reading("OPEN", ["Bakery"], SAFE) == ""
    assert nearest_reading("OPEN", [], SAFE) == ""


@given(st.text(max_size=8), st.text(max_size=8))
def test_the_distance_is_a_metric(first: str, second: str) -> None:
    distance = edit_distance(first, second)
    assert distance == edit_distance(second, first)
    assert (distance == 0) == (first == second)
    assert abs(len(first) - len(second)) <= distance <= max(len(first), len(second))


@given(st.lists(st.text(max_size=12)))
def test_readings_survive_the_atlas(lines: list[str]) -> None:
    assert reading_in(["no JSON", '{"answers": [true]}', reading_to_raw(lines)]) == tuple(lines)
    assert reading_in(['{"answers": [true]}', "[1, 2]"]) is None


def test_text_is_asked_for_only_where_the_family_is_named() -> None:
    corpus = load_corpus("signs")
    entity = corpus.find_entity("mug")
    value = corpus.value_index["Text: says=OPEN"]
    assert Node(entity, (value,)) in Lattice(corpus, families=("Text",))
    assert Node(entity, (value,)) not in Lattice(corpus, families=("Base", "Background", "Image"))
    wording = Wording(corpus)
    assert wording.caption(Node(entity, (value,))) == 'An image of a mug with the text "OPEN" written on it.'
    _, check = wording.checks(Node(entity, (value,)))
    assert (check.kind, check.value) == ("Text: says", "OPEN")
    assert check.statement == 'The text "OPEN" is written on the mug.'
