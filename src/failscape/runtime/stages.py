"""A stage hands one item at a time to a model's role, gathering items into micro-batches where it pays.

Most HTTP models take one item a call and limit themselves in their pool; in-process models take many at
once and are called one batch at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from failscape.errors import BadReply, ModelError
from failscape.models.roles import ROLES, Model, Reply

Item = tuple[Any, ...]
"""The arguments of one call; the role's method gets one list per argument."""


class Stage:
    """One role of one model, ready to be called item by item."""

    def __init__(self, role: str, model: Model) -> None:
        self.role = role
        self.model = model
        self.identity_digest = model.identity.digest
        self._method: Callable[..., Awaitable[Sequence[Reply[Any]]]] = getattr(model, ROLES[role][1])
        self._waiting: list[tuple[Item, asyncio.Future[Reply[Any]]]] = []
        self._workers: set[asyncio.Task[None]] = set()

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
        return replies

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)


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
