"""Calls of a role for experiments: many at a time where that is allowed, timed, and never guessed at."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from failscape.doctor.observations import Observation
from failscape.errors import BadReply, Refused
from failscape.models.roles import Model, Reply
from failscape.runtime.walk import Item, Stage

#: Calls under way at once: enough to see how a server batches, few enough for any server.
TOGETHER = 8


class Calls:
    """One role of one model. A reply that cannot be used is an invalid one; a dead model raises."""

    def __init__(self, role: str, model: Model, clock: Callable[[], float] = time.perf_counter) -> None:
        self.role = role
        self.model = model
        self.seconds: list[float] = []
        self._clock = clock
        self._stage = Stage(role, model)
        self._room = asyncio.Semaphore(TOGETHER)

    async def one(self, *item: Any) -> Reply[Any]:
        """Alone: nothing else is under way, so that its time says how long one call takes."""
        started = self._clock()
        reply = await self._reply(item)
        self.seconds.append(self._clock() - started)
        return reply

    async def each(self, items: Iterable[Item]) -> list[Reply[Any]]:
        """All of them, some at a time, in order."""
        return list(await asyncio.gather(*(self._roomy(item) for item in items)))

    async def timed(self, items: Sequence[Item]) -> tuple[list[Reply[Any]], float]:
        started = self._clock()
        replies = await self.each(items)
        return replies, self._clock() - started

    async def _roomy(self, item: Item) -> Reply[Any]:
        async with self._room:
            return await self._reply(item)

    async def _reply(self, item: Item) -> Reply[Any]:
        try:
            return await self._stage.call(item)
        except (BadReply, Refused) as error:
            return Reply(None, error.message)

    def latency(self, what: str, together: tuple[int, float] | None = None) -> Observation:
        """How long one call takes, and how many a second there are when several are under way."""
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        seen = f"{what} took {middle:.3g} s ({worst:.3g} s at worst), one at a time"
        pace = 1 / middle if middle else 0.0
        if together and together[1] > 0:
            count, seconds = together
            pace = max(pace, count / seconds)
            seen += f"; {count} at once took {seconds:.3g} s"
        hours = 10_000 / pace / 3600 if pace else 0.0
        means = f"10,000 of them take about {hours:.1f} h" if pace else "it takes no time"
        return Observation(f"{self.role}-latency", "ok", seen, means, n=len(self.seconds))
