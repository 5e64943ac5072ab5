"""What one controller can feed: the real loop, hunt and atlas against simulated replicas that only wait.

    python -m benchmarks.controller --replicas 1000 --seconds 8 --images 10000

Each replica of the target takes `--seconds` a picture, each of the judge a tenth of that; the pools are the
ones that Ray actors stand behind. Pictures are `--bytes` of noise (0: tiny ones), so that the atlas writes
what it would write. No model runs and nothing goes over a network: what is left is the controller.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from failscape.atlas import Atlas, open_hunt
from failscape.config.files import parse_config
from failscape.engines.pool import ReplicaPool
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.plugins import kind_of
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_hunt
from failscape.runtime.walk import Team

PNG = b"\x89PNG\r\n\x1a\n"


class Slow:
    """A replica whose only work is to wait."""

    def __init__(self, name: str, seconds: float, answer: Any) -> None:
        self.name = name
        self._seconds = seconds
        self._answer = answer

    async def ready(self) -> None:
        """Nothing to load."""

    async def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        await asyncio.sleep(self._seconds)
        return self._answer(*arguments)

    async def kill(self) -> None:
        """Nothing to end."""


class Pooled:
    """A model as the runtime sees it: a pool of replicas, one item a call."""

    batch = 1

    def __init__(self, role: str, method: str, replicas: int, seconds: float, answer: Any) -> None:
        self.identity = Identity(role, "simulated", role)
        self.parallel = replicas
        copies = [Slow(f"{role} {number}", seconds, answer) for number in range(replicas)]
        self._pool = ReplicaPool(role, copies, timeout=600.0)
        setattr(self, method, self._caller(method))

    def _caller(self, method: str) -> Any:
        async def call(*columns: Any) -> Any:
            return await self._pool.call(method, *columns)

        return call

    async def start(self) -> None:
        await self._pool.start()

    async def close(self) -> None:
        await self._pool.close()


def draw(size: int) -> Any:
    """Different bytes for each seed: the head of a PNG, the seed, then noise that is the same for all."""
    noise = np.random.default_rng(0).bytes(max(size - 24, 0))

    def answer(prompts: Any, seeds: Any) -> list[Reply[Picture]]:
        data = [
            PNG + repr((prompt, seed)).encode() + noise for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        return [Reply(Picture(one)) for one in data]

    return answer


def judge(images: Any, checks: Any) -> list[Reply[list[bool]]]:
    """By the picture's digest: about nine in ten checks hold."""
    return [
        Reply([(int(image.digest[:8], 16) + place) % 10 > 0 for place, _ in enumerate(row)])
        for image, row in zip(images, checks, strict=True)
    ]


async def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    role = {"provider": "toybox"}
    in_flight = min(4096, options.replicas + options.replicas // 4)
    settings = {
        "hunt": "t2i",
        "target": role,
        "judge": role,
        "judge_accuracy": "none",
        "space": {"corpus": options.corpus, "depth": 2},
        "search": {"strategy": options.strategy},
        "budget": {"images": options.images},
        "runtime": {"in_flight": in_flight, "cache": False, "keep_images": options.keep},
    }
    config = parse_config(settings, "benchmark")
    judges = max(options.replicas // 10, 1)
    team = Team(
        {
            "generator": Pooled(
                "generator", "generate", options.replicas, options.seconds, draw(options.bytes)
            ),
            "judge": Pooled("judge", "judge", judges, options.seconds / 10, judge),
        }
    )
    hunt = kind_of(config).build(config, (0, 1), None)
    identities = {name: model.identity for name, model in team.models.items()}
    with Atlas.open(folder, create=True) as atlas:
        hunt_id = open_hunt(atlas, config.model_dump(mode="json"), identities)
        async with team:
            clock, processor = time.monotonic(), time.process_time()
            await run_hunt(config, atlas, hunt_id, hunt, team, choose_reporter(True), 0)
            wall, work = time.monotonic() - clock, time.process_time() - processor
        trials = sum(1 for _ in atlas.replay(hunt_id))
    assert trials == options.images, (trials, options.images)
    stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    wanted = options.replicas / options.seconds
    return {
        "replicas": options.replicas,
        "trials": trials,
        "trials_per_second": round(trials / wall, 1),
        "replicas_could": round(wanted, 1),
        "share": round(trials / wall / wanted, 3),
        "processor_ms_per_trial": round(1000 * work / trials, 3),
        "ceiling_per_second": round(trials / work, 1),
        "bytes_per_trial": round(stored / trials),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replicas", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=8.0, help="one picture takes")
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=0, help="of a picture")
    parser.add_argument("--keep", default="all", choices=["all", "failures", "none"])
    parser.add_argument("--corpus", default="general")
    parser.add_argument("--strategy", default="certified")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(options, Path(folder) / "atlas"))))


if __name__ == "__main__":
    main()
