"""The hunt: it asks for every face equally often."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import failscape

from . import FACES


@dataclass(frozen=True, slots=True)
class DiceSurvey(failscape.Survey):
    """What a hunt says about all faces: how many were thrown."""

    thrown: dict[str, int]

    @property
    def space_rates(self) -> list[failscape.SpaceRate]:
        return [failscape.SpaceRate("all", "all faces", len(FACES), 1 / len(FACES), (0.0, 0.5))]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


class DiceHunt(failscape.Hunt):
    """Every face is tried equally often; one that always fails is found."""

    def __init__(self, throws: int, seed: int) -> None:
        self._waiting = [self._probe(face, number, seed) for number in range(throws) for face in FACES]
        self._flying: set[str] = set()
        self._seen: dict[str, list[bool]] = {face: [] for face in FACES}

    @staticmethod
    def _probe(face: str, number: int, seed: int) -> failscape.Probe:
        check = failscape.Check("face", face, f"It shows {face}.")
        steps = (failscape.Generate(f"a die that shows {face}"), failscape.Decide((check,)))
        return failscape.Probe(f"{face}#{number}", face, steps, failscape.derive_seed(seed, number))

    def ask(self, count: int) -> list[failscape.Probe]:
        asked, self._waiting = self._waiting[:count], self._waiting[count:]
        self._flying.update(probe.key for probe in asked)
        return asked

    def tell(self, trial: failscape.Trial) -> None:
        self._flying.discard(trial.key)
        self._waiting = [probe for probe in self._waiting if probe.key != trial.key]
        if trial.verdict in (failscape.Verdict.PASS, failscape.Verdict.FAIL):
            self._seen[trial.subject].append(trial.verdict is failscape.Verdict.FAIL)

    @property
    def done(self) -> bool:
        return not self._waiting and not self._flying

    def findings(self) -> list[failscape.Finding]:
        return [self._finding(face) for face, seen in self._seen.items() if len(seen) >= 3 and all(seen)]

    def _finding(self, face: str) -> failscape.Finding:
        seen = self._seen[face]
        return failscape.Finding(
            subject=face,
            title=f"a die that shows {face}",
            caption=f"a die that shows {face}",
            status=failscape.Status.THRESHOLD,
            rate=sum(seen) / len(seen),
            interval=(0.3, 1.0),
            e_value=1.0,
            trials=len(seen),
            failures=sum(seen),
        )

    def survey(self) -> DiceSurvey:
        return DiceSurvey({face: len(seen) for face, seen in self._seen.items()})

    def progress(self) -> failscape.Progress:
        told = sum(map(len, self._seen.values()))
        return failscape.Progress("throwing", told, None, len(self.findings()))
