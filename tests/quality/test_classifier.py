"""What every honest classifier hunt gives back, in classifiers that fail always or never.

How many planted bugs are named, and how many claims are false, is in `benchmarks/campaign/classifier.py`.
"""

from __future__ import annotations

import pytest
from benchmarks.campaign.classifier import TEMPLATE, hunted

from failscape.kinds.classifier.hunt import ClassifierHunt
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.simulate.classifier_world import PlantedClassifier
from failscape.simulate.scoring import simulate


def sure_world(bugs: int, absent: float = 0.0) -> PlantedClassifier:
    """A classifier that fails at its bugs every time, and never at anything else."""
    world = PlantedClassifier(
        classes=2, bugs=bugs, seed=3, rates=(1.0, 1.0), plain=0.95, absent=absent, forgets=0.0
    )
    world.base = dict.fromkeys(world.base, 0.0)
    return world


def test_nothing_is_claimed_of_a_classifier_that_never_fails() -> None:
    assert hunted(sure_world(bugs=0), 600).findings() == []


def test_a_fact_that_always_fails_is_named_and_all_claims_are_true() -> None:
    world = sure_world(bugs=1)
    claimed = {finding.subject for finding in hunted(world, 1_500).findings()}
    assert {"; ".join([bug.name, *bug.values]) for bug in world.bugs} <= claimed
    effects = {subject: world.effect(subject.split("; ")[0], subject.split("; ")[1:]) for subject in claimed}
    assert min(effects.values()) > 0.05, effects


def test_pictures_without_the_object_are_no_bugs() -> None:
    """Nothing is ever drawn, and the judge says so: there is nothing to classify."""
    assert hunted(sure_world(bugs=1, absent=1.0), 600).findings() == []


@pytest.mark.parametrize("comes_along_is_the_cause", [True, False])
def test_what_comes_along_is_told_apart_or_said_not_to_be(comes_along_is_the_cause: bool) -> None:
    """Whoever asks for one attribute gets another too; either may be what the classifier fails on."""
    world = PlantedClassifier(classes=2, bugs=1, seed=6, rates=(0.7, 0.8), plain=0.99, forgets=0.1)
    bug = world.bugs[0]
    cause = bug.values[0]
    kind = cause.partition("=")[0]
    other = next(
        value.label
        for value in world.corpus.values
        if value.kind.startswith("Background") and value.kind != kind
    )
    asked, along = (other, cause) if comes_along_is_the_cause else (cause, other)
    world.along = {asked: along}
    rules = ClassifierRules(seed=2, images=2_000, confirm=40, toggles=40)
    hunt = ClassifierHunt(world.targets(), TEMPLATE, world.corpus, rules)
    simulate(hunt, world, 2_000)
    found = {finding.subject: finding for finding in hunt.findings()}
    told = found[f"{bug.name}; {cause}"]
    beside = [toggle.instead for toggle in told.details.toggles if toggle.what == "beside"]
    assert told.details.together == ()
    assert "is the cause" in told.title
    if comes_along_is_the_cause:
        # Captions name what came along, so the search finds the cause and not what was asked for.
        assert f"{bug.name}; {asked}" not in found
    else:
        assert beside == [along.partition("=")[2]]
