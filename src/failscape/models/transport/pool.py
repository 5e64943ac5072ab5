"""Sends requests to a pool of endpoints: as many at once as each can take, again where that can help.

It knows nothing of what is sent or what the reply means: callers give a path, a body and a `read` that
turns the reply's bytes into a value or raises `BadReply`.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import aiohttp

from failscape.errors import BadReply, ModelError, Permanent, RateLimited, Refused, Transient
from failscape.models.transport.encoding import LARGE, Finishing, off_loop, read_off_loop
from failscape.models.transport.endpoints import Backoff, Endpoint, EndpointStats, Outage
from failscape.models.transport.faults import (
    NETWORK_FAULTS,
    Redactor,
    classify_exception,
    classify_status,
    is_refusal,
)

T = TypeVar("T")
E = TypeVar("E", bound=ModelError)


class Response(NamedTuple):
    """`pieces` is the body as it came; `_understand` joins it, off the event loop when it is long.

    `let_go` is called once the body has been understood, and its memory is free.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Sequence[bytes] = ()
    let_go: Callable[[], object] = lambda: None


class _Waiter(NamedTuple):
    """One that waits for a place, but not at those it has tried in vain."""

    place: asyncio.Future[tuple[Endpoint, bool]]
    avoid: Container[Endpoint]


#: Posts a body to an address. The pool turns what it raises into `ModelError`s.
Transport = Callable[[str, bytes], Awaitable[Response]]

#: A reply out of form is asked for this often in all.
BAD_REPLIES = 3

#: So many transient failures of one request, each with a success of another since: it is the cause itself.
POISON = 6


@dataclass(slots=True)
class PoolReply(Generic[T]):
    """A value, which address gave it, and what it took.

    `requests` counts every attempt, `answered` those that got an answer (a 2xx, in form or not) and so
    are paid for.
    """

    value: T
    base: str
    requests: int
    answered: int
    seconds: float


@dataclass(slots=True)
class _Journey:
    """One request on its way through its attempts.

    `seen` is how many successes the pool had when we last looked, `suspect` how many failures came while
    that number grew. In an outage it does not grow, so an outage makes nobody suspect. `accused` are the
    endpoints that refused it or gave no usable reply; `final`: the model itself refused, whoever serves it.
    """

    finishing: Finishing | None = None
    started: float = 0.0
    requests: int = 0
    answered: int = 0
    bad: int = 0
    limited: int = 0
    transient: int = 0
    seen: int = 0
    suspect: int = 0
    failed_trial: bool = False
    final: bool = False
    accused: dict[Endpoint, ModelError] = field(default_factory=dict)

    def billed(self, error: E) -> E:
        return error.counting(self.requests, self.answered)


