"""The doctor's exam of judges without luck: each says the same in every exam."""

from __future__ import annotations

import random

import pytest
from benchmarks.campaign.doctor import examined, fails


@pytest.mark.parametrize("drawn", [0.0, 1.0])
@pytest.mark.parametrize("says", [0.0, 1.0])
def test_a_judge_that_says_one_thing_to_everything_fails(says: float, drawn: float) -> None:
    exam, _ = examined(random.Random(0), says, says, drawn)
    assert fails(exam)


def test_a_judge_that_is_always_right_passes_with_few_pictures() -> None:
    exam, pictures = examined(random.Random(0), 1.0, 0.0, 1.0)
    assert not fails(exam)
    assert pictures <= 64
