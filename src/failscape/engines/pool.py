"""Calls copies of one model wherever they run: the least busy one, and another one when a copy is lost.

Knows nothing of Ray. A replica that was lost rests, is asked with back-off whether it is ready,
and comes back.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from failscape.errors import BadReply, ModelError

#: Seconds between questions whether a lost replica is back: doubled each time.
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0

#: A call that lost so many replicas while others worked is taken to be the cause: its trial is invalid. So is
#: one that lost the larger number of them whatever else happened; each had been up before the call.
MOST_LOSSES, MOST_LOSSES_EVER = 3, 8

WATCH_SECONDS = 0.5


class Lost(Exception):
    """The replica is gone, or does not answer. The call may be made elsewhere."""


class Replica(Protocol):
    """One copy of a model."""

    name: str

    async def ready(self) -> None:
        """Load, or come back. Raises `Lost` when it cannot yet, another error when it never will."""
        ...

    async def call(self, method: str, arguments: tuple[Any, ...]) -> Any: ...

    async def kill(self) -> None:
        """End it at once; it comes back by itself."""
        ...


@dataclass(slots=True)
class PoolCounts:
    calls: int = 0
    lost: int = 0
    timeouts: int = 0


@dataclass(slots=True, eq=False)
class ReplicaPool:
    """At most `per_replica` calls at once on each replica; the others wait in order."""

    role: str
    replicas: Sequence[Replica]
    per_replica: int = 1
    timeout: float = 120.0
    patience: float = 300.0
    first_wait: float = FIRST_WAIT
    #: More words for the error when no replica comes up.
    explain: Callable[[], str] = lambda: ""
    counts: PoolCounts = field(default_factory=PoolCounts)
    #: Replicas that are up, by the number of their calls.
    _levels: list[OrderedDict[Replica, None]] = field(default_factory=list)
    _load: dict[Replica, int] = field(default_factory=dict)
    _waiting: deque[asyncio.Future[Replica]] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _error: Exception | None = None
    _last_up: float = 0.0

    async def start(self) -> None:
        """Begin to load all, and wait for the first."""
        self._levels = [OrderedDict() for _ in range(self.per_replica + 1)]
        self._load, self._error, self._last_up = {}, None, time.monotonic()
        for replica in self.replicas:
            self._spawn(self._bring_back(replica, 0.0))
        self._spawn(self._watch())
        self._release(await self._acquire(), 1)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        while self._waiting:
            self._waiting.popleft().cancel()

    @property
    def up(self) -> int:
        return len(self._load)

    async def call(self, method: str, *arguments: Any) -> Any:
        """The reply of some replica. Raises what the model raises, or `ModelError` when all are gone."""
        losses = tries = 0
        while True:
            worked = self.counts.calls
            replica = await self._acquire()
            try:
                reply = await asyncio.wait_for(replica.call(method, arguments), self.timeout)
            except Lost as error:
                self._rest(replica)
                told = str(error)
            except TimeoutError:
                self.counts.timeouts += 1
                self._rest(replica, kill=True)
                told = f"no reply within {self.timeout:g} s"
            except BaseException:
                self._release(replica, 1)
                raise
            else:
                self._release(replica, 1)
                self.counts.calls += 1
                return reply
            losses, tries = losses + (self.counts.calls > worked), tries + 1
            if losses >= MOST_LOSSES or tries >= MOST_LOSSES_EVER:
                raise BadReply(f"this call ended {tries} replicas of the {self.role}, at last: {told}")
            # The others on a node that died fail one by one: a pause, so that not all of them are tried.
            await asyncio.sleep(self.first_wait * tries)

    # Who is free

    async def _acquire(self) -> Replica:
        if self._error is not None:
            raise self._error
        for level in self._levels[:-1]:
            if level:
                replica = next(iter(level))
                self._move(replica, 1)
                return replica
        future: asyncio.Future[Replica] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._release(future.result(), 1)  # it was given to us in the moment that we left
            raise

    def _move(self, replica: Replica, by: int) -> None:
        load = self._load[replica]
        del self._levels[load][replica]
        self._load[replica] = load + by
        self._levels[load + by][replica] = None

    def _release(self, replica: Replica, count: int) -> None:
        """Give `count` places of a replica to those who wait, or back."""
        if replica not in self._load:  # it was lost meanwhile
            return
        for _ in range(count):
            while self._waiting:
                future = self._waiting.popleft()
                if not future.done():
                    future.set_result(replica)
                    break
            else:
                self._move(replica, -1)

    # Who is lost

    def _rest(self, replica: Replica, kill: bool = False) -> None:
        """Take it out, once, however many of its calls fail."""
        load = self._load.pop(replica, None)
        if load is None:
            return
        del self._levels[load][replica]
        self.counts.lost += 1
        self._last_up = time.monotonic()
        self._spawn(self._bring_back(replica, self.first_wait, kill))

    async def _bring_back(self, replica: Replica, wait: float, kill: bool = False) -> None:
        if kill:
            await replica.kill()
        while True:
            await asyncio.sleep(wait)
            try:
                await replica.ready()
            except Lost:
                wait = min(max(2 * wait, self.first_wait), LONGEST_WAIT)
                continue
            except Exception as error:
                self._fail(error)
                return
            self._load[replica] = self.per_replica
            self._levels[self.per_replica][replica] = None
            self._release(replica, self.per_replica)
            return

    async def _watch(self) -> None:
        """Patience: how long a run may stand still because no replica is up."""
        while True:
            await asyncio.sleep(min(WATCH_SECONDS, self.patience / 4 or WATCH_SECONDS))
            if self._load:
                self._last_up = time.monotonic()
            elif time.monotonic() - self._last_up > self.patience:
                more = self.explain()
                self._fail(
                    ModelError(
                        f"no replica of the {self.role} has been up for {self.patience:g} s"
                        + (f": {more}" if more else ""),
                        "mend the cluster and run again: what was recorded is kept",
                    )
                )
                return

    def _fail(self, error: Exception) -> None:
        self._error = error
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
