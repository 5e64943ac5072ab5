"""The loop: ask, run, record, tell. It owns what is in flight and nothing else.

Trials are recorded in groups by one writer thread, and told only afterwards, in the order recorded.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from failscape.atlas import Atlas, Recorded
from failscape.config import RuntimeConfig
from failscape.errors import AtlasError
from failscape.hunts.protocol import Hunt
from failscape.runtime.budget import Budget, RunHealth
from failscape.runtime.stages import Team
from failscape.runtime.walk import Walk
from failscape.trials import Probe

#: How long probes in flight may finish after an interrupt before they are given up.
GRACE_SECONDS = 30.0

TICK_SECONDS = 0.5

#: Groups with more image bytes than this are written by a thread, so that a slow disk stalls nothing.
INLINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended: `done`, `budget` or `interrupted`. An error is raised instead."""

    kind: str
    reason: str


class Engine:
    """Runs one hunt until it is done, out of budget, interrupted or broken."""

    def __init__(
        self,
        hunt: Hunt,
        team: Team,
        atlas: Atlas,
        hunt_id: int,
        budget: Budget,
        settings: RuntimeConfig,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self.hunt = hunt
        self.budget = budget
        self.health = RunHealth()
        self.in_flight: dict[asyncio.Task[Recorded], Walk] = {}
        self._team = team
        self._atlas = atlas
        self._hunt_id = hunt_id
        self._settings = settings
        self._on_progress = on_progress
        self._held: list[Probe] = []
        self._finished: list[Recorded] = []
        self._saving: list[Future[None]] = []
        self._wake = asyncio.Event()
        self._stop: Stop | None = None
        self._error: BaseException | None = None
        self._writer = ThreadPoolExecutor(1, "atlas-writer")
        self._find_call = atlas.find_call if settings.cache and atlas.has_calls else None
        self._earlier_seconds = budget.spent.seconds
        self._clock = time.monotonic()

    def interrupt(self) -> None:
        """Stop asking; let what is in flight finish and be recorded."""
        self._stop = Stop("interrupted", "interrupted")
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._give_up)
        self._wake.set()

    async def run(self) -> Stop:
        try:
            while True:
                self._fill()
                if not self.in_flight and not self._finished:
                    break
                await self._next_group()
        except BaseException:
            # Cancelled, or the atlas failed: keep what is finished if that is still possible, drop the
            # rest.
            self._give_up()
            await asyncio.gather(*self.in_flight, return_exceptions=True)
            if self._finished:
                with contextlib.suppress(AtlasError):
                    await self._record(self._finished)
            raise
        finally:
            self._writer.shutdown(wait=True)
        if meaningless := self.health.meaningless:
            self._atlas.withdraw(self._hunt_id, meaningless, self.health.last_invalid)
        if self._error is not None:
            raise self._error
        for saved in self._saving:
            saved.result()
        return self._reason()

    def _fill(self) -> None:
        """Start as many probes as there is room for. Those the budget refuses wait: what is under way
        may turn out to be cached and give its share back."""
        if self._stop or self._error:
            return
        wanted = self.budget.room(self._settings.in_flight - len(self.in_flight) - len(self._held))
        probes = self._held + (self.hunt.ask(wanted) if wanted else [])
        self._held = [probe for probe in probes if not self._start(probe)]

    def _start(self, probe: Probe) -> bool:
        if not self.budget.start(probe):
            return False
        walk = Walk(probe, self._team, self._atlas.images.get, self._find_call)
        task = asyncio.create_task(walk.run())
        self.in_flight[task] = walk
        task.add_done_callback(self._ended)
        return True

    @property
    def starved(self) -> str:
        """The limit, or the stop, that keeps probes from being started; "" when nothing does."""
        if self._stop:
            return self._stop.reason
        return self.budget.refuses(self._held[0]) if self._held else self.budget.exhausted()

    def halt(self, limit: str) -> None:
        """Start nothing more: `limit` leaves no room for what has to come next."""
        self._stop = self._stop or Stop("budget", limit)

    def _reason(self) -> Stop:
        if self._stop:
            return self._stop
        if self.hunt.done:
            return Stop("done", "the hunt is done")
        limit = self.budget.refuses(self._held[0]) if self._held else self.budget.exhausted()
        return Stop("budget", limit) if limit else Stop("done", "nothing left to ask")

    def _ended(self, task: asyncio.Task[Recorded]) -> None:
        walk = self.in_flight.pop(task)
        self.budget.end(walk.probe, walk.calls)
        self._wake.set()
        if not task.cancelled() and task.exception() is None:
            self._finished.append(task.result())
            return
        if not task.cancelled() and self._error is None:
            self._error = task.exception()
            self._give_up()
        # A walk that did not finish leaves its finished calls in the cache.
        paid = [call for call in walk.calls if not call.cached]
        if paid:
            keep = self._settings.keep_images
            self._saving.append(self._writer.submit(self._atlas.save_calls, self._hunt_id, paid, keep))

    async def _next_group(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)
        self._wake.clear()
        self.budget.spent.seconds = self._earlier_seconds + time.monotonic() - self._clock
        self._fill()  # keep the models busy while the group is being written
        if self._finished:
            group, self._finished = self._finished, []
            await self._record(group)
            for recorded in group:
                self.hunt.tell(recorded.trial)
                self.health.watch(recorded)
            if self._error is None and (error := self.health.hopeless()):
                self._error = error
                self._give_up()
        self._on_progress()

    async def _record(self, group: list[Recorded]) -> None:
        """Small groups are written at once, for a hand-over to a thread costs more than they do."""
        keep, hunt_id = self._settings.keep_images, self._hunt_id
        if _bytes_of(group) <= INLINE_BYTES:
            self._atlas.record(hunt_id, group, keep)
        else:
            loop = asyncio.get_running_loop()
            writing = loop.run_in_executor(self._writer, self._atlas.record, hunt_id, group, keep)
            await asyncio.shield(writing)

    def _give_up(self) -> None:
        for task in self.in_flight:
            task.cancel()


def _bytes_of(group: list[Recorded]) -> int:
    return sum(len(call.picture.data) for recorded in group for call in recorded.calls if call.picture)
