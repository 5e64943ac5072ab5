"""Gathers pictures that are asked for at the same time into batches. Bounded: what does not fit is refused.

Only pictures with equal settings share a batch. The oldest one decides which settings are next.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failscape.errors import ConfigError
from failscape.pictures import Picture
from failscape.servers.backends import Drawing, ImageBackend
from failscape.servers.requests import RequestError

#: How long the first picture of a batch waits for others: little beside drawing, enough for a burst.
LINGER_SECONDS = 0.01

#: Share of the past in the mean seconds per picture, from which `Retry-After` is reckoned.
MEMORY = 0.9


class Busy(Exception):
    """The queue is full; `retry_after` is when there should be room, in whole seconds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} pictures are waiting already")
        self.retry_after = retry_after


@dataclass(slots=True)
class Job:
    prompt: str
    seed: int
    settings: tuple[tuple[str, Any], ...]
    future: asyncio.Future[Picture]


@dataclass(slots=True)
class BatchCounts:
    pictures: int = 0
    batches: int = 0
    failed: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Batcher:
    """Owns the queue in front of one backend; `start` and `close` are the server's to call."""

    backend: ImageBackend
    queue: int
    linger: float = LINGER_SECONDS
    counts: BatchCounts = field(default_factory=BatchCounts)
    waiting: deque[Job] = field(default_factory=deque)
    _pace: float = 0.0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _workers: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._workers = [asyncio.create_task(self._work()) for _ in range(self.backend.workers)]

    async def close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for job in self.waiting:
            job.future.cancel()

    async def submit(
        self, prompts: Sequence[str], seeds: Sequence[int], settings: Mapping[str, Any]
    ) -> list[Picture]:
        """All pictures of one request, or the first error among them."""
        self._make_room(len(prompts))
        loop, key = asyncio.get_running_loop(), tuple(sorted(settings.items()))
        jobs = [Job(*row, key, loop.create_future()) for row in zip(prompts, seeds, strict=True)]
        self.waiting.extend(jobs)
        self._wake.set()
        try:
            return list(await asyncio.gather(*(job.future for job in jobs)))
        finally:
            for job in jobs:  # the client left, or one of them failed: the others are not drawn
                job.future.cancel()

    def _make_room(self, wanted: int) -> None:
        """One request larger than the whole queue is served when nothing else waits."""
        if self.waiting and len(self.waiting) + wanted > self.queue:
            self.counts.refused += 1
            raise Busy(len(self.waiting), max(1, round(len(self.waiting) * self._pace)))

    async def _work(self) -> None:
        while True:
            while not self.waiting:
                self._wake.clear()
                await self._wake.wait()
            if self.linger and len(self.waiting) < self.backend.batch > 1:
                await asyncio.sleep(self.linger)
            jobs = self._take()
            if jobs:
                await self._draw(jobs)

    def _take(self) -> list[Job]:
        """The oldest job and those behind it that may share its batch; given-up ones are dropped."""
        taken: list[Job] = []
        left: deque[Job] = deque()
        most = self.backend.limit.most
        while self.waiting and len(taken) < most:
            job = self.waiting.popleft()
            if job.future.done():
                continue
            fits = not taken or job.settings == taken[0].settings
            (taken if fits else left).append(job)
        self.waiting.extendleft(reversed(left))
        return taken

    async def _draw(self, jobs: list[Job]) -> None:
        began = time.monotonic()
        prompts, seeds = [job.prompt for job in jobs], [job.seed for job in jobs]
        try:
            drawn = await self.backend.paint(prompts, seeds, dict(jobs[0].settings))
        except asyncio.CancelledError:
            for job in jobs:
                job.future.cancel()
            raise
        except Exception as error:
            self.counts.failed += len(jobs)
            _fail(jobs, error)
            return
        seconds = time.monotonic() - began
        self._pace = (
            MEMORY * self._pace + (1 - MEMORY) * seconds / len(jobs) if self._pace else seconds / len(jobs)
        )
        self.counts.batches += 1
        self.counts.seconds += seconds
        for job, one in zip(jobs, drawn, strict=True):
            self._settle(job, one)

    def _settle(self, job: Job, drawn: Drawing) -> None:
        if isinstance(drawn, RequestError):
            self.counts.failed += 1
        else:
            self.counts.pictures += 1
        if job.future.done():
            return
        if isinstance(drawn, RequestError):
            job.future.set_exception(drawn)
        else:
            job.future.set_result(drawn)


def _fail(jobs: Sequence[Job], error: Exception) -> None:
    """A mistake in the settings is the client's, everything else the server's."""
    told = RequestError(str(error)) if isinstance(error, ConfigError) else error
    for job in jobs:
        if not job.future.done():
            job.future.set_exception(told)
