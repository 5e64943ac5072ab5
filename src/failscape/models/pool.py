"""Sends requests to a pool of endpoints: as many at once as each can take, again where that can help.

It knows nothing of what is sent or what the reply means: callers give a path, a body and a `read` that
turns the reply's bytes into a value or raises `BadReply`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, NamedTuple, TypeVar

import aiohttp

from failscape.errors import BadReply, ModelError, RateLimited, Refused, Transient
from failscape.models.endpoints import Endpoint, EndpointStats
from failscape.models.faults import Redactor, classify_exception, classify_status
from failscape.models.limits import Backoff, Outage

T = TypeVar("T")


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


Transport = Callable[[str, bytes], Awaitable[Response]]
"""Posts a body to an address. The pool turns what it raises into `ModelError`s."""

NETWORK_FAULTS = (aiohttp.ClientError, TimeoutError, OSError)

BAD_REPLIES = 3
"""A reply out of form is asked for this often in all."""

POISON = 6
"""So many transient failures of one request, while others are answered: the request is the cause."""


@dataclass(slots=True)
class Answer(Generic[T]):
    """A value, which address gave it, and what it took.

    `requests` counts every attempt, `answered` those that got an answer and so may be billed.
    """

    value: T
    base: str
    requests: int
    answered: int
    seconds: float


@dataclass(slots=True)
class _Journey:
    """One request on its way through its attempts."""

    started: float = 0.0
    requests: int = 0
    answered: int = 0
    bad: int = 0
    limited: int = 0
    transient: int = 0


class Pool:
    """Endpoints of one model. Use from one event loop."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        transport: Transport,
        patience: float = 300.0,
        backoff: Backoff | None = None,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoints = list(endpoints)
        self._transport = transport
        self._patience = patience
        self._backoff = backoff or Backoff()
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._chance = chance
        self._sleep = sleep
        self._outage = Outage(enough=5 * len(self._endpoints))
        self._queue: deque[asyncio.Future[tuple[Endpoint, bool]]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._last_error: ModelError | None = None
        self._last_success = float("-inf")

    @property
    def requests(self) -> int:
        """Every attempt so far."""
        return sum(endpoint.requests for endpoint in self._endpoints)

    def stats(self) -> list[EndpointStats]:
        now = self._clock()
        return [endpoint.stats(now) for endpoint in self._endpoints]

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def post(self, path: str, body: bytes, read: Callable[[bytes], T]) -> Answer[T]:
        """Get a value, whatever it takes. Raises a `ModelError` when nothing can help any more."""
        journey = _Journey()
        while True:
            try:
                endpoint, trial = self._take() or await self._queue_up(journey.requests > 0)
            except ModelError as error:
                error.requests = journey.requests
                raise
            outcome = await self._attempt(endpoint, trial, path, body, read, journey)
            if not isinstance(outcome, ModelError):
                seconds = self._last_success - journey.started
                return Answer(outcome, endpoint.base, journey.requests, journey.answered, seconds)
            await self._after_failure(outcome, endpoint, journey)

    async def _attempt(
        self,
        endpoint: Endpoint,
        trial: bool,
        path: str,
        body: bytes,
        read: Callable[[bytes], T],
        journey: _Journey,
    ) -> T | ModelError:
        """One request: its value, or its error, of which endpoint and pool have learnt already."""
        sent_at = self._clock()
        if not journey.requests:
            journey.started = sent_at  # time in the queue is not the model's
        journey.requests += 1
        endpoint.requests += 1
        outcome: T | ModelError
        try:
            response = await self._transport(endpoint.base + path, body)
            outcome = self._understand(response, endpoint, read, journey)
        except NETWORK_FAULTS as fault:
            outcome = classify_exception(fault, endpoint.name, endpoint.ok > 0, self._redactor)
            outcome.__cause__ = fault
        except BaseException:
            endpoint.give_back(trial)
            self._dispatch()
            raise
        if isinstance(outcome, ModelError):
            self._note_failure(outcome, endpoint, sent_at, trial)
        else:
            endpoint.succeeded()
            self._outage.succeeded()
            self._last_success = self._clock()
        if self._queue:
            self._dispatch()
        return outcome

    def _understand(
        self, response: Response, endpoint: Endpoint, read: Callable[[bytes], T], journey: _Journey
    ) -> T | ModelError:
        status, headers, body = response
        if not 200 <= status < 300:
            succeeded = endpoint.ok > 0
            now = datetime.now(UTC)
            return classify_status(status, headers, body, endpoint.name, succeeded, now, self._redactor)
        journey.answered += 1
        try:
            return read(body)
        except ModelError as error:
            error.message = f"{endpoint.name}: {self._redactor.clean(error.message)}"
            error.endpoint = endpoint.name
            return error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            said = self._redactor.excerpt(body, 120)
            return BadReply(f"{endpoint.name}: the reply is not in form: {said}", "", endpoint.name)

    def _note_failure(self, error: ModelError, endpoint: Endpoint, sent_at: float, trial: bool) -> None:
        now = self._clock()
        endpoint.failed(error, now, sent_at, trial)
        if isinstance(error, RateLimited | Transient):
            self._last_error = error
            self._outage.failed(now)
        else:
            self._outage.succeeded()

    async def _after_failure(self, error: ModelError, endpoint: Endpoint, journey: _Journey) -> None:
        """Return when another attempt is worth it, after the wait that is due; raise when it is not."""
        error.requests = journey.requests
        if isinstance(error, RateLimited):
            journey.limited += 1
            self._check_outage(journey)
            if error.retry_after is None:
                await self.pause(journey.limited)
        elif isinstance(error, Transient):
            journey.transient += 1
            self._check_outage(journey)
            if journey.transient >= POISON and self._last_success > journey.started:
                raise Refused(
                    f"failed {journey.transient} times while other requests were answered: {error.message}",
                    error.fix, error.endpoint,
                ).counting(journey.requests) from error  # fmt: skip
            if not endpoint.health.ejected:  # an ejected endpoint has its own pause; others may be free now
                await self.pause(journey.transient)
        elif isinstance(error, BadReply) and journey.bad + 1 < BAD_REPLIES:
            journey.bad += 1
            await self.pause(journey.bad)
        else:
            raise error

    async def pause(self, failures: int) -> None:
        """Wait as long as is due after so many failures in a row."""
        await self._sleep(self._backoff.delay(failures, self._chance()))

    def _check_outage(self, journey: _Journey) -> None:
        if self._outage.hopeless(self._clock(), self._patience):
            raise self._given_up().counting(journey.requests)

    def _given_up(self) -> ModelError:
        last = self._last_error
        names = ", ".join(endpoint.name for endpoint in self._endpoints)
        seconds = self._outage.lasts(self._clock())
        message = f"no answer from {names} for {seconds:.0f} s (patience {self._patience:g} s)"
        fix = (last.fix if last else "") or "see to the server"
        error = Transient(
            f"{message}; last: {last.message if last else '?'}", f"{fix}, then run again", names
        )
        error.__cause__ = last
        return error

    # Waiting for a place: first come, first served, and one alarm for the whole pool.

    def _take(self) -> tuple[Endpoint, bool] | None:
        """A place, if one is free and nobody came earlier."""
        if self._queue:
            return None
        endpoint = self._freest()
        return (endpoint, endpoint.take()) if endpoint else None

    def _freest(self) -> Endpoint | None:
        now = self._clock()
        if len(self._endpoints) == 1:
            only = self._endpoints[0]
            return only if only.free(now) else None
        free = [endpoint for endpoint in self._endpoints if endpoint.free(now)]
        return min(free, key=lambda endpoint: endpoint.load) if free else None

    async def _queue_up(self, came_back: bool) -> tuple[Endpoint, bool]:
        """Wait for a place. A request that comes back goes first, or it might be overtaken for ever."""
        future: asyncio.Future[tuple[Endpoint, bool]] = asyncio.get_running_loop().create_future()
        if came_back:
            self._queue.appendleft(future)
        else:
            self._queue.append(future)
        self._dispatch()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                endpoint, trial = future.result()
                endpoint.give_back(trial)
                self._dispatch()
            raise

    def _dispatch(self) -> None:
        """Give free places to those who wait; when none is left, see that somebody looks again in time."""
        while self._queue:
            if self._queue[0].done():
                self._queue.popleft()
                continue
            endpoint = self._freest()
            if endpoint is None:
                self._set_alarm()
                return
            self._queue.popleft().set_result((endpoint, endpoint.take()))

    def _set_alarm(self) -> None:
        """Ring when the first resting endpoint may be tried, or when patience runs out."""
        now = self._clock()
        openings = [endpoint.health.until for endpoint in self._endpoints]
        too_long = min(openings) - now > max(self._patience, 1.0)
        if too_long or self._outage.hopeless(now, self._patience):
            self._fail_all()
            return
        moments = [moment for moment in openings if moment > now]
        if moments and self._outage.since is not None:
            moments.append(max(now, self._outage.since + self._patience))
        if moments:
            self._ring_in(min(moments) - now)

    def _ring_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._alarm is not None:
            if self._alarm.when() <= loop.time() + seconds + 0.001:
                return
            self._alarm.cancel()
        self._alarm = loop.call_later(max(seconds, 0.001), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._dispatch()

    def _fail_all(self) -> None:
        for future in self._queue:
            if not future.done():
                future.set_exception(self._given_up())
        self._queue.clear()
