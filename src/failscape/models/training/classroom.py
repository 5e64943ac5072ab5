"""Where a training thread and the event loop meet: tasks one way, questions and rewards the other.

The thread waits here for pictures to ask about and for what its questions were worth; the loop never waits
for the thread but through futures. No model and no torch here.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from failscape.pictures import Picture
from failscape.spaces.lesson_guidance import LessonGuidance

T = TypeVar("T")


class Stopped(Exception):
    """The run ends: the training thread is to leave at once."""


@dataclass(frozen=True)
class Task:
    """What to ask about: the guidance of a `Propose` step, its pictures, and how many questions."""

    guidance: str
    pictures: tuple[Picture, ...]
    count: int

    @cached_property
    def lesson(self) -> LessonGuidance | None:
        """The lesson that it is of; None where the guidance is another."""
        return LessonGuidance.parse(self.guidance)

    @property
    def number(self) -> int:
        """Which lesson it is."""
        assert self.lesson is not None, "only lessons are numbered"
        return self.lesson.number

    @property
    def skill(self) -> str:
        """The skill that the lesson names, "" for none."""
        return self.lesson.skill if self.lesson else ""

    @property
    def caption(self) -> str:
        """What is known about the picture, in words."""
        return self.lesson.caption if self.lesson else self.guidance


ValidQuestion = tuple[Task, str, int, str]
"""A valid question: its task and text, 2 if the target got it wrong and else 1, and its kind (its skills)."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What was written in a lesson, what each question was worth, and what came of it: see `Lesson`."""

    texts: tuple[str, ...]
    rewards: tuple[float, ...]
    outcomes: tuple[int, ...]
    kinds: tuple[str, ...]

    def valid(self, task: Task) -> list[ValidQuestion]:
        rows = zip(self.texts, self.outcomes, self.kinds, strict=True)
        return [(task, *row) for row in rows if row[1]]


class Classroom:
    """All state is behind one condition."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: dict[int, Task] = {}
        self._graded: dict[int, Graded] = {}
        self._warm_tasks: dict[int, Task] = {}
        self._warm_graded: dict[int, Graded] = {}
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[list[str]]]] = {}
        self._stopped = False
        #: Whether the training thread has nothing to do until the loop gives it a task or grades.
        self.waiting = False

    # From the event loop

    async def ask(self, task: Task) -> list[str]:
        """The questions that the thread writes for a task, whenever it comes to it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[str]] = loop.create_future()
        with self._changed:
            if self._stopped:
                raise asyncio.CancelledError
            self._waiting[task.number] = loop, future
            self._tasks[task.number] = task
            self._changed.notify_all()
        return await future

    def remember(self, task: Task) -> None:
        """A task of an earlier session, whose questions are recorded already."""
        with self._changed:
            self._tasks.setdefault(task.number, task)
            self._changed.notify_all()

    def grade(self, number: int, graded: Graded) -> None:
        with self._changed:
            self._graded[number] = graded
            self._changed.notify_all()

    def begin_warm_up(self, task: Task) -> None:
        """A task of the warm-up: its questions are written elsewhere, and learned from once graded."""
        with self._changed:
            self._warm_tasks[task.number] = task

    def grade_warm_up(self, number: int, graded: Graded) -> None:
        with self._changed:
            self._warm_graded[number] = graded
            self._changed.notify_all()

    def stop(self, error: BaseException | None = None) -> None:
        """Wake everybody. Those who wait for questions get the error."""
        with self._changed:
            self._stopped = True
            waiting, self._waiting = self._waiting, {}
            self._changed.notify_all()
        for loop, future in waiting.values():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_fail, future, error)

    # From the training thread

    def task(self, number: int) -> Task:
        """Waits until the loop asks for it."""
        return self._wait(lambda: self._tasks.get(number))

    def hand_in(self, number: int, texts: Sequence[str]) -> None:
        with self._changed:
            waiting = self._waiting.pop(number, None)
        if waiting is not None:
            loop, future = waiting
            loop.call_soon_threadsafe(_succeed, future, list(texts))

    def graded(self, number: int) -> Graded:
        """Waits until the questions of a lesson have been put to the target."""
        return self._wait(lambda: self._graded.get(number))

    def warm_up(self) -> list[ValidQuestion]:
        """The valid questions of the warm-up, in its order. Waits until all were put to the target: lessons
        are planned before the last are, and what is learned must not hang on who is faster."""
        self._wait(lambda: self._warm_tasks.keys() <= self._warm_graded.keys() or None)
        ordered = sorted(self._warm_tasks.items())
        return [row for number, task in ordered for row in self._warm_graded[number].valid(task)]

    def _wait(self, look: Callable[[], T | None]) -> T:
        with self._changed:
            try:
                while True:
                    if self._stopped:
                        raise Stopped
                    found = look()
                    if found is not None:
                        return found
                    self.waiting = True
                    self._changed.wait(1.0)
            finally:
                self.waiting = False


def _succeed(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: BaseException | None) -> None:
    if not future.done():
        if error is None:
            future.cancel()
        else:
            future.set_exception(error)
