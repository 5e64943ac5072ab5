"""Figures of the FailureAtlas rule on planted worlds, and the speed of the parts under it.

Run: python benchmarks/failureatlas_rule.py [--worlds 3] [--images 100000]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from failscape.hunts.t2i.failureatlas import FailureAtlasHunt
from failscape.spaces import Corpus, Entity, Lattice, Value, Wording, load_corpus
from failscape.testing.planted import REGIMES, PlantedWorld, simulate
from failscape.trials import Trial

NOISE = {"entity": (0.96, 0.96), "*": (0.84, 0.84)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--images", type=int, default=100_000)
    options = parser.parse_args()
    measure_lattice()
    measure_speed()
    print(
        "\n| judge | regime | images per true minimal failure | not failing | not minimal | recall | images |"
    )
    print("|---|---|---|---|---|---|---|")
    for judge, accuracy in (("perfect", None), ("96 % / 84 %", NOISE)):
        for regime in REGIMES:
            rows = [measure_rule(regime, seed, accuracy, options.images) for seed in range(options.worlds)]
            cost, wrong, larger, recall, spent = np.mean(rows, axis=0)
            shares = f"{wrong:.1%} | {larger:.1%} | {recall:.1%}"
            print(f"| {judge} | {regime} | {cost:.0f} | {shares} | {spent:,.0f} |")


def measure_lattice() -> None:
    """As many entities and values as FailureAtlas has, with more plausible pairs."""
    rng = np.random.default_rng(0)
    entities = tuple(Entity(f"e{i}", f"C{i % 5}", f"S{i % 25}") for i in range(758))
    values = tuple(Value(f"v{i}", "Base", f"K{i * 29 // 437}") for i in range(437))
    allowed = rng.random((758, 437)) < 0.6
    corpus = Corpus("large", entities, values, allowed, np.zeros((437, 437), dtype=bool), (0,))
    started = time.perf_counter()
    lattice = Lattice(corpus, depth=2)
    size = len(lattice)
    opened = time.perf_counter() - started
    numbers = rng.integers(size, size=5000).tolist()
    started = time.process_time()
    nodes = [lattice.node(number) for number in numbers]
    middle = time.process_time()
    assert [lattice.index(node) for node in nodes] == numbers
    ended = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"lattice: {size:,} nodes open in {opened * 1e3:.0f} ms, process at {memory:.0f} MB")
    there, back = (middle - started) / len(numbers), (ended - middle) / len(numbers)
    print(f"number → node {there * 1e6:.1f} µs, node → number {back * 1e6:.1f} µs (CPU time)")
    started = time.process_time()
    deeper = lattice.layer_size(3)
    print(f"table of layer 3, {deeper:,} nodes: {time.process_time() - started:.1f} s (CPU time)")


def measure_speed() -> None:
    corpus = load_corpus("starter")
    lattice, wording = Lattice(corpus), Wording(corpus)
    world, hunt = PlantedWorld(lattice), FailureAtlasHunt(lattice, wording)
    started = time.perf_counter()
    told = simulate(hunt, world, 100_000, keep=True).trials
    print(f"simulate: {len(told) / (time.perf_counter() - started):,.0f} trials a second")
    stored = [Trial(t.key, t.subject, t.verdict, t.reason, text=t.text, seed=t.seed) for t in told]
    fresh = FailureAtlasHunt(lattice, wording)
    started = time.perf_counter()
    for trial in stored:
        fresh.tell(trial)
    print(f"tell on replay: {(time.perf_counter() - started) / len(stored) * 1e6:.2f} µs")


def measure_rule(
    regime: str, seed: int, accuracy: dict[str, tuple[float, float]] | None, images: int
) -> tuple[float, float, float, float, int]:
    """Images per true minimal failure, share of claims not failing, not minimal, recall, images spent."""
    corpus = load_corpus("starter")
    lattice = Lattice(corpus)
    world = PlantedWorld(lattice, regime, seed, accuracy)
    hunt = FailureAtlasHunt(lattice, Wording(corpus))
    spent = simulate(hunt, world, images).images
    truth, claims = world.minimal_failures(), [lattice.parse(f.subject) for f in hunt.findings()]
    right = sum(node in truth for node in claims)
    wrong = sum(world.rate(node) >= 0.8 for node in claims)
    count = max(len(claims), 1)
    return spent / max(right, 1), wrong / count, 1 - right / count, right / len(truth), spent


if __name__ == "__main__":
    main()
