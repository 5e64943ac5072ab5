"""What every honest vlm hunt gives back: of answerers without luck, and of verifiers that nobody knows.

Recall, exact names and false discoveries are in `benchmarks/campaign/vlm.py`.
"""

from __future__ import annotations

import pytest
from benchmarks.campaign.vlm import MARGIN, hunted, hunted_through_verifier

from failscape.simulate.questions import PlantedAnswerer, PlantedGrammar
from failscape.spaces.questions import Pattern, make_pattern
from failscape.stats.judging.accuracy import JudgeAccuracy


def test_nothing_is_claimed_of_a_target_that_is_always_right() -> None:
    assert hunted(PlantedAnswerer({}, slips=0.0), 300).findings() == []


def test_a_skill_that_always_fails_is_named_and_all_claims_are_true() -> None:
    weak = make_pattern("negation", ["negation"])
    answerer = PlantedAnswerer({weak: 1.0}, slips=0.0)
    claimed = [Pattern.parse(finding.subject) for finding in hunted(answerer, 400).findings()]
    assert weak in claimed
    assert all(answerer.true_rate(pattern, PlantedGrammar(), 600) > MARGIN for pattern in claimed)


@pytest.mark.parametrize("accuracy", [None, JudgeAccuracy.from_counts({"*": (220, 240, 240, 240)})])
def test_without_labels_of_each_skill_nothing_is_certified(accuracy: JudgeAccuracy | None) -> None:
    found = hunted_through_verifier(accuracy, 0).findings()
    assert {one.status for one in found} <= {"conditional"}


def test_an_audit_looks_at_no_more_answers_than_it_may() -> None:
    hunt = hunted_through_verifier(None, 0, labels=40)
    counts = [hunt.confirmation.audited_count(pattern) for pattern in hunt.confirmation.slots]
    assert counts
    assert max(count.tries for count in counts) <= 40


def test_what_people_say_of_a_modes_own_answers_decides_it() -> None:
    """40 labels a mode by people who are right: before them nothing is certified, after them what is true."""
    hunt = hunted_through_verifier(None, 0)
    before = hunt.findings()
    assert {one.status for one in before} <= {"conditional"}
    asked = {one.key: one for one in hunt.ledger.outcomes}
    shown = {key for one in before for key in one.details.to_review}
    hunt.hear_people({key: asked[key].answer != asked[key].truth for key in shown})
    certified = [one.subject for one in hunt.findings() if one.status == "certified"]
    assert certified
    assert not [subject for subject in certified if "counting" in subject]
