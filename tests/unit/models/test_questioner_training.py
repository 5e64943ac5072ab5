"""What a trainer makes of rewards, without a trainer."""

from statistics import pstdev

import pytest

from failscape.models.training.grpo import _matched, _scaled


def test_a_step_without_failures_weighs_less_than_one_with() -> None:
    """Divided by its own spread alone, a gap between two passes would weigh as much as a failure."""
    quiet = _scaled([0.02, -0.05] * 32)
    telling = _scaled([1.3] * 6 + [0.02, -0.05] * 29)
    assert pstdev([one for one in quiet if one is not None]) < 0.2
    assert pstdev([one for one in telling if one is not None]) == pytest.approx(1.0)
    assert _scaled([None, 0.25]) == [None, 1.0]
    assert _scaled([]) == []


def test_an_empty_completion_is_worth_no_more_than_the_worst_question() -> None:
    assert _matched(["", "a?", "b?"], ["a?"], [0.4]) == [0.0, 0.4, None]
    assert _matched(["", "a?"], ["a?"], [-0.05]) == [-0.05, -0.05]
