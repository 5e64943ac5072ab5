"""Asks in rounds, so that what is asked depends on which trials were told and never on their order. Pure.

A round is planned from all finished rounds, while the one before it may still be under way, so slow replies
hold nothing up. Because a plan is a function of finished rounds alone, replaying any part of the trials, in
any order, leads to the same plans: a resumed hunt asks for exactly what was in flight.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from failscape.errors import AtlasError
from failscape.search.protocol import Hunt
from failscape.trials import Probe, Trial, Verdict

OPEN_ROUNDS = 2


class Work(Protocol):
    """One piece of work of a round: it hands out probes as soon as they can be known."""

    def start(self) -> Iterable[Probe]:
        """The probes that it begins with."""

    def tell(self, trial: Trial) -> Iterable[Probe]:
        """Learn from a trial of its own; gives the probes that can be known now."""


WorkT = TypeVar("WorkT", bound=Work)


class _Round(Generic[WorkT]):
    """Work that was planned together; `flying` counts its probes that are not told yet."""

    def __init__(self, work: Sequence[WorkT]) -> None:
        self.work = work
        self.flying = 0


class RoundHunt(Hunt, Generic[WorkT]):
    """The asking and telling of a hunt. Its strategy is `plan` and `close`."""

    plans_by_verdicts = True
    #: How many rounds may be under way at a time.
    open_rounds = OPEN_ROUNDS

    def __init__(self) -> None:
        self._rounds: deque[_Round[WorkT]] = deque()
        self._waiting: dict[str, Probe] = {}
        #: Key → round and work that the probe belongs to, and its subject.
        self._owner: dict[str, tuple[_Round[WorkT], WorkT, str]] = {}
        self._told: set[str] = set()
        #: Trials of rounds that are not planned yet: replay may come in any order.
        self._early: dict[str, Trial] = {}
        self._started = self._over = False

    @abstractmethod
    def plan(self) -> Sequence[WorkT]:
        """The next round, from what was closed; empty when there is nothing to do, or not yet."""

    @abstractmethod
    def close(self, finished: Sequence[WorkT]) -> None:
        """Learn from a round all of whose work is complete."""

    @abstractmethod
    def know(self, trial: Trial) -> None:
        """Refuse trials that cannot belong to this hunt."""

    def ask(self, count: int) -> list[Probe]:
        self._begin()
        return [self._waiting.pop(key) for key in list(islice(self._waiting, max(0, count)))]

    def tell(self, trial: Trial) -> None:
        self.know(trial)
        self._begin()
        if trial.key in self._told:
            return
        self._told.add(trial.key)
        self._waiting.pop(trial.key, None)
        if trial.key in self._owner:
            self._hear(trial)
            self._advance()
        else:
            self._early[trial.key] = trial

    @property
    def done(self) -> bool:
        self._begin()
        return self._over and not self._rounds

    @property
    def under_way(self) -> list[WorkT]:
        """The work of rounds that are not closed yet, in the order planned."""
        return [work for one in self._rounds for work in one.work]

    def _begin(self) -> None:
        if not self._started:
            self._started = True
            self._advance()

    def _advance(self) -> None:
        """Close complete rounds one by one; after each, plan as many as may be under way."""
        self._fill()
        while self._rounds and not self._rounds[0].flying:
            self.close(self._rounds.popleft().work)
            self._fill()

    def _fill(self) -> None:
        while not self._over and len(self._rounds) < self.open_rounds:
            planned = self.plan()
            if not planned:
                self._over = not self._rounds  # what is under way may open new work
                return
            opened = _Round(planned)
            self._rounds.append(opened)
            for work in planned:
                self._enlist(opened, work, work.start())

    def _enlist(self, opened: _Round[WorkT], work: WorkT, probes: Iterable[Probe]) -> None:
        for probe in probes:
            opened.flying += 1
            self._owner[probe.key] = opened, work, probe.subject
            early = self._early.pop(probe.key, None)
            if early is None:
                self._waiting[probe.key] = probe
            else:
                self._hear(early)

    def _hear(self, trial: Trial) -> None:
        opened, work, subject = self._owner.pop(trial.key)
        if trial.subject != subject:  # told on, it would count for something that it says nothing about
            raise AtlasError(
                f"trial {trial.key} was about {trial.subject!r}, but would now be about {subject!r}",
                "use the version of failscape and the files that the hunt was run with, or another --atlas",
            )
        opened.flying -= 1
        self._enlist(opened, work, work.tell(trial))


class Outcome(NamedTuple):
    """What a hunt keeps of a trial until its round is over."""

    verdict: Verdict
    reason: str
    facts: tuple[Any, ...]

    @property
    def valid(self) -> bool:
        return self.verdict in (Verdict.PASS, Verdict.FAIL)

    @property
    def failed(self) -> bool:
        return self.verdict is Verdict.FAIL


class Planned:
    """Work that is one probe. `use` is the hunt's own note of what its trial will be used for."""

    __slots__ = ("outcome", "probe", "use")

    def __init__(self, probe: Probe, use: Hashable) -> None:
        self.probe = probe
        self.use = use
        self.outcome: Outcome | None = None

    def start(self) -> tuple[Probe, ...]:
        return (self.probe,)

    def tell(self, trial: Trial) -> tuple[Probe, ...]:
        self.outcome = Outcome(trial.verdict, trial.reason, tuple(trial.facts))
        return ()


class ProbeRounds(RoundHunt[Planned]):
    """A hunt whose rounds are single probes: `absorb` sees them one by one, `settle` when all are seen."""

    @abstractmethod
    def absorb(self, use: Any, outcome: Outcome) -> None:
        """Learn from one trial of a finished round. Called in the order planned."""

    def settle(self) -> None:
        """Called after all trials of a round are absorbed."""

    def close(self, finished: Sequence[Planned]) -> None:
        for one in finished:
            assert one.outcome is not None
            self.absorb(one.use, one.outcome)
        self.settle()
