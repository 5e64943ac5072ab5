"""The guidance of a lesson is a type; its text, which the atlas keeps, reads back as the same lesson."""

import pytest

from failscape.spaces.lesson_guidance import LessonGuidance, LessonPhase


@pytest.mark.parametrize(
    ("lesson", "text"),
    [
        (LessonGuidance(LessonPhase.LESSON, 12, "counting", "a red cow"), "lesson 12 [counting]: a red cow"),
        (LessonGuidance(LessonPhase.WARM_UP, 0), "warm-up 0: "),
        (
            LessonGuidance(LessonPhase.LESSON, 3, "", "left: [a] cow\nright: none"),
            "lesson 3: left: [a] cow\nright: none",
        ),
    ],
)
def test_text_and_lesson_are_the_same(lesson: LessonGuidance, text: str) -> None:
    assert lesson.text == text
    assert LessonGuidance.parse(text) == lesson


@pytest.mark.parametrize("text", ["", "it takes colour", "lesson: a cow", "lesson x: a cow", "lesson 1"])
def test_other_guidance_is_no_lesson(text: str) -> None:
    assert LessonGuidance.parse(text) is None
