"""Provider `grpo`: a questioner that is trained while it asks, by TRL's GRPOTrainer. Needs the extra `rl`.

The hunt asks for questions (`Propose`); the training thread writes them, waits until they have been answered,
verified and recorded, gets their rewards, and makes one update. All of torch happens in that one thread.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, ModelError
from failscape.models.roles import Identity, Model, Reply, Usage
from failscape.models.training.classroom import Classroom, Graded, Stopped, Task
from failscape.pictures import Picture
from failscape.spaces.lesson_guidance import LessonGuidance, LessonPhase

NEEDED = ("torch", "transformers", "trl", "peft", "datasets")
#: Params that may change without making another questioner of it.
FREE = ("save_steps",)


class LessonLike(Protocol):
    guidance: LessonGuidance
    images: tuple[str, ...]
    texts: tuple[str, ...]
    rewards: tuple[float, ...]
    outcomes: tuple[int, ...]
    kinds: tuple[str, ...]


class GrpoQuestioner:
    """Warm-up questions are written by the model as it is; lessons by the model in training.

    After the lessons, and for any other guidance, by the model as training left it.
    """

    batch = 1
    parallel = 1

    def __init__(self, config: ModelConfig) -> None:
        self._params = dict(config.params)
        self.source, self.template = locate(config.model)
        kept = {name: value for name, value in self._params.items() if name not in FREE}
        self.identity = Identity("questioner", "grpo", config.model, kept)
        self.log: Callable[[dict[str, Any]], None] = lambda row: None
        self._home = Path("questioner")
        self._room = Classroom()
        self._worker = ThreadPoolExecutor(1, "grpo")
        self._study: Any = None
        self._training: Future[None] | None = None
        self._taught = 0
        self._resumed = False

    def prepare(
        self,
        home: Path,
        lessons: Sequence[LessonLike],
        begun: Sequence[LessonLike],
        load: Callable[[str], Picture],
    ) -> None:
        """Where checkpoints go, and what earlier sessions have recorded: nothing of it is asked for again."""
        self._home = home
        for lesson in (*lessons, *begun):
            pictures = tuple(load(digest) for digest in lesson.images)
            task = Task(lesson.guidance.text, pictures, len(lesson.texts))
            if lesson.guidance.phase is LessonPhase.WARM_UP:
                self._room.begin_warm_up(task)
            else:
                self._room.remember(task)
                self._resumed = True
        self.teach(lessons)

    async def start(self) -> None:
        from failscape.models.training.grpo import Study

        self._study = await self._run(Study, self.source, self.template, self._params, self._home, self._room)
        self._study.log = self.log
        if self._resumed:
            self._begin()

    async def close(self) -> None:
        self._room.stop()
        if self._training is not None:
            await asyncio.gather(asyncio.wrap_future(self._training), return_exceptions=True)
        self._worker.shutdown(wait=True, cancel_futures=True)

    async def propose(
        self, images: Sequence[tuple[Picture, ...]], guidance: Sequence[str], counts: Sequence[int]
    ) -> list[Reply[list[str]]]:
        return [await self._propose(*row) for row in zip(images, guidance, counts, strict=True)]

    async def _propose(self, pictures: tuple[Picture, ...], guidance: str, count: int) -> Reply[list[str]]:
        task = Task(guidance, pictures, count)
        phase = task.lesson.phase if task.lesson else None
        if phase is LessonPhase.LESSON:
            self._begin()
            texts = await self._room.ask(task)
        else:
            if phase is LessonPhase.WARM_UP:
                self._room.begin_warm_up(task)
            texts = await self._run(self._study.write, task)
        usage = Usage(requests=0)
        return (
            Reply(texts, usage=usage) if any(texts) else Reply(None, "no question was written", usage=usage)
        )

    def teach(self, lessons: Iterable[LessonLike]) -> None:
        """Tell what lessons were worth; those told before are skipped."""
        fresh = list(lessons)[self._taught :]
        self._taught += len(fresh)
        for lesson in fresh:
            graded = Graded(lesson.texts, lesson.rewards, lesson.outcomes, lesson.kinds)
            number = lesson.guidance.number
            if lesson.guidance.phase is LessonPhase.WARM_UP:
                self._room.grade_warm_up(number, graded)
            else:
                self._room.grade(number, graded)

    @property
    def waiting(self) -> bool:
        return self._room.waiting

    def release(self) -> None:
        """Stop waiting for one another: the run is about to end."""
        self._room.stop()

    def _begin(self) -> None:
        """The first lesson starts the training: all questions of the warm-up are written by then."""
        if self._training is None:
            self._training = self._worker.submit(self._study.train)
            self._training.add_done_callback(self._ended)

    def _ended(self, training: Future[None]) -> None:
        error = training.exception() if not training.cancelled() else None
        if isinstance(error, Stopped):
            return
        if error is not None:
            text = f"the training of the questioner broke: {type(error).__name__}: {error}"
            self._room.stop(ModelError(text, "see its checkpoints, mend the settings and run again"))

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)


def locate(name: str) -> tuple[str, str]:
    """The folder or hub name of a model, and the template of its prompt ("" for the common one)."""
    if not name:
        raise ConfigError("a grpo questioner needs a model", "name it in `questioner.training.model`")
    if name != "toybox":
        return name, ""
    shipped = importlib.import_module("failscape.toybox.questioner")
    return str(shipped.FOLDER), shipped.prompt_of("{caption}").replace("<any>", "{skill}")


def create(role: str, config: ModelConfig) -> Model:
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise MissingExtra("a grpo questioner", "rl")
    return GrpoQuestioner(config)
