"""Guidance of a questioner in training: which lesson it is, the skill that it names, the picture in words.

A questioner gets its guidance as text, as every questioner does, and the atlas keeps that text. It is written
and read here only: `lesson 12 [counting]: a red cow on a beach`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class LessonPhase(StrEnum):
    """Questions of the warm-up are written by the model as it is; those of lessons earn rewards."""

    WARM_UP = "warm-up"
    LESSON = "lesson"


_TEXT = re.compile(
    rf"({'|'.join(LessonPhase)}) (0|[1-9][0-9]*)(?: \[([^\]]*)\])?: ?(.*)", re.DOTALL | re.ASCII
)


@dataclass(frozen=True, slots=True)
class LessonGuidance:
    """What a questioner is told in a lesson.

    Attributes:
        phase: Whether it is of the warm-up.
        number: Its place in the phase.
        skill: The skill that a question should take; `""` where the questioner is free.
        caption: What is known about the picture.
    """

    phase: LessonPhase
    number: int
    skill: str = ""
    caption: str = ""

    @property
    def name(self) -> str:
        """`lesson 12 [counting]`."""
        named = f" [{self.skill}]" if self.skill else ""
        return f"{self.phase} {self.number}{named}"

    @property
    def text(self) -> str:
        """As a questioner reads it and the atlas keeps it."""
        return f"{self.name}: {self.caption}"

    @classmethod
    def parse(cls, text: str) -> "LessonGuidance | None":
        """The parts of a guidance; None where it is not of a lesson."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        phase, number, skill, caption = found.groups()
        return cls(LessonPhase(phase), int(number), skill or "", caption)
