"""Asks in rounds, so that what is asked depends on which trials were told and never on their order. Pure.

A round is planned from all rounds before the one still under way, so two are open at a time and slow replies
hold nothing up. Because a plan is a function of finished rounds alone, replaying any part of the trials, in
any order, leads to the same plans: a resumed hunt asks for exactly what was in flight.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple

from failscape.trials import Probe, Trial, Verdict

OPEN_ROUNDS = 2


class Planned(NamedTuple):
    """A probe, and what its trial will be used for: the hunt's own note."""

    probe: Probe
    use: Hashable


class Outcome(NamedTuple):
    """What a hunt keeps of a trial until its round is over."""

    verdict: Verdict
    reason: str
    facts: tuple[Any, ...]


class _Round:
    def __init__(self, planned: list[Planned]) -> None:
        self.planned = planned
        self.missing = {one.probe.key for one in planned}
        self.next = 0


class RoundHunt:
    """The asking and telling of a hunt. Its strategy is `plan` and `absorb`."""

    def __init__(self) -> None:
        self._open: list[_Round] = []
        self._told: dict[str, Outcome] = {}
        self._started = False

    @abstractmethod
    def plan(self) -> list[Planned]:
        """The next round, from what was absorbed; empty when there is nothing to do, or not yet."""

    @abstractmethod
    def absorb(self, use: Any, outcome: Outcome) -> None:
        """Learn from one trial of a finished round. Called in the order planned."""

    def settle(self) -> None:
        """Called after all trials of a round are absorbed."""

    @abstractmethod
    def know(self, trial: Trial) -> None:
        """Refuse trials that cannot belong to this hunt."""

    def ask(self, count: int) -> list[Probe]:
        self._begin()
        probes: list[Probe] = []
        for opened in self._open:
            while opened.next < len(opened.planned) and len(probes) < count:
                probe = opened.planned[opened.next].probe
                opened.next += 1
                if probe.key in opened.missing and probe.key not in self._told:
                    probes.append(probe)
        return probes

    def tell(self, trial: Trial) -> None:
        self.know(trial)
        self._begin()
        if trial.key in self._told:
            return
        self._told[trial.key] = Outcome(trial.verdict, trial.reason, tuple(trial.facts))
        for opened in self._open:
            if trial.key in opened.missing:
                opened.missing.discard(trial.key)
                self._advance()
                return

    @property
    def done(self) -> bool:
        self._begin()
        return not self._open

    def _begin(self) -> None:
        if not self._started:
            self._started = True
            self._fill()

    def _advance(self) -> None:
        while self._open and not self._open[0].missing:
            finished = self._open.pop(0)
            for one in finished.planned:
                self.absorb(one.use, self._told.pop(one.probe.key))
            self.settle()
            self._fill()

    def _fill(self) -> None:
        """Plan until two rounds are open; told trials of a new round are there already on replay."""
        while len(self._open) < OPEN_ROUNDS:
            planned = self.plan()
            if not planned:
                return
            opened = _Round(planned)
            opened.missing -= self._told.keys()
            self._open.append(opened)
