"""The question grammar: every question it makes is understood again and has one exact answer."""

from collections import Counter

import numpy as np
import pytest
from tools.toybox_training.asking import ask, ask_any, check_answer

from failscape.toybox import question_sampling, questions, world
from failscape.toybox.world import Scene, Thing


def scene(*things: Thing, place: str = "meadow") -> Scene:
    return Scene(things, place, "day", "plain", None, (0.0,) * world.NUISANCE_DIM, "layout")


def thing(entity: str, colour: str = "natural", size: str = "small", x: int = 12, y: int = 12) -> Thing:
    return Thing(entity, colour, size, (x - 8, y - 8, x + 8, y + 8))


COW = thing("cow", "red", "large", 12, 12)
FISH = thing("fish", "blue", "small", 52, 12)
SECOND_FISH = thing("fish", "green", "small", 52, 53)
OWL = thing("owl", "natural", "small", 12, 53)
PICTURE = scene(COW, FISH, OWL)
CROWD = scene(COW, FISH, SECOND_FISH)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is there a cow?", "yes"),
        ("is there an apple?", "no"),
        ("what color is the cow", "red"),
        ("How many fish are there?", "one"),
        ("how many things are there?", "three"),
        ("is the cow small or large?", "large"),
        ("where is this?", "meadow"),
        ("is the cow left of the fish?", "yes"),
        ("is the cow below the owl?", "no"),
        ("are there more fish than cows?", "no"),
        ("is there no kite?", "yes"),
        ("how many things are not large?", "two"),
        ("is there a large red cow?", "yes"),
        ("is there a small red thing?", None),
        ("is there a large blue thing?", "no"),
        ("which thing differs in size?", "cow"),
        ("which thing is below the cow?", "owl"),
        ("what size is the thing right of the cow?", "small"),
        ("what colour is the thing right of the cow?", "blue"),
        ("what colour is the owl?", None),
        ("what colour is the apple?", None),
        ("is the cow left of the cow?", None),
        ("which thing differs in kind?", None),
    ],
)
def test_the_scene_graph_answers(question: str, answer: str | None) -> None:
    query = questions.parse_question(question)
    assert query is not None
    assert query.answer(PICTURE) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how many fish are there?", "two"),
        ("are there more fish than cows?", "yes"),
        ("what colour is the fish?", None),
        ("which thing is right of the cow?", None),
        ("which thing differs in kind?", "cow"),
    ],
)
def test_things_of_one_kind_are_counted_and_not_confused(question: str, answer: str | None) -> None:
    query = questions.parse_question(question)
    assert query is not None
    assert query.answer(CROWD) == answer


@pytest.mark.parametrize("text", ["", "what?", "is there a unicorn?", "is there a cow and a fish?", "cow"])
def test_other_texts_are_not_understood(text: str) -> None:
    assert questions.parse_question(text) is None
    assert not check_answer(PICTURE, text, "yes").valid


def test_answers_are_checked_exactly() -> None:
    assert check_answer(PICTURE, "how many fish are there?", "1").right
    assert check_answer(PICTURE, "which thing is below the cow?", "An owl.").right
    wrong = check_answer(PICTURE, "is there a cow?", "no")
    assert (wrong.valid, wrong.right, wrong.truth, wrong.skill) == (True, False, "yes", "existence")
    assert check_answer(PICTURE, "what colour is the owl?", "brown").right is None


@pytest.mark.parametrize("form", questions.BASIC, ids=lambda form: form.key)
def test_random_questions_are_understood_and_answered(form: questions.Form) -> None:
    rng = np.random.default_rng(3)
    seen: Counter[str] = Counter()
    while sum(seen.values()) < 60:
        picture = question_sampling.scene_for(rng, form.key)
        question = ask(rng, picture, form.key)
        if question is None:
            continue
        checked = check_answer(picture, question.text, question.answer)
        assert checked.right, question
        assert checked.skill == question.skill
        assert question.answer in questions.ANSWERS
        assert set(questions.words(question.text)) <= set(questions.vocabulary())
        seen[question.answer] += 1
    if {"yes", "no"} & seen.keys():
        assert min(seen["yes"], seen["no"]) >= 10, "answers must be balanced"


def test_every_skill_has_a_form_and_sampling_is_seeded() -> None:
    assert {skill for form in questions.FORMS for skill in form.skills} == set(questions.SKILLS)
    first = ask_any(np.random.default_rng(5), PICTURE)
    assert first == ask_any(np.random.default_rng(5), PICTURE)
