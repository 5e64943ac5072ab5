"""Our own cost: CPU time of asking and telling per image in a space of millions of nodes, and memory.

Run as its own process, because memory is the peak of the whole process: the strategy, the space, and the
planted world that answers.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.t2i.arms import make_hunt
from failscape.search.protocol import Hunt
from failscape.simulate.corpus import write_planted_corpus
from failscape.simulate.planted import PlantedWorld
from failscape.spaces import Lattice, load_corpus
from failscape.trials import Probe

SIZE = (758, 437, 7_400_000)
"""As many entities and values as FailureAtlas has."""
GROUP = 16
"""Answers that come in together."""


def measure(arm: str, images: int, in_flight: int, depth: int = 2, regime: str = "medium") -> str:
    with TemporaryDirectory() as folder:
        corpus = str(write_planted_corpus(Path(folder), *SIZE))
        started = time.process_time()
        hunt = make_hunt(arm, corpus, images, 0, None, depth, in_flight=in_flight)
        opened = time.process_time() - started
        lattice = Lattice(load_corpus(corpus), depth=depth)
    world = PlantedWorld(lattice, regime, 0)
    before = _memory()
    told, spent = _drive(hunt, world, images, in_flight)
    figures = [
        arm,
        f"{len(lattice):,}",
        f"{in_flight}",
        f"{told:,}",
        f"{opened:.1f} s",
        f"{1000 * spent / told:.3f} ms",
        f"{_memory():,.0f} MB ({before:,.0f} before the first image)",
        f"{len(hunt.findings()):,}",
    ]
    return "| " + " | ".join(figures) + " |"


def _drive(hunt: Hunt, world: PlantedWorld, images: int, in_flight: int) -> tuple[int, float]:
    """Images told, and the CPU seconds of `ask` and `tell`. Answers come in groups, the oldest first."""
    flying, told, spent = deque[Probe](), 0, 0.0
    while told < images:
        started = time.process_time()
        flying += hunt.ask(min(in_flight, images - told) - len(flying))
        spent += time.process_time() - started
        if not flying:
            break
        trials = [world.run(flying.popleft()) for _ in range(min(GROUP, len(flying)))]
        started = time.process_time()
        for trial in trials:
            hunt.tell(trial)
        spent += time.process_time() - started
        told += len(trials)
    return told, spent


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write_table(arms: list[str], images: int, in_flight: int) -> str:
    lines = [
        "| arm | nodes | in flight | images | opening | CPU per image | peak memory | findings |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for arm in arms:
        command = [sys.executable, "-m", "benchmarks.t2i.cost", arm, str(images), str(in_flight)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = (done.stderr.strip().splitlines() or ["?"])[-1]
        lines.append(done.stdout.strip() or f"| {arm} | not run: {reason[:120]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(measure(sys.argv[1], *map(int, sys.argv[2:])))  # arm, images, in flight and, if not 2, depth
