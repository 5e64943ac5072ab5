"""What a warm start gains, and what a misleading one costs, on planted worlds.

    python -m benchmarks.warm_start [--regime strong] [--shape clear] [--images 4000] [--seeds 4] [--first 0]

An old hunt spends the whole budget on one model. The next model is the same one moved a little (.4 in
log-odds for every entity and every value of one). It is hunted cold; warm; and from three misleading
atlases, with passes and fails swapped, with entities exchanged, and with nodes shuffled: at a quarter of the
budget and at the whole.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.simulate.corpus import planted_corpus
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.simulate.scoring import Checkpoint, Truth
from failscape.spaces import Lattice, Wording
from failscape.spaces.earlier import Earlier
from failscape.trials import Trial, Verdict

MOVED = 0.4
CORPUS = planted_corpus(50, 24, 5_000)
LATTICE = Lattice(CORPUS, depth=2)


def make_hunt(strategy: str, images: int, seed: int) -> CertifiedHunt:
    return CertifiedHunt(
        LATTICE, Wording(CORPUS), CertifiedSettings(strategy=strategy, images=images), seed=seed
    )


def earlier_from(hunt: CertifiedHunt, trials: list[Trial]) -> Earlier:
    """As an atlas of the hunt would give it."""
    counts: dict[str, tuple[int, int]] = {}
    for trial in trials:
        passes, fails = counts.get(trial.subject, (0, 0))
        counts[trial.subject] = (
            passes + (trial.verdict is Verdict.PASS),
            fails + (trial.verdict is Verdict.FAIL),
        )
    return Earlier("t2i", "old", counts, tuple(one.subject for one in hunt.findings()))


def swapped(earlier: Earlier) -> Earlier:
    """What passed failed, and the other way round."""
    counts = {subject: pair[::-1] for subject, pair in earlier.counts.items()}
    worst = sorted(counts, key=lambda subject: (counts[subject][0] - counts[subject][1], subject))
    return replace(earlier, counts=counts, findings=tuple(worst[: len(earlier.findings)]))


def exchanged(earlier: Earlier) -> Earlier:
    """What it says of one entity is true of another."""
    names = [entity.name for entity in CORPUS.entities]
    others = dict(zip(names, random.Random(1).sample(names, len(names)), strict=True))

    def moved(subject: str) -> str:
        name, *values = subject.split("; ")
        return "; ".join([others[name], *values])

    counts = {moved(subject): pair for subject, pair in earlier.counts.items()}
    return replace(earlier, counts=counts, findings=tuple(map(moved, earlier.findings)))


def shuffled(earlier: Earlier) -> Earlier:
    """What it says of one node is true of another with as many values: it says nothing."""
    by_layer: dict[int, list[str]] = {}
    for subject in earlier.counts:
        by_layer.setdefault(subject.count("; "), []).append(subject)
    rng = random.Random(2)
    others = {
        a: b for group in by_layer.values() for a, b in zip(group, rng.sample(group, len(group)), strict=True)
    }
    counts = {others[subject]: pair for subject, pair in earlier.counts.items()}
    return replace(earlier, counts=counts, findings=tuple(others[one] for one in earlier.findings))


ARMS: dict[str, Callable[[Earlier], Earlier | None]] = {
    "cold": lambda earlier: None,
    "warm": lambda earlier: earlier,
    "swapped": swapped,
    "exchanged": exchanged,
    "shuffled": shuffled,
}


@dataclass(frozen=True)
class Setup:
    """One old model, what its hunt saw, and the next model."""

    truth: Truth
    earlier: Earlier
    strategy: str
    seed: int

    @classmethod
    def of(cls, regime: str, shape: str, strategy: str, images: int, seed: int) -> Setup:
        world = PlantedWorld(LATTICE, regime, seed, shape=shape)
        old = make_hunt(strategy, images, seed)
        done = simulate(old, world, images, shuffle=seed, keep=True)
        truth = Truth(world.moved(MOVED, seed))
        return cls(truth, earlier_from(old, done.trials), strategy, seed)

    def play(self, arm: str, images: int) -> Checkpoint:
        hunt = make_hunt(self.strategy, images, self.seed + 50)
        earlier = ARMS[arm](self.earlier)
        if earlier is not None:
            hunt.begin_with(earlier)
        simulate(hunt, self.truth.world, images, shuffle=self.seed)
        return self.truth.score(images, hunt.findings())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regime", default="strong")
    parser.add_argument("--shape", default="clear")
    parser.add_argument("--strategy", default="listed")
    parser.add_argument("--images", type=int, default=4_000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first world")
    parser.add_argument("--parts", type=int, nargs="+", default=[4, 1], help="of the budget: 4 is a quarter")
    given = parser.parse_args()
    found: dict[tuple[str, int], list[Checkpoint]] = {}
    for seed in range(given.first, given.first + given.seeds):
        setup = Setup.of(given.regime, given.shape, given.strategy, given.images, seed)
        for arm in ARMS:
            for images in (given.images // part for part in given.parts):
                found.setdefault((arm, images), []).append(setup.play(arm, images))
        print(f"seed {seed}: {len(setup.earlier.findings)} old findings", flush=True)
        for (arm, images), rows in found.items():
            true, claims = sum(row.minimal for row in rows), sum(row.claims for row in rows)
            wrong = claims - sum(row.failing for row in rows)
            cold = sum(row.minimal for row in found["cold", images])
            print(
                f"  {arm:<10}{images:>6} images: {true:>5} true findings, {true / max(cold, 1):5.2f} of cold,"
                f" {wrong / max(claims, 1):6.1%} of {claims} claims do not fail",
                flush=True,
            )


if __name__ == "__main__":
    main()
