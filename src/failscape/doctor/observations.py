"""What an experiment of the doctor brings to light, the models of a config, each started by itself, and
their calls: many at a time where that is allowed, timed, and never guessed at.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from failscape.config import HuntConfig
from failscape.engines import model_maker
from failscape.errors import BadReply, FailscapeError, Permanent, Refused
from failscape.models.roles import Model, Reply
from failscape.runtime.walk import Item, Stage

ObservationStatus = Literal["ok", "warn", "fail"]

#: Seconds: a doctor should not wait five minutes for a server that is down.
PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One experiment: what was seen, what it means, and what to do about it when it is not `ok`.

    `n` is how many replies, pictures or pairs it rests on; 0 where nothing was counted.
    """

    name: str
    status: ObservationStatus
    seen: str
    means: str
    fix: str = ""
    n: int = 0


def concluded(
    name: str, status: ObservationStatus, seen: str, n: int, ok: str, means: str, fix: str
) -> Observation:
    """What is seen, and what that means: `ok` when all is well, else `means`, with its `fix`."""
    if status == "ok":
        return Observation(name, status, seen, ok, n=n)
    return Observation(name, status, seen, means, fix, n)


@dataclass(slots=True)
class Patients:
    """The models of a config that could be started, by role, and what is wrong with the others."""

    models: dict[str, Any] = field(default_factory=dict)
    ailing: list[Observation] = field(default_factory=list)


@contextlib.asynccontextmanager
async def patients_of(settings: HuntConfig, leave_out: tuple[str, ...] = ()) -> AsyncIterator[Patients]:
    """Every role of a config, with little patience: one that cannot start keeps no other from being examined.

    Actors of a cluster are given the time they need.
    """
    make, hurry, found = model_maker(settings), settings.engine.kind == "local", Patients()
    started: list[Model] = []
    try:
        for role, config in settings.models().items():
            if role in leave_out:
                continue
            short = {"patience": min(config.patience, PATIENCE)} if hurry else {}
            try:
                model = make(role, config.model_copy(update=short))
                await model.start()
            except FailscapeError as error:
                found.ailing.append(down(role, error))
                continue
            started.append(model)
            found.models[role] = model
        yield found
    finally:
        for model in started:
            await model.close()


class GivenUp(Permanent):
    """A model that was given up before the end of its experiments, for what `observation` says."""

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation.seen, observation.fix)
        self.observation = observation


def down(role: str, error: FailscapeError) -> Observation:
    """A role that gives no reply at all, or was given up."""
    if isinstance(error, GivenUp):
        return error.observation
    return Observation(
        f"{role}-answers",
        "fail",
        error.message,
        f"the {role} cannot be used",
        error.fix or "see its log, then try again",
    )


#: Calls under way at once: enough to see how a server batches, few enough for any server.
TOGETHER = 8


class Calls:
    """One role of one model. A reply that cannot be used is an invalid one; a dead model raises."""

    def __init__(self, role: str, model: Model, clock: Callable[[], float] = time.perf_counter) -> None:
        self.role = role
        self.clock = clock
        self.seconds: list[float] = []
        self._stage = Stage(role, model)
        self._room = asyncio.Semaphore(TOGETHER)

    async def one(self, *item: Any) -> Reply[Any]:
        """Alone: nothing else is under way, so that its time says how long one call takes."""
        started = self.clock()
        reply = await self._reply(item)
        self.seconds.append(self.clock() - started)
        return reply

    async def each(self, items: Iterable[Item]) -> list[Reply[Any]]:
        """All of them, some at a time, in order."""

        async def reply_to(item: Item) -> Reply[Any]:
            async with self._room:
                return await self._reply(item)

        return list(await asyncio.gather(*map(reply_to, items)))

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
