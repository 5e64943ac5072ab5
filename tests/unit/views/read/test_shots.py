"""Which trials count for a finding: what was only noted, and what is excused, is reckoned with everywhere."""

from __future__ import annotations

from failscape.atlas import StoredTrial
from failscape.trials import Check, Classify, Decide, Generate, Trial, Verdict
from failscape.views.read.shots import Shot, ShotRow, excused, rate_of_counts, shot_of

CAT = Check("entity", "cat", "A cat is visible.", gate=True)
SNOW = Check("Background: weather", "snow", "There is snow.", note=True)
STEPS = (Generate("a cat in the snow"), Decide((CAT, SNOW)), Classify(("Persian cat",)))
ROW = ShotRow("cat; snow", "", rate_of_counts(0, 0), (), ("fresh pictures",))


def shot(snow: bool | None, label: str, verdict: Verdict, purpose: str = "fresh pictures") -> Shot:
    trial = Trial(
        "cat; snow#f0", "cat; snow", verdict, f"called {label}", ["d0", [True, snow], [[label, 0.9]]]
    )
    return shot_of(StoredTrial(0, 1, trial, STEPS, (), 0.0, 0.0), purpose)


def test_a_picture_without_its_clause_does_not_count() -> None:
    assert ROW.counts(shot(True, "dog", Verdict.FAIL))
    assert ROW.counts(shot(None, "dog", Verdict.FAIL)), "nobody could say: as asked"
    assert not ROW.counts(shot(False, "dog", Verdict.FAIL))
    assert not ROW.counts(shot(True, "dog", Verdict.FAIL, "search"))


def test_an_excused_failure_counts_as_passed_and_misses_nothing() -> None:
    seen = excused(shot(True, "dog", Verdict.FAIL))
    assert seen.verdict is Verdict.PASS
    assert seen.reason == "excused: called dog"
    assert ROW.counts(seen)
    assert {mark.text: mark.state for mark in seen.marks}["called dog"] == "open"


def test_labels_are_compared_whatever_their_case() -> None:
    assert "persian CAT" in {
        mark.text for mark in shot(True, "persian CAT", Verdict.PASS).marks if mark.state == "yes"
    }
