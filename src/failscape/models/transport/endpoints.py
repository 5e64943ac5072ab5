"""When to send to an endpoint and when to hold back: pure state machines, for one endpoint and for a pool.

Nothing here sleeps, sends or reads a clock: every method is told the time. `pool.py` acts on the answers.
"""

from dataclasses import dataclass

from failscape.errors import BadReply, ModelError, RateLimited, Transient
from failscape.models.transport.faults import is_congestion, shown_url

START_LIMIT = 16


class Aimd:
    """How many requests one endpoint may have in flight: additive increase, multiplicative decrease.

    Until the first decrease the limit grows by one with every reply (it doubles each round trip), later by
    one per round trip. It grows only while it is used up, else an idle hour would end in a flood.
    """

    def __init__(self, most: int, start: int = START_LIMIT) -> None:
        self._most = float(most)
        self.limit = float(min(start, most))
        self._backed_off_at: float | None = None

    def has_room(self, in_flight: int) -> bool:
        return in_flight < int(self.limit)

    def succeeded(self, in_flight: int) -> None:
        """A good reply came; `in_flight` still counts it."""
        if self.limit < self._most and in_flight >= int(self.limit):
            step = 1.0 if self._backed_off_at is None else 1.0 / self.limit
            self.limit = min(self._most, self.limit + step)

    def congested(self, now: float, sent_at: float) -> bool:
        """A 429 or a time-out came. Halves the limit once per round trip; says whether it did.

        Requests sent before the last decrease tell nothing about the limit that holds since.
        """
        if self._backed_off_at is not None and sent_at < self._backed_off_at:
            return False
        self.limit = max(1.0, self.limit / 2)
        self._backed_off_at = now
        return True


class EndpointState:
    """Whether one endpoint may be used: open, resting until a time, or on trial with a single request."""

    def __init__(self, eject_after: int = 5, shortest: float = 1.0, longest: float = 30.0) -> None:
        self._eject_after = eject_after
        self._shortest = self._rest = shortest
        self._longest = longest
        self._failures = 0
        self.ejected = False
        self.on_trial = False
        self.until = 0.0

    def usable(self, now: float) -> bool:
        return now >= self.until and not self.on_trial

    def sent(self) -> None:
        """A request goes out; for an ejected endpoint that is the trial."""
        self.on_trial = self.ejected

    def succeeded(self) -> None:
        self._failures = 0
        self._rest = self._shortest
        if self.ejected:
            self.ejected = self.on_trial = False
            self.until = 0.0

    def failed(self, now: float, trial: bool) -> bool:
        """A transient failure; says whether the endpoint was ejected by it.

        Requests that were under way when the endpoint was ejected fail too: they must not lengthen its
        rest. Only the trial request does.
        """
        self._failures += 1
        return (trial or self._failures >= self._eject_after) and self.expel(now, trial)

    def expel(self, now: float, trial: bool) -> bool:
        """Take it out for a while, longer each time; says whether it was in."""
        if trial:
            self.on_trial = False
            self._rest = min(self._longest, self._rest * 2)
        elif self.ejected:
            return False
        self.ejected = True
        self.until = now + self._rest
        return True

    def hold(self, until: float) -> None:
        """The endpoint named a time (`Retry-After`). It answered, so a trial is over."""
        self.until = max(self.until, until)
        self.on_trial = False

    def let_go(self) -> None:
        """The trial request went away without an outcome (cancelled): the next one is the trial."""
        self.on_trial = False


class Outage:
    """How long a whole pool has had nothing but failures, and when waiting is no longer worth it."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.failures = 0
        self.since: float | None = None

    def succeeded(self) -> None:
        self.since = None
        self.failures = 0

    def failed(self, now: float) -> None:
        self.failures += 1
        if self.since is None:
            self.since = now

    def lasts(self, now: float) -> float:
        return 0.0 if self.since is None else now - self.since

    def hopeless(self, now: float, patience: float) -> bool:
        """A few failures at the start are no outage, even with no patience at all."""
        return self.since is not None and self.failures >= self._enough and now - self.since >= patience


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with jitter so that requests which failed together do not return together."""

    first: float = 0.5
    longest: float = 30.0

    def delay(self, failures: int, chance: float) -> float:
        """Seconds before the next try after `failures` (≥ 1) in a row; `chance` is uniform on [0, 1)."""
        full = min(self.longest, self.first * 2.0 ** min(failures - 1, 30))
        return full * (0.5 + 0.5 * chance)


