"""Speed of the lattice at FailureAtlas's size, and of the FailureAtlas rule on a planted world.

Run: python -m benchmarks.lattice
"""

from __future__ import annotations

import resource
import time

import numpy as np

from failscape.kinds.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Corpus, Entity, Lattice, Value, Wording, load_corpus
from failscape.trials import Trial


def main() -> None:
    measure_lattice()
    measure_speed()


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


if __name__ == "__main__":
    main()