class EndpointPool:
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
        self._rotation = list(endpoints)
        for endpoint in self._endpoints:
            endpoint.has_peers = len(self._endpoints) > 1
        self._transport = transport
        self._patience = patience
        self._backoff = backoff or Backoff()
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._chance = chance
        self._sleep = sleep
        self._outage = Outage(enough=5 * len(self._endpoints))
        self._queue: deque[_Waiter] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._last_error: ModelError | None = None
        self._successes = 0

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

    async def post(
        self, path: str, body: bytes, read: Callable[[bytes], T], finishing: Finishing | None = None
    ) -> PoolReply[T]:
        """Get a value, whatever it takes. Raises a `ModelError` when nothing can help any more.

        `finishing` is work on what was read that may find it bad, and may take long even if a reply is short.
        """
        journey = _Journey(finishing=finishing)
        while True:
            try:
                endpoint, trial = self._take(journey) or await self._queue_up(journey)
            except ModelError as error:
                journey.billed(error)
                raise
            outcome = await self._attempt(endpoint, trial, path, body, read, journey)
            if not isinstance(outcome, ModelError):
                for other, charge in journey.accused.items():  # this one did what they did not
                    if not other.trusted or isinstance(charge, Permanent):
                        other.expel(self._clock())
                seconds = self._clock() - journey.started
                return PoolReply(outcome, endpoint.base, journey.requests, journey.answered, seconds)
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
            journey.seen = self._successes
        journey.requests += 1
        endpoint.requests += 1
        outcome: T | ModelError
        try:
            response = await self._transport(endpoint.base + path, body)
            try:
                outcome = await self._take_in(response, endpoint, read, journey)
            finally:
                response.let_go()
        except BadReply as error:  # its body is longer than any reply may be
            outcome = error
        except NETWORK_FAULTS as fault:
            outcome = classify_exception(fault, endpoint.name, endpoint.ok > 0, self._redactor)
            outcome.__cause__ = fault
            journey.answered += isinstance(fault, aiohttp.ClientPayloadError)  # an answer that broke off
        except BaseException:
            endpoint.give_back(trial)
            self._dispatch()
            raise
        if isinstance(outcome, ModelError):
            journey.failed_trial = trial
            self._note_failure(outcome, endpoint, sent_at, trial)
        else:
            endpoint.succeeded()
            self._outage.succeeded()
            self._successes += 1
        if self._queue:
            self._dispatch()
        return outcome

    async def _take_in(
        self, response: Response, endpoint: Endpoint, read: Callable[[bytes], T], journey: _Journey
    ) -> T | ModelError:
        """What the reply says, read and finished: off the event loop where that takes long."""
        finishing = journey.finishing

        def finish(value: T) -> T:
            if finishing is not None:
                finishing.work(value)
            return value

        if sum(map(len, response.pieces)) >= LARGE:
            whole = partial(self._understand, response, endpoint, lambda body: finish(read(body)), journey)
            return await (read_off_loop(whole) if finishing else off_loop(True, whole))
        outcome = self._understand(response, endpoint, read, journey)
        if finishing is None or isinstance(outcome, ModelError):
            return outcome
        rest = partial(self._guarded, lambda: finish(outcome), b"", endpoint, journey)
        return await (read_off_loop(rest) if finishing.takes_long(outcome) else off_loop(False, rest))

    def _understand(
        self, response: Response, endpoint: Endpoint, read: Callable[[bytes], T], journey: _Journey
    ) -> T | ModelError:
        status, headers, pieces, _ = response
        body = b"".join(pieces)
        if not 200 <= status < 300:
            journey.final = is_refusal(body)
            # All endpoints serve the same model with the same settings: a success of one proves them right.
            succeeded, now = self._successes > 0, datetime.now(UTC)
            return classify_status(status, headers, body, endpoint.name, succeeded, now, self._redactor)
        journey.answered += 1
        return self._guarded(lambda: read(body), body, endpoint, journey)

    def _guarded(
        self, work: Callable[[], T], body: bytes, endpoint: Endpoint, journey: _Journey
    ) -> T | ModelError:
        """What `work` gives; whatever it trips over in a reply is an error of that reply."""
        try:
            return work()
        except ModelError as error:
            journey.final = isinstance(error, Refused)
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
        elif endpoint.trusted:
            self._outage.succeeded()

    async def _after_failure(self, error: ModelError, endpoint: Endpoint, journey: _Journey) -> None:
        """Return when another attempt is worth it, after the wait that is due; raise when it is not."""
        journey.billed(error)
        if isinstance(error, RateLimited):
            journey.limited += 1
            self._check_outage(journey)
            if (error.retry_after or 0.0) < self._backoff.first:  # the endpoint's own pause is longer else
                await self.pause(journey.limited)
        elif isinstance(error, Transient):
            journey.transient += 1
            journey.suspect += self._successes > journey.seen
            journey.seen = self._successes
            self._check_outage(journey)
            if journey.suspect >= POISON:
                message = (
                    f"failed {journey.transient} times while other requests were answered: {error.message}"
                )
                raise journey.billed(Refused(message, error.fix, error.endpoint)) from error
            if not endpoint.state.ejected:  # an ejected endpoint has its own pause; others may be free now
                await self.pause(journey.transient)
        elif isinstance(error, BadReply) and journey.bad + 1 < BAD_REPLIES:
            journey.bad += 1
            journey.accused[endpoint] = error
            await self.pause(journey.bad)
        elif not self._worth_trying_elsewhere(error, endpoint, journey):
            raise error

    def _worth_trying_elsewhere(self, error: ModelError, endpoint: Endpoint, journey: _Journey) -> bool:
        """Whether the endpoint may be at fault and not the request, and there is another to tell."""
        own_fault = isinstance(error, BadReply) or (isinstance(error, Refused) and endpoint.trusted)
        if journey.final or own_fault:
            return False
        journey.accused[endpoint] = error
        if len(journey.accused) < len(self._endpoints):
            return True
        if len(journey.accused) > 1:
            error.message = f"all {len(journey.accused)} endpoints refuse; {error.message}"
        return False

    async def pause(self, failures: int) -> None:
        """Wait as long as is due after so many failures in a row."""
        await self._sleep(self._backoff.delay(failures, self._chance()))

    def _check_outage(self, journey: _Journey) -> None:
        if self._outage.hopeless(self._clock(), self._patience):
            raise journey.billed(self._given_up())

    def _given_up(self) -> ModelError:
        last, now = self._last_error, self._clock()
        names, patience = ", ".join(endpoint.name for endpoint in self._endpoints), f"{self._patience:g} s"
        told = min(endpoint.state.until for endpoint in self._endpoints) - now
        message = f"no answer from {names} for {self._outage.lasts(now):.0f} s (patience {patience})"
        if told > self._longest_wait:
            message = f"{names} asks to wait {told:,.0f} s (Retry-After), longer than patience ({patience})"
        fix = (last.fix if last else "") or "see to the server"
        error = Transient(
            f"{message}; last: {last.message if last else '?'}", f"{fix}, then run again", names
        )
        error.__cause__ = last
        return error

    # Waiting for a place: first come, first served, and one alarm for the whole pool.

    def _take(self, journey: _Journey) -> tuple[Endpoint, bool] | None:
        """A place, if one is free and nobody came earlier."""
        return None if self._queue else self._free_place(self._to_avoid(journey), self._clock())

    def _to_avoid(self, journey: _Journey) -> Container[Endpoint]:
        return journey.accused if len(journey.accused) < len(self._endpoints) else ()

    def _free_place(self, avoid: Container[Endpoint], now: float) -> tuple[Endpoint, bool] | None:
        """A place at the least busy endpoint; equally busy ones take turns."""
        free = [endpoint for endpoint in self._rotation if endpoint.free(now) and endpoint not in avoid]
        if not free:
            return None
        endpoint = free[0]
        if len(self._rotation) > 1:
            endpoint = min(free, key=lambda each: each.load)
            self._rotation.remove(endpoint)
            self._rotation.append(endpoint)
        return endpoint, endpoint.take()

    async def _queue_up(self, journey: _Journey) -> tuple[Endpoint, bool]:
        """Wait for a place. A request that comes back goes first, or it might be overtaken for ever.

        One that has just tried a resting endpoint in vain goes last: should it be the cause, another must
        make the next try.
        """
        future: asyncio.Future[tuple[Endpoint, bool]] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(future, self._to_avoid(journey))
        if journey.requests and not journey.failed_trial:
            self._queue.appendleft(waiter)
        else:
            self._queue.append(waiter)
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
        """Give free places to those who wait; when none is left, see that somebody looks again in time.

        One reading of the clock for both: a rest that ended between two would be neither over nor waited for.
        """
        now = self._clock()
        choosy: list[_Waiter] = []
        while self._queue:
            waiter = self._queue.popleft()
            if waiter.place.done():
                continue
            place = self._free_place(waiter.avoid, now)
            if place is not None:
                waiter.place.set_result(place)
                continue
            choosy.append(waiter)
            if not waiter.avoid:  # nothing is free for anybody
                break
        self._queue.extendleft(reversed(choosy))
        if self._queue:
            self._set_alarm(now)

    @property
    def _longest_wait(self) -> float:
        return max(self._patience, 1.0)

    def _set_alarm(self, now: float) -> None:
        """Ring when the first resting endpoint may be tried, or when patience runs out."""
        openings = [endpoint.state.until for endpoint in self._endpoints]
        too_long = min(openings) - now > self._longest_wait
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
        error = self._given_up()
        for waiter in self._queue:
            if not waiter.place.done():
                waiter.place.set_exception(error)
        self._queue.clear()
