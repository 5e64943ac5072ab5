"""What captions tell of generator and captioner."""

from __future__ import annotations

import pytest

from failscape.kinds.classifier.caption_study import CaptionStudy
from failscape.kinds.classifier.prompts import Clause
from failscape.kinds.classifier.tallies import Described

BLUE, SNOW = Clause("Base: colour", "blue", ""), Clause("Background: place", "snow", "")


def picture(failed: bool = False, asked: tuple[str, ...] = (), plain: bool = False) -> Described:
    return Described(failed, "", (), asked, plain)


def test_recall_is_over_clauses_that_the_judge_sees() -> None:
    study = CaptionStudy()
    for number in range(20):
        study.learn(picture(asked=(BLUE.label,)), [BLUE] if number < 15 else [SNOW])
    found = study.survey(0.1)
    assert found is not None
    assert (found.mentioned, found.shown, found.recall) == (15, 20, 0.75)
    assert found.interval[0] < 0.75 < found.interval[1]
    assert found.unasked == ()


def test_what_comes_unasked_is_weighed_by_how_common_failures_are() -> None:
    """Failures are captioned as often as passes, but one picture in ten fails."""
    study = CaptionStudy()
    for number in range(20):
        study.learn(picture(failed=True, plain=True), [BLUE] if number < 10 else [])
        study.learn(picture(plain=True), [SNOW] if number < 4 else [])
    found = study.survey(0.1)
    assert found is not None
    shares = {one.label: one.share for one in found.unasked}
    assert shares[BLUE.label] == pytest.approx(0.05)
    assert shares[SNOW.label] == pytest.approx(0.18)


def test_without_captions_nothing_is_said() -> None:
    assert CaptionStudy().survey(0.1) is None
