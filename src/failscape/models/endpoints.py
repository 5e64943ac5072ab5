"""One endpoint of a pool: its address, how much it may be given, what became of it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from failscape.errors import BadReply, ModelError, RateLimited, Transient
from failscape.models.faults import is_congestion, shown_url
from failscape.models.limits import Aimd, Health

DEFAULT_HOLD = 0.25


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
    ejected: int
    last_fault: str


class Endpoint:
    """Where requests go. `in_flight` counts those that are out."""

    __slots__ = (
        "aimd", "bad", "base", "ejections", "health", "in_flight", "last_fault", "name", "ok", "rate_limited",
        "requests", "transient",
    )  # fmt: skip

    def __init__(self, base: str, most: int, health: Health | None = None) -> None:
        self.base = base
        self.name = shown_url(base)
        self.aimd = Aimd(most)
        self.health = health or Health()
        self.in_flight = 0
        self.requests = self.ok = self.rate_limited = self.transient = self.bad = self.ejections = 0
        self.last_fault = ""

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r}, {self.in_flight}/{int(self.aimd.limit)} in flight)"

    def free(self, now: float) -> bool:
        return self.aimd.has_room(self.in_flight) and self.health.usable(now)

    @property
    def load(self) -> float:
        return self.in_flight / self.aimd.limit

    def take(self) -> bool:
        """Count one request in; true when it is the trial of an ejected endpoint."""
        self.in_flight += 1
        self.health.sent()
        return self.health.on_trial

    def give_back(self, trial: bool) -> None:
        """The request went away without an outcome."""
        self.in_flight -= 1
        if trial:
            self.health.let_go()

    def succeeded(self) -> None:
        self.ok += 1
        self.aimd.succeeded(self.in_flight)
        self.health.succeeded()
        self.in_flight -= 1

    def failed(self, error: ModelError, now: float, sent_at: float, trial: bool) -> None:
        """Learn from a request that did not give a usable reply."""
        self.in_flight -= 1
        self.last_fault = error.message
        backed_off = is_congestion(error) and self.aimd.congested(now, sent_at)
        if isinstance(error, RateLimited):
            self.rate_limited += 1
            if error.retry_after is not None:
                self.health.hold(now + error.retry_after)
            elif backed_off or trial:
                # Without this pause the requests that wait their turn would at once take the freed places.
                self.health.hold(now + DEFAULT_HOLD)
        elif isinstance(error, Transient):
            self.transient += 1
            self.ejections += self.health.failed(now, trial)
        else:
            # It answered, if not as we like: it is up.
            self.bad += isinstance(error, BadReply)
            self.health.succeeded()

    def stats(self, now: float) -> EndpointStats:
        waiting = "waiting" if now < self.health.until else "ok"
        return EndpointStats(
            endpoint=self.name,
            state="ejected" if self.health.ejected else waiting,
            limit=int(self.aimd.limit),
            in_flight=self.in_flight,
            requests=self.requests,
            ok=self.ok,
            rate_limited=self.rate_limited,
            transient=self.transient,
            bad=self.bad,
            ejected=self.ejections,
            last_fault=self.last_fault,
        )
