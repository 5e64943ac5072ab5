"""Which faces of a die can a model not draw? A whole kind of hunt, and models for it, in one file.

It imports `failscape` and nothing below it: all that a plugin needs is on the front door.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

import failscape

FACES = ("one", "two", "three", "four", "five", "six")


class DiceConfig(failscape.HuntConfig):
    """The settings of `hunt: dice`."""

    hunt: Literal["dice"]
    judge: failscape.ModelConfig
    throws: int = 12

    def models(self) -> dict[str, failscape.ModelConfig]:
        return {"generator": self.target, "judge": self.judge}


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
            status="threshold",
            rate=sum(seen) / len(seen),
            interval=(0.3, 1.0),
            e_value=1.0,
            trials=len(seen),
            failures=sum(seen),
        )

    def progress(self) -> failscape.Progress:
        told = sum(map(len, self._seen.values()))
        return failscape.Progress("throwing", told, None, len(self.findings()))


class DicePage(failscape.PlainPage):
    """A section and a tile of its own, from a template that lies in this package."""

    def sections(self, context: Any) -> list[failscape.Section]:
        faces = [finding.title for finding in context.loaded.findings]
        return [failscape.Section("dice", "Faces that never came", "failscape_dice:dice.html", faces)]

    def tiles(self, context: Any) -> list[failscape.Tile]:
        return [failscape.Tile("faces", str(len(FACES)))]

    def notes(self, finding: failscape.Finding) -> list[str]:
        return [f"The die never showed {finding.subject}."]


class DiceKind(failscape.HuntKind):
    name = "dice"
    about = "faces of a die that a model cannot draw"
    settings = DiceConfig
    page = DicePage()
    demo = failscape.Demo(
        "Throwing dice.",
        {
            "hunt": "dice",
            "target": {"provider": "dice"},
            "judge": {"provider": "dice"},
            "budget": {"images": 72},
            "seed": 1,
        },
    )

    def build(self, config: Any, shard: Any = (0, 1), accuracy: Any = None) -> failscape.Hunt:
        return DiceHunt(config.throws, config.seed)

    async def examine(self, config: DiceConfig) -> list[failscape.Observation]:
        return [failscape.Observation("dice", "ok", f"{config.throws} throws a face", "The die is there.")]


class _Die:
    """A painter that cannot draw a six, and a judge that reads what a picture shows from its first pixel."""

    batch = 4
    parallel = 1

    def __init__(self, role: str, config: failscape.ModelConfig) -> None:
        self.identity = failscape.Identity(role, "dice", config.model or "die", {})

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[failscape.Reply[Any]]:
        return [
            failscape.Reply(self._draw(prompt, seed)) for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    @staticmethod
    def _draw(prompt: str, seed: int) -> failscape.Picture:
        pixels = np.full((8, 8, 3), 255, np.uint8)
        pixels[0, 0, 0] = min(FACES.index(prompt.split()[-1]), 4)
        pixels[1, 0] = seed % 251, seed // 251 % 251, 0
        return failscape.Picture.from_array(pixels)

    async def judge(
        self, images: Sequence[failscape.Picture], checks: Sequence[Iterable[failscape.Check]]
    ) -> list[failscape.Reply[Any]]:
        shown = [FACES[int(image.array[0, 0, 0])] for image in images]
        return [
            failscape.Reply([check.value == face for check in asked])
            for face, asked in zip(shown, checks, strict=True)
        ]


PROVIDER = failscape.Provider("dice", _Die, ("generator", "judge"), "a die that never shows six")
