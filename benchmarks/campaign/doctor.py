"""The doctor's verdict on judges with known habits, over 200 exams each, by its own decision code."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

from benchmarks.campaign.measurements import Measurement, at_least, at_most
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

    exam = JudgeExam()
    pictures = 0
    numbers = count()
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


def fails(exam: JudgeExam) -> bool:
    return any(one.status == "fail" for one in exam.observations())


def failing_exams(hit: float, slip: float, drawn: float) -> tuple[int, float]:
    """Of `RUNS` exams, those the judge fails; and the mean number of pictures."""
    luck = random.Random(f"{hit}/{slip}/{drawn}")
    exams = [examined(luck, hit, slip, drawn) for _ in range(RUNS)]
    return sum(fails(exam) for exam, _ in exams), sum(pictures for _, pictures in exams) / RUNS


def judge_exams() -> Iterator[Measurement]:
    for yes in (0.97, 0.9, 0.8, 0.5, 0.03):
        failed, _ = failing_exams(yes, yes, drawn=0.8)
        yield at_least(f"exams of {RUNS} failed by a judge that says yes to {yes:.0%} of all", failed, RUNS)
    for hit, slip, drawn in ((0.95, 0.05, 0.8), (0.95, 0.05, 0.6), (0.9, 0.1, 0.8), (0.99, 0.01, 0.95)):
        failed, pictures = failing_exams(hit, slip, drawn)
        name = f"judge {hit:g}/{slip:g}, {drawn:.0%} drawn rightly"
        yield at_most(f"{name}: failed exams of {RUNS}", failed, 5)
        yield at_most(f"{name}: mean number of pictures", pictures, 64)
