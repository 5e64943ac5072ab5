"""Random questions with exact answers, to train and measure networks on, and the exact verdict on an answer.

All randomness comes from the generator that is passed in.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from failscape.toybox.question_sampling import draw_slots
from failscape.toybox.questions import BASIC, BY_KEY, FORMS, normal_answer, parse_question, word_question
from failscape.toybox.world import Scene

_TRIES: Final = 12


@dataclass(frozen=True)
class Question:
    """A question with its right answer, the skill it needs, and the form it has (its composition)."""

    text: str
    answer: str
    skill: str
    form: str


@dataclass(frozen=True)
class Checked:
    """What the grammar says of a question and an answer. `right` is None when the question is not valid."""

    valid: bool
    right: bool | None
    truth: str
    skill: str
    reason: str


def ask(rng: np.random.Generator, scene: Scene, key: str) -> Question | None:
    """Return a random valid question of a form, or None if none was found for this scene."""
    form = BY_KEY[key]
    for _ in range(_TRIES if form in BASIC else 2):  # slots of compound forms are tried out where drawn
        slots = draw_slots(rng, scene, key)
        answer = form.solve(scene, slots)
        if answer is not None:
            text = word_question(form, slots, int(rng.integers(len(form.wordings))))
            return Question(text, answer, form.skill, key)
    return None


def ask_any(rng: np.random.Generator, scene: Scene) -> Question:
    """Return a random valid question; forms are drawn until one fits."""
    chances = np.full(len(FORMS), 1 / len(FORMS))
    while True:
        question = ask(rng, scene, FORMS[int(rng.choice(len(FORMS), p=chances))].key)
        if question is not None:
            return question


def check_answer(scene: Scene, question: str, answer: str) -> Checked:
    """Say whether a question is valid for a scene, and whether an answer is right. Exact, no judgement."""
    query = parse_question(question)
    if query is None:
        return Checked(False, None, "", "", "the question is not one of the grammar")
    truth = query.answer(scene)
    if truth is None:
        return Checked(False, None, "", query.form.skill, "the question has no one answer for this picture")
    right = normal_answer(answer) == truth
    return Checked(True, right, truth, query.form.skill, "right" if right else f"the right answer is {truth}")
