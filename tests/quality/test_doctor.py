"""The doctor's verdict on judges with known habits, over 200 runs each, by its own decision code."""

from __future__ import annotations

import random
from itertools import count

import pytest

from failscape.doctor.comparisons import JudgeExam

RUNS = 200
KINDS = [
    "Base: Colour",
    "Base: Count",
    "Background: Place",
    "Background: Time",
    "Image: Style",
    "Image: Mood",
]


def examined(luck: random.Random, hit: float, slip: float, drawn: float) -> tuple[JudgeExam, int]:
    """A whole exam: the target draws rightly with chance `drawn`; the judge says yes with `hit` or `slip`."""

    def says(holds: bool) -> bool:
        return luck.random() < (hit if holds else slip)

    exam, pictures, numbers = JudgeExam(), 0, count()
    while (pairs := exam.next_round(KINDS, next(numbers))) is not None:
        for kinds in [kinds for kinds in pairs for _ in range(2)]:
            pictures += 1
            for kind in ("entity", *kinds):
                own = says(luck.random() < drawn)
                if kind == "entity":
                    exam.tell("blank", kind, own, says(False))
                exam.tell("picture", kind, own, says(False))
                exam.tell("value", kind, own, says(False))
    return exam, pictures


def failing_runs(hit: float, slip: float, drawn: float) -> tuple[int, float]:
    luck, failed, pictures = random.Random(f"{hit}/{slip}/{drawn}"), 0, 0
    for _ in range(RUNS):
        exam, used = examined(luck, hit, slip, drawn)
        failed += any(one.status == "fail" for one in exam.observations())
        pictures += used
    return failed, pictures / RUNS


@pytest.mark.parametrize("yes", [0.97, 0.9, 0.8, 0.5, 0.03])
def test_a_judge_that_does_not_look_always_fails(yes: float) -> None:
    """Whatever share of everything it says yes to."""
    failed, _ = failing_runs(yes, yes, drawn=0.8)
    assert failed == RUNS


@pytest.mark.parametrize(
    ("hit", "slip", "drawn"), [(0.95, 0.05, 0.8), (0.95, 0.05, 0.6), (0.9, 0.1, 0.8), (0.99, 0.01, 0.95)]
)
def test_a_good_judge_passes(hit: float, slip: float, drawn: float) -> None:
    failed, pictures = failing_runs(hit, slip, drawn)
    assert failed <= 5
    assert pictures <= 64
