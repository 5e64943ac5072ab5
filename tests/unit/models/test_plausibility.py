"""Scores come back to the phrase they belong to, whatever the order in which it was shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.models.contracts.language import PlausibilityContract

CONTRACT = PlausibilityContract()


@given(st.lists(st.text("abc ", min_size=1), min_size=1, max_size=12, unique=True), st.integers(0, 5))
def test_scores_find_their_phrases(phrases: list[str], vote: int) -> None:
    ask = CONTRACT.ask(phrases, vote)
    shown = [phrases[place] for place in CONTRACT.order(phrases, vote)]
    assert all(f"{number}. {phrase}" in ask.text for number, phrase in enumerate(shown, 1))
    said = json.dumps({"scores": [len(phrase) % 11 for phrase in shown]})
    assert CONTRACT.read(said, phrases, vote).value == [len(phrase) % 11 for phrase in phrases]


def test_votes_see_other_orders() -> None:
    phrases = [f"thing {number}" for number in range(10)]
    assert len({tuple(CONTRACT.order(phrases, vote)) for vote in range(5)}) == 5


@pytest.mark.parametrize(
    "text",
    ["", "sure", "[1, 2]", '{"scores": [1, 2, 11]}', '{"scores": [1, 2, true]}', '{"scores": [1.5, 2, 3]}'],
)
def test_other_replies_are_unusable(text: str) -> None:
    assert CONTRACT.read(text, ["a", "b", "c"], 0).value is None


def test_thoughts_and_fences_are_no_hindrance() -> None:
    text = '<think>[9, 9]</think>\n```json\n{"scores": [3, 10]}\n```'
    assert CONTRACT.read(text, ["a", "b"], 0).value == [3, 10]
    assert CONTRACT.read('{"scores": [3, 10]} or {"scores": [4, 10]}', ["a", "b"], 0).value is None
