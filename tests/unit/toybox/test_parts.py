"""Questions put together from parts, as a hunt asks them: made to order, and answered by a network."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tools.toybox_training.vlm_card import questions as held_out
from tools.toybox_training.vlm_card import right_answers
from tools.toybox_training.vlm_tail import FREQUENT

from failscape.kinds.vlm.build import MANY_FORMS
from failscape.spaces.questions import ANY, explains, load_grammar, make_pattern
from failscape.toybox.asking import SKILLS_OF, PartsGrammar, ToyGrammar, scene_of
from failscape.toybox.networks import MODELS
from failscape.toybox.provider import VLM_OF_PARTS
from failscape.toybox.questions import FORMS, SKILLS, parse_question
from failscape.toybox.vlm import ToyVlm, card, grammar_lexicon

GRAMMAR = PartsGrammar()


@pytest.mark.parametrize("skill", SKILLS)
def test_every_skill_can_be_asked_for_whatever_the_form(skill: str) -> None:
    asked = GRAMMAR.draft(make_pattern(ANY, [skill]), random.Random(skill), True)
    assert asked is not None
    query = parse_question(asked.text.removeprefix("please: ").removesuffix(" thank you"))
    assert query is not None
    assert skill in query.form.skills
    assert query.answer(scene_of(asked.sight.key)) == asked.truth


def test_every_form_is_a_pattern_and_can_be_asked() -> None:
    patterns = GRAMMAR.patterns()
    assert {pattern.form for pattern in patterns} == {form.key for form in FORMS}
    assert len(patterns) >= MANY_FORMS > len(ToyGrammar().patterns())
    for pattern in patterns[::16]:
        assert GRAMMAR.draft(pattern, random.Random(1), False) is not None


def test_clauses_hold_and_simpler_patterns_explain() -> None:
    pattern = make_pattern("count: colour thing on side", SKILLS_OF["count: colour thing on side"])
    narrow = pattern.with_clause(("side", "left"))
    asked = GRAMMAR.draft(narrow, random.Random(2), True)
    assert asked is not None
    assert ("side", "left") in asked.features
    assert {one.form for one in GRAMMAR.simpler(pattern)} == {"count: thing on side", "count: colour thing"}
    assert all(explains(one, narrow) for one in GRAMMAR.simpler(narrow))
    assert GRAMMAR.simpler(make_pattern(ANY, ["negation", "region"])) == [
        make_pattern(ANY, ["negation"]),
        make_pattern(ANY, ["region"]),
    ]


def test_a_form_of_parts_is_told_by_an_example() -> None:
    pattern = make_pattern("name of: thing ordinal", SKILLS_OF["name of: thing ordinal"], [("end", "top")])
    told = GRAMMAR.tell(pattern)
    assert told == ('it gets questions like "what is the second thing from the top?" wrong', [])


def test_the_simple_grammar_asks_what_it_always_asked() -> None:
    assert len(ToyGrammar().patterns()) == 20
    assert ToyGrammar().digest == "toybox/3"
    assert isinstance(load_grammar("toybox-parts", None), PartsGrammar)


def test_the_network_knows_the_words_keeps_the_simple_kinds_and_its_card_has_every_form() -> None:
    model = ToyVlm(MODELS / f"{VLM_OF_PARTS}.onnx")
    assert model.lexicon == grammar_lexicon()
    about = card(VLM_OF_PARTS)
    assert set(about["skills"]) == set(SKILLS)
    assert set(about["forms"]) == {form.key for form in FORMS}
    flags = [right for key in FREQUENT for right in right_answers(model, held_out(key, 12, seed=5))]
    assert np.mean(flags) >= 0.9
