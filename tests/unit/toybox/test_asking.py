"""The toybox grammar: questions are true to their scenes, clauses hold, keys make the same scenes again."""

from __future__ import annotations

import random

import pytest

from failscape.errors import BadReply
from failscape.spaces.questions import ANY, Pattern, explains, make_pattern
from failscape.toybox.asking import SKILLS_OF, ToyGrammar, follow, scene_of, scenes_of
from failscape.toybox.questions import FORMS, parse_question

GRAMMAR = ToyGrammar()


@pytest.mark.parametrize("pattern", GRAMMAR.patterns()[::8], ids=lambda pattern: pattern.form)
def test_every_form_can_be_asked_and_is_answered_by_its_scene(pattern: Pattern) -> None:
    rng = random.Random(pattern.form)
    for _ in range(5):
        asked = GRAMMAR.draft(pattern, rng, False)
        assert asked is not None
        query = parse_question(asked.text)
        assert query is not None
        assert query.form.key == pattern.form
        assert query.answer(scene_of(asked.sight.key)) == asked.truth


@pytest.mark.parametrize(
    "clauses",
    [
        [("relation", "below"), ("thing", "turtle")],
        [("answer", "yes"), ("things", "four")],
        [("place", "snow"), ("time", "night")],
    ],
)
def test_clauses_hold(clauses: list[tuple[str, str]]) -> None:
    pattern = make_pattern("relation", SKILLS_OF["relation"], clauses)
    for number in range(4):
        asked = GRAMMAR.draft(pattern, random.Random(number), True)
        assert asked is not None
        assert set(clauses) <= set(asked.features)
        scene = scene_of(asked.sight.key)
        assert dict(clauses).get("place", scene.place) == scene.place


def test_an_impossible_pattern_gives_nothing() -> None:
    assert (
        GRAMMAR.draft(make_pattern("count", ["counting"], [("answer", "red")]), random.Random(0), True)
        is None
    )


def test_other_words_ask_the_same() -> None:
    pattern = make_pattern("count", ["counting"])
    texts = {GRAMMAR.draft(pattern, random.Random(n), True).wording for n in range(40)}  # type: ignore[union-attr]
    assert len(texts) >= 4


def test_simpler_patterns_explain_the_pattern() -> None:
    deep = make_pattern("hop colour", SKILLS_OF["hop colour"], [("relation", "below"), ("place", "snow")])
    simpler = GRAMMAR.simpler(deep)
    assert make_pattern(ANY, (), deep.clauses) in simpler
    assert all(explains(one, deep) and one != deep for one in simpler)
    assert {
        one.form
        for one in GRAMMAR.simpler(deep.without_clause(deep.clauses[0]).without_clause(deep.clauses[1]))
    } == {
        "hop thing",
        "colour",
    }


def test_free_questions_are_read_or_found_invalid() -> None:
    sight = GRAMMAR.pick(random.Random(3), False)
    thing = scenes_of(sight.key)[0].things[0].entity
    asked = GRAMMAR.read(f"Is there a {thing}?", sight, None)
    assert asked is not None
    assert asked.truth == "yes"
    assert GRAMMAR.read("why?", sight, None) is None
    assert sight.captions


def test_keys_that_name_no_scene_are_refused() -> None:
    with pytest.raises(BadReply):
        scene_of("a cow")


def test_two_pictures_can_be_compared() -> None:
    pairs = ToyGrammar(images=2)
    for pattern in pairs.patterns():
        asked = pairs.draft(pattern, random.Random(pattern.form), True)
        assert asked is not None
        assert len(asked.sight.steps) == 2
        first, second = (scene_of(step.prompt) for step in asked.sight.steps)  # type: ignore[union-attr]
        assert first != second


@pytest.mark.parametrize(
    ("form", "slots", "answer", "expected"),
    [
        ("count", {"thing": "cow"}, "zero", ("exists", {"thing": "cow"}, "no")),
        ("exists", {"thing": "cow"}, "Yes.", ("absent", {"thing": "cow"}, "no")),
        ("place", {}, "snow", None),
        ("count", {"thing": "cow"}, "many", None),
    ],
)
def test_what_follows_from_an_answer(form: str, slots: dict[str, str], answer: str, expected: object) -> None:
    assert follow(form, slots, answer) == expected


def test_every_form_has_skills() -> None:
    assert {form.key for form in FORMS} <= SKILLS_OF.keys()
