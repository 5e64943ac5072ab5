"""What a trainer makes of rewards, without a trainer."""

from collections import Counter
from statistics import pstdev

import pytest

from failscape.models.training.classroom import Task, ValidQuestion
from failscape.models.training.grpo import _matched, _scaled
from failscape.models.training.imitation import Examples


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


def question(kind: str, failed: bool = False, number: int = 0) -> ValidQuestion:
    return Task(f"lesson {number}: a cow", (), 1), f"{kind}?", 1 + failed, kind


class TestExamples:
    """What a questioner learns again between its updates."""

    rows = (
        *(question("counting") for _ in range(60)),
        *(question("odd one out+size", number % 2 == 0) for number in range(30)),
        question("odd one out", True),
        question(""),
    )

    def drawn(self, named: float) -> Counter[tuple[str, str]]:
        examples = Examples(self.rows, named, "test")
        return Counter((task.skill, text) for task, text in (examples.draw() for _ in range(2000)))

    def test_rare_kinds_that_fail_count_most_and_passing_ones_hardly_at_all(self) -> None:
        found = self.drawn(0.0)
        assert found["", "odd one out?"] > found["", "odd one out+size?"] > 10 * found["", "counting?"]

    def test_a_question_is_learned_under_its_own_skills(self) -> None:
        found = self.drawn(1.0)
        assert {skill for skill, _ in found} == {"counting", "odd one out", "size"}
        assert all(skill in text for skill, text in found)

    def test_without_any_skill_nothing_is_named(self) -> None:
        examples = Examples([question("")], 1.0, "test")
        assert examples.draw()[0].skill == ""
