"""Questions put together from parts: many skills, and answers that a second reading agrees on."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tools.toybox_training.asking import Question, ask

from failscape.spaces.skills import OTHER, family_of
from failscape.toybox import question_sampling, questions
from failscape.toybox.questions import BY_KEY, COMPOUNDS, FORMS, SKILLS, SLOT_VALUES, word_question
from failscape.toybox.world import Scene
from tests.unit.toybox import brute_force

EACH = 3


@cache
def asked(skill: str) -> list[tuple[Scene, Question]]:
    """Valid questions of every compound form of a skill, or of some where there are hundreds."""
    forms = [form for form in COMPOUNDS if skill in form.skills]
    rng = np.random.default_rng(SKILLS.index(skill))
    chosen = [forms[i] for i in rng.permutation(len(forms))[:60]]
    found = []
    for form in chosen:
        for _ in range(EACH):
            question = None
            while question is None:
                scene = question_sampling.scene_for(rng, form.key)
                question = ask(rng, scene, form.key)
            found.append((scene, question))
    return found


COMPOUND_SKILLS = [skill for skill in SKILLS if any(skill in form.skills for form in COMPOUNDS)]


def test_there_is_much_to_ask_about() -> None:
    assert len(SKILLS) >= 40
    assert len({form.skills for form in FORMS}) >= 500
    assert len({form.key for form in FORMS}) == len(FORMS)
    assert {skill for form in FORMS for skill in form.skills} == set(SKILLS)


@pytest.mark.parametrize("skill", COMPOUND_SKILLS)
def test_a_second_reading_gives_the_same_answers(skill: str) -> None:
    for scene, question in asked(skill):
        assert brute_force.answer(scene, question.text) == question.answer, question
        assert question.answer in questions.ANSWERS


@pytest.mark.parametrize("skill", COMPOUND_SKILLS)
def test_a_second_reading_finds_the_same_questions_invalid(skill: str) -> None:
    """Slots at random, on the scene of another question: most make no sense there, and both must say so."""
    rng = np.random.default_rng(1)
    rows = asked(skill)
    for (_, question), (scene, _) in pairwise(rows):
        form = BY_KEY[question.form]
        slots = {name: SLOT_VALUES[name][int(rng.integers(len(SLOT_VALUES[name])))] for name in form.slots}
        names = [thing.entity for thing in scene.things]
        slots |= {name: names[int(rng.integers(len(names)))] for name in ("thing", "other") if name in slots}
        text = word_question(form, slots)
        assert brute_force.answer(scene, text) == form.solve(scene, slots), (text, scene)


@pytest.mark.parametrize("skill", COMPOUND_SKILLS)
def test_skills_are_read_from_the_text(skill: str) -> None:
    for _, question in asked(skill):
        query = questions.parse_question(question.text.upper())
        assert query is not None, question
        assert query.form.key == question.form
        assert skill in query.form.skills
        assert set(questions.words(question.text)) <= set(questions.vocabulary())


def test_every_form_is_understood_with_every_value() -> None:
    for form in COMPOUNDS:
        for at in range(len(form.wordings)):
            for turn in range(2):
                slots = {name: SLOT_VALUES[name][-1 - turn] for name in form.slots}
                query = questions.parse_question(word_question(form, slots, at))
                assert query is not None
                assert (query.form, dict(query.slots)) == (form, slots)


def test_simpler_forms_exist_and_take_no_other_skills() -> None:
    for form in FORMS:
        for key in form.simpler:
            assert set(BY_KEY[key].skills) <= {*form.skills, "two-hop", "naming", "conjunction"}, (
                form.key,
                key,
            )


@pytest.mark.parametrize(
    "form", [form for form in COMPOUNDS if ":" not in form.key], ids=lambda form: form.key
)
def test_answers_of_yes_or_no_are_both_common(form: questions.Form) -> None:
    rng = np.random.default_rng(4)
    seen: Counter[str] = Counter()
    for _ in range(80):
        question = ask(rng, question_sampling.scene_for(rng, form.key), form.key)
        seen.update([question.answer] if question else [])
    assert sum(seen.values()) >= 8
    if {"yes", "no"} & seen.keys():
        assert min(seen["yes"], seen["no"]) >= 3, seen


@pytest.mark.parametrize(
    "text",
    [
        "how many thing are there?",
        "is there a red things?",
        "what is the fifth thing from the left?",
        "name it",
    ],
)
def test_other_texts_are_not_understood(text: str) -> None:
    assert questions.parse_question(text) is None


def test_every_skill_has_a_family() -> None:
    assert [skill for skill in COMPOUND_SKILLS if family_of(skill) == OTHER] == []
