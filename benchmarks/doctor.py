"""Is the doctor fooled? Whole examinations of judges with known habits, on the models of the toybox.

    python -m benchmarks.doctor [--runs 200] [--habits yes-97 good ...]

Each run is `failscape doctor` on a t2i config with toy-painter as the target: other prompts each time, all
experiments with the judge, by the doctor's own code. A judge that does not look says yes to so many per cent
of everything. A good one is toy-eyes, of whose answers so many per cent are turned round. A judge fails
when any line of the doctor does. One line a habit; n is the pairs that settled what it says of attributes.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any, Protocol

from failscape.config import ModelConfig
from failscape.doctor.observations import Observation
from failscape.doctor.samples import Samples
from failscape.kinds.t2i.doctor import examine
from failscape.models.registry import create_model
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.spaces import Lattice, load_corpus
from failscape.trials import Check

Decided = list[Reply[list[bool | None]]]
TOY = ModelConfig(provider="toybox")


class Judging(Protocol):
    async def judge(self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]) -> Decided: ...


class Habit:
    """`yes`: the share of everything that it says yes to, without a look. Else toy-eyes, `wrong` so often."""

    batch, parallel = 8, 1

    def __init__(
        self, eyes: Judging, luck: random.Random, yes: float | None = None, wrong: float = 0.0
    ) -> None:
        self.identity = Identity("judge", "benchmark", f"yes {yes}, wrong {wrong}", {})
        self._eyes, self._luck, self._yes, self._wrong = eyes, luck, yes, wrong

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def judge(self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]) -> Decided:
        if self._yes is not None:
            return [Reply([self._luck.random() < self._yes for _ in asked]) for asked in checks]
        seen = await self._eyes.judge(images, checks)
        return [Reply([self._turned(one) for one in reply.value or []]) for reply in seen]

    def _turned(self, said: bool | None) -> bool | None:
        return said if said is None or self._luck.random() >= self._wrong else not said


HABITS: dict[str, dict[str, float]] = {
    "yes-97": {"yes": 0.97},
    "yes-50": {"yes": 0.5},
    "yes-3": {"yes": 0.03},
    "good": {},
    "good-95": {"wrong": 0.05},
}


async def examine_often(name: str, runs: int) -> None:
    lattice = Lattice(load_corpus("toybox"), depth=2)
    painter: Any = create_model("generator", TOY)
    eyes: Any = create_model("judge", TOY)
    await painter.start()
    await eyes.start()
    failing, pairs, started = list[str](), list[int](), time.process_time()
    for run in range(runs):
        habit: Any = Habit(eyes, random.Random(f"{name}/{run}"), **HABITS[name])
        found = await examine(painter, habit, Samples(lattice, run))
        wrong = [one.name for one in found if one.status == "fail"]
        failing += [", ".join(wrong)] if wrong else []
        pairs.append(settled(found))
        if (run + 1) % 20 == 0 or run + 1 == runs:
            spent = (time.process_time() - started) / (run + 1)
            print(
                f"{name}: {len(failing)} of {run + 1} fail; n of attributes {min(pairs)} to {max(pairs)}; "
                f"{spent:.1f} s of processor time a run",
                flush=True,
            )
    for why in dict.fromkeys(failing[:3]):
        print(f"  for example: {why[:160]}")


def settled(found: Sequence[Observation]) -> int:
    return next((one.n for one in found if one.name == "judge-picture: all attributes"), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--habits", nargs="+", choices=[*HABITS], default=[*HABITS])
    options = parser.parse_args()
    for name in options.habits:
        asyncio.run(examine_often(name, options.runs))


if __name__ == "__main__":
    main()
