"""A judge that cannot tell is refused before the first image, by the name of the check."""

from __future__ import annotations

import pytest

from failscape.errors import ConfigError
from failscape.kinds.t2i.build import check_reach
from failscape.stats.judging.accuracy import JudgeAccuracy

KINDS = ["Base: Colour", "Base: Size", "Image: Style"]


def test_a_good_judge_reaches_everything() -> None:
    assert check_reach(KINDS, 3, JudgeAccuracy.from_rates({"*": (0.95, 0.95)}), 0.8) == []


def test_a_check_that_cannot_be_told_is_named_with_ways_out() -> None:
    accuracy = JudgeAccuracy.from_counts({"*": (970, 1000, 970, 1000), "Image: Style": (10, 20, 5, 10)})
    with pytest.raises(ConfigError, match="'Image: Style'") as caught:
        check_reach(KINDS, 2, accuracy, 0.8)
    assert "failscape review" in caught.value.fix
    assert check_reach(KINDS, 0, accuracy, 0.8) == [], "without values nobody asks for the style"
    assert check_reach(KINDS[:2], 2, accuracy, 0.8) == []


def test_many_fair_checks_together_are_a_warning() -> None:
    accuracy = JudgeAccuracy.from_counts(dict.fromkeys(["entity", *KINDS], (85, 100, 85, 100)))
    [warning] = check_reach(KINDS, 3, accuracy, 0.8)
    assert warning.startswith("some nodes with 1 values")
    assert "to pass it must be above" in warning, "failures can still be certified"
