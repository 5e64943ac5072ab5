"""Hunts that search for nothing and claim nothing: fresh tries of chosen subjects, and probes asked before.

Fresh tries go on new seeds until a subject has failed often enough. Which trials it is made of is said by the
kind of hunt (`HuntKind.tries`); where it does not say, recorded steps are tried again with fresh seeds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import Any

from failscape.plugins import HuntKind, kind_of
from failscape.search.protocol import Hunt
from failscape.search.rounds import Planned, Work
from failscape.trials import (
    FIRST_FRESH_NUMBER,
    Finding,
    Generate,
    Probe,
    ProbeKey,
    Progress,
    Step,
    Trial,
    Verdict,
    derive_seed,
    key_of_try,
    seed_from_text,
)


class SeedStream(IntEnum):
    """What fresh tries are for. Each has seeds of its own, which no search draws from.

    They must not share pictures: what was drawn to train a model with would not test it.
    """

    #: More failures of findings, for a dataset.
    DRAWN = -1
    #: The proof of a repair.
    PROOF = -2
    #: Plain pictures of every class, to train with.
    PLAIN = -3


#: Subject → the steps that its recorded trials were made of, each once.
Plans = Mapping[str, Sequence[tuple[Step, ...]]]


#: The `number`-th try of a subject, the same each time it is asked for; `None` where none can be made.
MakeTry = Callable[[str, int], Work | None]


def stream_seed(run_seed: int, stream: SeedStream) -> int:
    """Where the seeds of a stream begin, for a hunt of that seed."""
    return derive_seed(run_seed, stream)


def fresh_seed(run_seed: int, number: int) -> int:
    """The seed of the `number`-th fresh try, of every subject alike: so two subjects, or two models, share
    noise."""
    return derive_seed(stream_seed(run_seed, SeedStream.DRAWN), number)


def compared_seed(subject: str, number: int) -> int:
    """The seed of the `number`-th new case of a comparison.

    It depends on the subject: totals over subjects take cases as independent. It does not depend on a run,
    so that all models of a comparison get the same case, whichever is asked first.
    """
    return seed_from_text(f"compare|{subject}|{number}")


def fresh_key(kind: HuntKind, subject: str, number: int) -> str:
    """`cat#r1003` for the fourth fresh try of a cat in a t2i hunt.

    The hunt can be told it, too: fresh tries have a purpose of their own, so that they never count as its
    search.
    """
    return key_of_try(subject, kind.purposes.of_fresh_tries, FIRST_FRESH_NUMBER + number)


def fresh_probe(kind: HuntKind, subject: str, number: int, steps: tuple[Step, ...], seed: int) -> Probe:
    return Probe(fresh_key(kind, subject, number), subject, steps, seed)


def recorded_tries(config: Any, plans: Plans) -> MakeTry:
    """The recorded steps of each subject in turn, where they draw a picture: a new seed makes a new one."""
    kind = kind_of(config)
    drawing = {
        subject: [steps for steps in known if any(isinstance(step, Generate) for step in steps)]
        for subject, known in plans.items()
    }

    def make(subject: str, number: int) -> Work | None:
        known = drawing.get(subject)
        if not known:
            return None
        steps = known[number % len(known)]
        return Planned(fresh_probe(kind, subject, number, steps, fresh_seed(config.seed, number)), None)

    return make


@dataclass(slots=True)
class _Subject:
    """`pending`: number of a try → keys of its probes that are under way."""

    started: int = 0
    failures: int = 0
    barren: bool = False
    pending: dict[int, set[str]] = field(default_factory=dict)


class FreshTries(Hunt):
    """Every subject is tried until it has `failures`, at most `most` times."""

    def __init__(self, subjects: Sequence[str], make: MakeTry, failures: int, most: int) -> None:
        self._subjects = {subject: _Subject() for subject in subjects}
        self._make = make
        self._failures = failures
        self._most = most
        self._tries: dict[tuple[str, int], Work] = {}
        self._waiting: list[Probe] = []
        self._told = 0

    def ask(self, count: int) -> list[Probe]:
        while len(self._waiting) < count and (probes := self._next()):
            self._waiting += probes
        probes, self._waiting = self._waiting[:count], self._waiting[count:]
        return probes

    def tell(self, trial: Trial) -> None:
        self._told += 1
        key = ProbeKey.parse(trial.key)
        if key is None or key.number is None or key.subject not in self._subjects:
            return
        subject = key.subject
        number = key.number - FIRST_FRESH_NUMBER
        state = self._subjects[subject]
        if (subject, number) not in self._tries:
            self._start(subject, number)
        pending = state.pending.setdefault(number, set())
        pending.discard(trial.key)
        self._waiting = [probe for probe in self._waiting if probe.key != trial.key]
        made = self._tries.get((subject, number))
        more = list(made.tell(trial)) if made is not None else []
        pending.update(probe.key for probe in more)
        self._waiting += more
        state.failures += trial.verdict is Verdict.FAIL and trial.subject == subject
        if not pending:
            del state.pending[number]
            self._tries.pop((subject, number), None)

    def _next(self) -> list[Probe]:
        """The first probes of one more try, of the subject tried least among those that lack failures."""
        lacking = [
            subject
            for subject, state in self._subjects.items()
            if not state.barren
            and state.started < self._most
            and state.failures + len(state.pending) < self._failures
        ]
        for subject in sorted(lacking, key=lambda one: self._subjects[one].started):
            probes = self._start(subject, self._subjects[subject].started)
            if probes:
                return probes
            self._subjects[subject].barren = True
        return []

    def _start(self, subject: str, number: int) -> list[Probe]:
        state = self._subjects[subject]
        made = self._make(subject, number)
        state.started = max(state.started, number + 1)
        if made is None:
            return []
        probes = list(made.start())
        self._tries[subject, number] = made
        state.pending[number] = {probe.key for probe in probes}
        return probes

    @property
    def done(self) -> bool:
        return not self._waiting and all(
            not state.pending
            and (state.barren or state.failures >= self._failures or state.started >= self._most)
            for state in self._subjects.values()
        )

    def short(self) -> dict[str, int]:
        """Subjects that did not fail often enough → how many failures they have."""
        return {
            subject: state.failures
            for subject, state in self._subjects.items()
            if state.failures < self._failures
        }

    def findings(self) -> list[Finding]:
        return []

    def progress(self) -> Progress:
        got = sum(min(state.failures, self._failures) for state in self._subjects.values())
        return Progress("fresh tries", got, self._failures * len(self._subjects), 0)


class AskedBefore(Hunt):
    """`probes` are asked in order. `total` counts those of earlier sessions, which are told first."""

    def __init__(self, probes: Iterable[Probe], total: int, phase: str = "judging again") -> None:
        self._phase = phase
        self._probes = iter(probes)
        self._total = total
        self._told = 0
        self._flying: set[str] = set()
        self._over = False

    def ask(self, count: int) -> list[Probe]:
        probes = list(islice(self._probes, count))
        self._over = len(probes) < count
        self._flying.update(probe.key for probe in probes)
        return probes

    def tell(self, trial: Trial) -> None:
        self._told += 1
        self._flying.discard(trial.key)

    @property
    def done(self) -> bool:
        return self._over and not self._flying

    def findings(self) -> list[Finding]:
        return []

    def progress(self) -> Progress:
        return Progress(self._phase, self._told, max(self._total, self._told), 0)
