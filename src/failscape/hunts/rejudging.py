"""A hunt that asks for probes given to it, once each: images for another judge, cases for another model.

It finds nothing by itself. What the new answers mean is told by the strategy that asked first.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from failscape.hunts.protocol import Hunt
from failscape.trials import Finding, Probe, Progress, Trial


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
