"""Does ordering by a predictor find failures sooner? The FailureAtlas rule on planted worlds, last layer.

    python -m benchmarks.predictor                      needs the extra `transformers`
    python -m benchmarks.predictor --arms plain ridge   without torch

All arms settle the same number of nodes with two values, at most a third of them, after the same smaller
nodes. The table says how many of them fail, and how many times as many as in a random order. `plain` goes
entity by entity, so its first nodes are those of a few entities. `truth` orders by the true rates: no
predictor can do better.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.kinds.t2i.baselines.lanes import Ordering
from failscape.kinds.t2i.baselines.predictors import build_ordering
from failscape.kinds.t2i.config import PredictorConfig
from failscape.simulate.planted import REGIMES, PlantedWorld, simulate
from failscape.spaces import Node, Wording

WARM_UP, RETRAIN_EVERY = 300, 500
MOST = 2_000
STEP = 2_500


class Shuffled:
    """Has learnt nothing: a random order."""

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None: ...

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.random.default_rng(len(nodes)).random(len(nodes))


class Truth:
    """Knows what no predictor can know."""

    def __init__(self, world: PlantedWorld) -> None:
        self._world = world

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None: ...

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.asarray(self._world.landscape.rates(nodes))


def ordering(arm: str, world: PlantedWorld) -> Ordering | None:
    if arm == "plain":
        return None
    if arm in ("shuffled", "truth"):
        return Ordering(Truth(world) if arm == "truth" else Shuffled(), WARM_UP, RETRAIN_EVERY)
    settings = {"kind": arm, "warm_up": WARM_UP, "retrain_every": RETRAIN_EVERY}
    return build_ordering(PredictorConfig.model_validate(settings), world.lattice, 0)


def run(arm: str, regime: str, seed: int) -> tuple[int, int, float]:
    """Nodes with two values that were settled, how many of them failed, and our seconds."""
    world = PlantedWorld.named("starter", regime, seed)
    hunt = FailureAtlasHunt(world.lattice, Wording(world.lattice.corpus), order=ordering(arm, world))
    started, known = time.process_time(), dict[str, str]()
    while True:
        trials = simulate(hunt, world, STEP, in_flight=1, keep=True).trials
        known.update((trial.subject, "") for trial in trials)
        pairs = [subject for subject in known if subject.count("; ") == 2]
        total = hunt.progress().total or 0
        wanted = min(MOST, (total - len(known) + len(pairs)) // 3)
        if not trials or (pairs and len(pairs) >= wanted):
            break
    failed = {finding.subject for finding in hunt.findings()}
    return wanted, sum(subject in failed for subject in pairs[:wanted]), time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arms", nargs="+", default=["shuffled", "plain", "ridge", "transformer", "truth"])
    parser.add_argument("--worlds", type=int, default=4)
    options = parser.parse_args()
    print("| model | order | nodes | of them failing | against shuffled (worlds) | CPU seconds |")
    print("|---|---|---|---|---|---|")
    for regime in REGIMES:
        shuffled = [run("shuffled", regime, seed) for seed in range(options.worlds)]
        for arm in options.arms:
            rows = [run(arm, regime, seed) for seed in range(options.worlds)]
            nodes, failing, seconds = (sum(column) for column in zip(*rows, strict=True))
            gains = sorted(row[1] / base[1] for row, base in zip(rows, shuffled, strict=True))
            gain = f"{failing / sum(row[1] for row in shuffled):.2f} ({gains[0]:.2f}–{gains[-1]:.2f})"
            cells = (regime, arm, f"{nodes:,}", f"{failing / nodes:.1%}", gain, f"{seconds / len(rows):.0f}")
            print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
