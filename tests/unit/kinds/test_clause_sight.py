"""Judges that see clauses and judges that do not, told apart by their answers alone."""

from __future__ import annotations

import random

import pytest

from failscape.kinds.classifier.clause_sight import MOST_OF_ONE, ClauseSight
from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.prompts import Template
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate

TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


def told(asked: float, unasked: float, seed: int = 0, clauses: int = 300) -> ClauseSight:
    """So often it says yes, clause by clause, where it was asked for and where it was not."""
    luck, sight = random.Random(seed), ClauseSight()
    for number in range(clauses):
        sight.note(True, [(number, luck.random() < asked)])
        sight.note(False, [(number, luck.random() < unasked)])
        sight.decide()
    return sight


@pytest.mark.parametrize("yes", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_a_judge_that_says_the_same_everywhere_is_blind(yes: float) -> None:
    sight = told(yes, yes)
    assert sight.is_blind
    assert "rates are as asked" in sight.sentence


@pytest.mark.parametrize(("asked", "unasked"), [(0.95, 0.02), (0.5, 0.05), (0.25, 0.0), (0.9, 0.65)])
def test_a_judge_that_sees_is_never_taken_for_blind(asked: float, unasked: float) -> None:
    """At the very gap one run in 1,000 may err, whenever one looks; these are beyond it."""
    assert not any(told(asked, unasked, seed, 150).is_blind for seed in range(20))


def test_a_judge_that_never_answers_is_told_of_and_one_answer_is_enough() -> None:
    sight = ClauseSight()
    for number in range(100):
        sight.note(True, [(number, None)])
        sight.note(False, [(number, None)])
    assert "none of 100 questions about them was answered, so rates are as asked" in sight.sentence
    sight.note(True, [("seen", True)])
    assert not sight.sentence


def test_one_clause_that_cannot_be_drawn_does_not_speak_for_all() -> None:
    sight = told(0.95, 0.02, clauses=40)
    for _ in range(2_000):
        sight.note(True, [("a clause that nobody can draw", False)])
    assert not sight.decide()
    assert sight._all[True] == 40 + MOST_OF_ONE


def hunted(blind: float | None, seed: int = 1) -> tuple[PlantedClassifier, ClassifierHunt]:
    world = PlantedClassifier(classes=2, bugs=2, seed=4, rates=(0.7, 0.9), plain=0.97, blind=blind)
    rules = ClassifierRules(seed=seed, images=1_800, toggles=0, confirm=20)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    simulate(hunt, world, 1_800, in_flight=128)
    return world, hunt


def test_the_hunt_falls_back_to_rates_as_asked_and_says_so() -> None:
    """A judge that never sees a clause would hide every bug: no picture would count."""
    world, hunt = hunted(blind=0.0)
    planted = {"; ".join([bug.name, *bug.values]) for bug in world.bugs}
    found = {finding.subject: finding for finding in hunt.findings()}
    assert planted & found.keys()
    assert "the judge cannot see clauses" in hunt.notices()[0]
    assert "the judge cannot see clauses" in hunt.survey().notes[0]
    for finding in found.values():
        assert finding.details.seen.obeyed is None, "marked: nobody knows what pictures show"
        assert finding.details.seen.asked == finding.trials


def test_a_judge_that_tosses_a_coin_is_never_trusted() -> None:
    _, hunt = hunted(blind=0.5)
    assert "see clauses" in hunt.survey().notes[0]
    assert all(finding.details.seen.obeyed is None for finding in hunt.findings())


def test_a_judge_that_sees_is_believed() -> None:
    _, hunt = hunted(None)
    assert not any("clauses" in text for text in hunt.notices())
    assert all(finding.details.seen.obeyed == 1.0 for finding in hunt.findings())


def test_replay_in_another_order_decides_the_same() -> None:
    world = PlantedClassifier(classes=2, bugs=2, seed=4, rates=(0.7, 0.9), plain=0.97, blind=0.5)
    rules = ClassifierRules(seed=1, images=600, toggles=0, confirm=20)

    def fresh() -> ClassifierHunt:
        return ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)

    first, again = fresh(), fresh()
    trials = simulate(first, world, 600, in_flight=64, shuffle=3, keep=True).trials
    for trial in reversed(trials):
        again.tell(trial)
    assert again.notices() == first.notices()
    assert again.findings() == first.findings()