#: The least pause of an endpoint after a 429, in seconds.
DEFAULT_HOLD = 0.25
#: So many refusals or unusable replies in a row, and what an endpoint was good for before counts no more.
DOUBTED = 3


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """What a health check wants to know of one endpoint. `state` is `ok`, `waiting` or `ejected`."""

    endpoint: str
    state: str
    limit: int
    in_flight: int
    requests: int
    ok: int
    rate_limited: int
    transient: int
    bad: int
    refused: int
    ejected: int
    last_fault: str


class Endpoint:
    """Where requests go.

    `in_flight` counts those that are out, `unusable` refusals and replies out of form since a good one.
    """

    def __init__(self, base: str, most: int, state: EndpointState | None = None) -> None:
        self.base = base
        self.name = shown_url(base)
        self.aimd = Aimd(most)
        self.state = state or EndpointState()
        self.in_flight = 0
        self.requests = self.ok = self.rate_limited = self.transient = self.bad = self.refused = 0
        self.ejections = self.unusable = 0
        self.has_peers = False
        self.last_fault = ""

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r}, {self.in_flight}/{int(self.aimd.limit)} in flight)"

    def free(self, now: float) -> bool:
        return self.aimd.has_room(self.in_flight) and self.state.usable(now)

    @property
    def load(self) -> float:
        return self.in_flight / self.aimd.limit

    def take(self) -> bool:
        """Count one request in; true when it is the trial of an ejected endpoint."""
        self.in_flight += 1
        self.state.sent()
        return self.state.on_trial

    def give_back(self, trial: bool) -> None:
        """The request went away without an outcome."""
        self.in_flight -= 1
        if trial:
            self.state.let_go()

    @property
    def trusted(self) -> bool:
        """Whether a refusal is the request's fault. One that never answered well may be set up wrong."""
        return not self.has_peers or (self.ok > 0 and self.unusable < DOUBTED)

    def expel(self, now: float, trial: bool = False) -> None:
        self.ejections += self.state.expel(now, trial)

    def succeeded(self) -> None:
        self.ok += 1
        self.unusable = 0
        self.aimd.succeeded(self.in_flight)
        self.state.succeeded()
        self.in_flight -= 1

    def failed(self, error: ModelError, now: float, sent_at: float, trial: bool) -> None:
        """Learn from a request that did not give a usable reply."""
        self.in_flight -= 1
        self.last_fault = error.message
        backed_off = is_congestion(error) and self.aimd.congested(now, sent_at)
        if isinstance(error, RateLimited):
            self.rate_limited += 1
            # Without a pause the requests that wait their turn would at once take the freed places. A server
            # that asks for none (`Retry-After: 0`) gets one as well.
            if error.retry_after is not None:
                self.state.hold(now + max(error.retry_after, DEFAULT_HOLD))
            elif backed_off or trial:
                self.state.hold(now + DEFAULT_HOLD)
        elif isinstance(error, Transient):
            self.transient += 1
            self.ejections += self.state.failed(now, trial)
        else:
            self.unusable += 1
            self.bad += isinstance(error, BadReply)
            self.refused += not isinstance(error, BadReply)
            if self.trusted:
                self.state.succeeded()  # it answered, if not as we like: it is up
            elif trial or self.unusable >= DOUBTED:
                self.expel(now, trial)

    def stats(self, now: float) -> EndpointStats:
        waiting = "waiting" if now < self.state.until else "ok"
        return EndpointStats(
            endpoint=self.name,
            state="ejected" if self.state.ejected else waiting,
            limit=int(self.aimd.limit),
            in_flight=self.in_flight,
            requests=self.requests,
            ok=self.ok,
            rate_limited=self.rate_limited,
            transient=self.transient,
            bad=self.bad,
            refused=self.refused,
            ejected=self.ejections,
            last_fault=self.last_fault,
        )
