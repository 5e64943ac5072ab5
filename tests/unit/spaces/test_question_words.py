"""What the words of a question say about it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from failscape.spaces.mode_sentences import sentence
from failscape.spaces.question_words import is_negated, question_clauses, type_of_answer
from failscape.spaces.questions import ANY, Draft, Pattern, Sight, make_pattern
from failscape.spaces.skills import SkillGrammar


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "Is there not a triangle in the image?",
            {
                ("negated", "yes"),
                ("answer type", "yes or no"),
                ("mentions", "a shape"),
                ("asks of", "triangle"),
            },
        ),
        ("What is the color of the shape?", {("answer type", "a colour")}),
        ("Which colour do the two squares have?", {("answer type", "a colour"), ("mentions", "a shape")}),
        ("How many red cups are there?", {("answer type", "a number"), ("asks of", "red")}),
        ("Is the cup red or blue?", {("answer type", "one of several"), ("mentions", "a colour")}),
        ("Where is the dog?", {("answer type", "a place")}),
    ],
)
def test_clauses_come_from_the_words(text: str, clauses: set[tuple[str, str]]) -> None:
    assert clauses <= set(question_clauses(text))


def test_words_that_only_look_alike_say_nothing() -> None:
    assert question_clauses("What does the notebook show?") == ()
    assert not is_negated("Is a knot tied?")
    assert is_negated("Isn't it red?")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [("No.", "yes or no"), ("7", "a number"), ("two", "a number"), ("teal", "a colour"), ("a dog", "")],
)
def test_answers_have_types(answer: str, kind: str) -> None:
    assert type_of_answer(answer) == kind


class OneSight:
    """The same picture each time, taken at night."""

    def pick(self, rng: random.Random, fresh: bool, skill: str = "") -> Sight:
        return Sight("a", (), (), {"features": (("light", "night"),)})


def test_a_written_question_has_clauses_from_its_words_and_its_picture() -> None:
    grammar = SkillGrammar(OneSight(), ["existence"])
    sight: Any = OneSight().pick(random.Random(1), False)
    asked = grammar.read("Is there no circle?", sight, None)
    assert asked is not None
    assert {("negated", "yes"), ("mentions", "a shape"), ("light", "night")} <= set(asked.features)


def test_a_skill_of_negation_makes_the_clause_superfluous() -> None:
    sight: Any = OneSight().pick(random.Random(1), False)
    asked = SkillGrammar(OneSight()).read("Is there no circle?", sight, None)
    assert asked is not None
    assert "negation" in asked.pattern.skills
    assert ("negated", "yes") not in asked.features


def test_a_writer_is_told_what_the_question_must_say() -> None:
    wanted = make_pattern(
        ANY, ["existence"], [("mentions", "a shape"), ("light", "night"), ("negated", "yes")]
    )
    draft = SkillGrammar(OneSight()).draft(wanted, random.Random(1), False)
    assert isinstance(draft, Draft)
    assert "it mentions a shape" in draft.guidance
    assert "negation" in draft.guidance
    assert "night" not in draft.guidance


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (
            make_pattern(ANY, (), [("negated", "yes"), ("mentions", "a shape")]),
            "It gets negated questions wrong that mention a shape",
        ),
        (
            make_pattern(ANY, (), [("answer type", "a colour")]),
            "It gets questions wrong whose answer is a colour",
        ),
        (
            make_pattern(ANY, (), [("words", "look at the picture")]),
            "Asked to look at the picture, it gets questions wrong, whatever they ask for",
        ),
        (
            make_pattern(ANY, (), [("light", "night")]),
            "It gets questions wrong, whatever they ask for, in a picture taken at night",
        ),
    ],
)
def test_sentences_end_without_a_comma(pattern: Pattern, told: str) -> None:
    assert sentence(pattern) == told
