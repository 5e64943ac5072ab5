"""A stage hands one item at a time to a model's role, gathering items into micro-batches where it pays.

Most HTTP models take one item a call and limit themselves in their pool; in-process models take many at
once and are called one batch at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from failscape.errors import BadReply, ModelError
from failscape.models.roles import PLAYED_AS, ROLES, Model, Reply

T = TypeVar("T")
#: The arguments of one call; the role's method gets one list per argument.
Item = tuple[Any, ...]

Method = Callable[..., Awaitable[Sequence[Reply[Any]]]]
LLM = "llm"
#: Shared calls that a stage keeps: their replies are short texts.
REMEMBERED = 100_000


class Stage:
    """One role of one model, ready to be called item by item."""

    def __init__(self, role: str, model: Model) -> None:
        self.role = role
        self.model = model
        self.identity_digest = model.identity.digest
        self._method: Method = _chat_each(model) if role == LLM else getattr(model, _method(role))
        self._waiting: list[tuple[Item, asyncio.Future[Reply[Any]]]] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._shared: dict[bytes, asyncio.Task[Any]] = {}
        self._delivered: set[bytes] = set()

    async def once(self, key: bytes, make: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """What `make` gives, made once per key however many ask; and whether the caller gets it first.

        It is made to the end even when the one who asked first gives up: the others wait for it.
        """
        task = self._shared.get(key)
        if task is None:
            if len(self._shared) >= REMEMBERED:
                forgotten = next(iter(self._shared))
                del self._shared[forgotten]
                self._delivered.discard(forgotten)
            task = self._shared[key] = asyncio.create_task(make())
        try:
            made: T = await asyncio.shield(task)
        except Exception:
            self._shared.pop(key, None)
            raise
        first = key not in self._delivered
        self._delivered.add(key)
        return made, first

    async def call(self, item: Item) -> Reply[Any]:
        if self.model.batch == 1:
            return (await self._run([item]))[0]
        future: asyncio.Future[Reply[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if len(self._workers) < self.model.parallel:
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        return await future

    async def _work(self) -> None:
        await asyncio.sleep(0)  # let the probes that are ready in this very turn of the loop join
        while self._waiting:
            batch = self._waiting[: self.model.batch]
            del self._waiting[: len(batch)]
            await self._deliver([entry for entry in batch if not entry[1].done()])
        # Here and now: the task's own end comes a turn later, and an item that joins in between would find
        # a worker that no longer looks.
        self._workers -= {task for task in (asyncio.current_task(),) if task is not None}

    async def _deliver(self, batch: list[tuple[Item, asyncio.Future[Reply[Any]]]]) -> None:
        if not batch:
            return
        try:
            replies = await self._run([item for item, _ in batch])
        except BadReply as error:
            await self._deliver_singly(batch, error)
            return
        except BaseException as error:
            _settle(batch, error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), reply in zip(batch, replies, strict=True):
            if not future.done():
                future.set_result(reply)

    async def _deliver_singly(
        self, batch: list[tuple[Item, asyncio.Future[Reply[Any]]]], error: Exception
    ) -> None:
        """One bad item must not spoil the others of its batch."""
        if len(batch) == 1:
            _settle(batch, error)
            return
        for entry in batch:
            await self._deliver([entry])

    async def _run(self, items: Sequence[Item]) -> Sequence[Reply[Any]]:
        columns = [list(column) for column in zip(*items, strict=True)]
        started = time.perf_counter()
        try:
            replies = await self._method(*columns)
        except (ModelError, asyncio.CancelledError):
            raise
        except Exception as error:
            identity = self.model.identity
            raise ModelError(
                f"the {self.role} ({identity.provider} {identity.model}) broke: {error!r}",
                "mend it and run again: what was recorded is kept",
            ) from error
        if len(replies) != len(items):
            raise BadReply(f"the {self.role} gave {len(replies)} replies to {len(items)} items")
        share = (time.perf_counter() - started) / len(items)
        return [reply if reply.usage.seconds else _timed(reply, share) for reply in replies]

    async def close(self) -> None:
        under_way = [*self._workers, *(task for task in self._shared.values() if not task.done())]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _timed(reply: Reply[Any], seconds: float) -> Reply[Any]:
    """Models in this process do not know how long they took: time is what they cost."""
    return replace(reply, usage=replace(reply.usage, seconds=seconds))


def _method(role: str) -> str:
    return ROLES[PLAYED_AS.get(role, role)][1]


def _chat_each(model: Any) -> Method:
    """An llm takes one dialogue a call; this makes it look like the other roles."""

    async def chat_each(dialogues: Sequence[Any]) -> list[Reply[Any]]:
        return [await model.chat(dialogue) for dialogue in dialogues]

    return chat_each


def _settle(batch: Sequence[tuple[Item, asyncio.Future[Reply[Any]]]], error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())


class Team:
    """The models of a run, one stage per role, started and closed together."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = dict(models)
        self.stages = {role: Stage(role, model) for role, model in models.items()}

    async def __aenter__(self) -> Team:
        started: list[Model] = []
        try:
            for model in self.models.values():
                await model.start()
                started.append(model)
        except BaseException:
            for model in started:
                await model.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for stage in self.stages.values():
            await stage.close()
        for model in self.models.values():
            await model.close()

    def stage(self, role: str) -> Stage:
        if role not in self.stages:
            raise ModelError(f"the hunt needs a {role}, but the config names none", f"add `{role}:` to it")
        return self.stages[role]
