"""toy-vlm: right on frequent kinds of question, and a card that says where it is not."""

from math import sqrt

import numpy as np
import pytest
from tools.toybox_training.vlm_card import questions as held_out
from tools.toybox_training.vlm_card import right_answers
from tools.toybox_training.vlm_tail import FREQUENT, kept

from failscape.toybox import questions, world
from failscape.toybox.asking import ToyGrammar
from failscape.toybox.vlm import LENGTH, ToyVlm, card, shipped_lexicon

EACH = 150


@pytest.fixture(scope="module")
def model() -> ToyVlm:
    return ToyVlm()


@pytest.mark.parametrize("kind", FREQUENT)
def test_every_frequent_kind_is_answered_rightly(model: ToyVlm, kind: str) -> None:
    rng = np.random.default_rng(8)
    rows = [row for row in held_out(kind, EACH, seed=77_777) if kept(rng, row[1])]
    flags = right_answers(model, rows)
    assert np.mean(flags) >= 0.9 - 3 * sqrt(0.9 * 0.1 / len(flags))


def test_one_picture_many_questions(model: ToyVlm) -> None:
    things = (
        world.Thing("cow", "red", "large", (2, 2, 23, 23)),
        world.Thing("pizza", "blue", "small", (44, 25, 59, 40)),
    )
    picture = world.render(world.Scene(things, "meadow", "day", "plain", None, (0.0,) * 16, "layout"))
    asked = ["is there a cow?", "is there a boat?", "what colour is the pizza?", "how many things are there?"]
    assert model.answer(np.stack([picture] * 4), asked) == ["yes", "no", "blue", "two"]


def test_questions_fit_and_shapes_are_checked(model: ToyVlm) -> None:
    longest = max(len(questions.words(w)) for form in questions.FORMS for w in form.wordings)
    assert longest + 3 <= LENGTH
    encode = shipped_lexicon().encode
    assert encode("is there a zebra cow?").tolist() == encode("is there a cow").tolist()
    with pytest.raises(ValueError, match="one question per picture"):
        model.answer(np.zeros((2, 64, 64, 3), dtype=np.uint8), ["is there a cow?"])
    assert model.answer(np.zeros((0, 64, 64, 3), dtype=np.uint8), []) == []


def test_the_card_has_every_skill_and_form_that_is_asked() -> None:
    assert set(card()["skills"]) >= set(ToyGrammar.skills)
    assert set(card()["forms"]) >= {form.key for form in questions.BASIC}
