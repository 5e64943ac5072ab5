"""The searches of t2i hunts in planted worlds of all shapes: few false claims, enough true ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from benchmarks.campaign.measurements import Measurement, at_least, at_most, few_of, just
from failscape.kinds.t2i.build import build_hunt, build_lattice
from failscape.kinds.t2i.config import T2IConfig
from failscape.search.protocol import Hunt
from failscape.simulate.corpus import write_planted_corpus
from failscape.simulate.planted import SHAPES, PlantedWorld
from failscape.simulate.scoring import Checkpoint, Truth, Watched, watch
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding, Probe, Trial, Verdict

NOISE = {"entity": (0.96, 0.96), "*": (0.84, 0.84)}
MEAN = {"*": (0.96, 0.96)}
UNEVEN = "uneven"
HARD_SHAPES = ("adversarial", "near-miss", "entity-dominated", UNEVEN)
YIELD = {
    "curtailed": {"weak": 1.5, "medium": 1.1},
    "sprt": {"weak": 1.5, "medium": 1.2},
    "certified": {"weak": 1.5, "medium": 1.3},
    "listed": {"weak": 2.0, "medium": 1.6},
}
"""Times the true minimal failures of the FailureAtlas rule."""


@cache
def corpus(entities: int = 50, values: int = 24, nodes: int = 5_000) -> str:
    return str(write_planted_corpus(Path(mkdtemp()), entities, values, nodes))


def make_config(strategy: str, images: int, seed: int, space: dict[str, Any] | None = None) -> T2IConfig:
    model = {"provider": "python", "path": "failscape.simulate.planted:PlantedGenerator"}
    return T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": model,
            "judge": model,
            "space": space or {"corpus": corpus(), "depth": 2},
            "search": {"strategy": strategy},
            "budget": {"images": images},
            "seed": seed,
        }
    )


@dataclass(frozen=True)
class Run:
    """`entities`: how many of them the claims at the end are about."""

    watched: Watched
    entities: int

    @property
    def last(self) -> Checkpoint:
        return self.watched.last


@cache
def run(strategy: str, regime: str, seed: int, noisy: bool = False, spread: str = "wide") -> Run:
    config = make_config(strategy, 5_000, seed)
    world = PlantedWorld(build_lattice(config), regime, seed, NOISE if noisy else None, spread=spread)
    hunt: Hunt = build_hunt(config, (0, 1), JudgeAccuracy.from_rates(NOISE) if noisy else None)
    watched = watch(hunt, Truth(world), 5_000, checkpoints=10, shuffle=seed)
    return Run(watched, len({finding.subject.split("; ")[0] for finding in hunt.findings()}))


def few_false(runs: list[Run]) -> Iterator[Measurement]:
    """Claims of all worlds together: that they fail at the worst look, that they are minimal at the end.

    Claims about one entity stand or fall together when the entity itself was misjudged, so the tolerance
    for minimality counts entities.
    """
    moments = []
    for points in zip(*(each.watched.checkpoints for each in runs), strict=True):
        claims = sum(point.claims for point in points)
        moments.append((claims - sum(point.failing for point in points), claims))
    false, claims = max(moments, key=lambda moment: (moment[0] / max(moment[1], 50), moment[1]))
    yield few_of("claims that do not fail, at the worst of 10 looks", false, claims, 0.05)
    minimal_claims = sum(each.last.minimal_claims for each in runs)
    nested = minimal_claims - sum(each.last.minimal for each in runs)
    entities = sum(each.entities for each in runs)
    allowed = few_of("", 0, entities, 0.05)
    most = int(allowed.promise.split()[1]) / max(entities, 1)
    yield at_most("share of claims that are not minimal, at the end", nested / max(minimal_claims, 1), most)


def strategies(regime: str) -> Iterator[Measurement]:
    """Two worlds, 5,000 images: claims are true, and more is found than by the FailureAtlas rule."""
    usual = sum(run("failureatlas", regime, seed).last.minimal for seed in range(2))
    yield just("minimal failures named by the FailureAtlas rule", usual)
    for strategy, factors in YIELD.items():
        runs = [run(strategy, regime, seed) for seed in range(2)]
        named = sum(each.last.minimal for each in runs)
        yield at_least(f"{strategy}: minimal failures, times those", named / usual, factors[regime])
        if strategy in ("certified", "listed"):
            for one in few_false(runs):
                yield Measurement(f"{strategy}: {one.name}", one.seen, one.promise, one.kept)


def near_the_threshold() -> Iterator[Measurement]:
    """Many nodes lie near the threshold."""
    yield from few_false([run("certified", "medium", seed, spread="narrow") for seed in range(2)])


def noisy_judge() -> Iterator[Measurement]:
    """A judge that errs, with known accuracy; and what the bare threshold makes of it."""
    runs = [run("certified", "medium", seed, noisy=True) for seed in range(2)]
    yield from few_false(runs)
    yield at_least("minimal failures that are certified", sum(each.last.minimal for each in runs), 1)
    bare = [run("failureatlas", "medium", seed, noisy=True).last for seed in range(2)]
    claims = sum(end.claims for end in bare)
    false = claims - sum(end.failing for end in bare)
    yield just("share of the FailureAtlas rule's claims that do not fail", false / claims)


def other_shape(shape: str) -> Iterator[Measurement]:
    """2,000 images in worlds of other shapes. At every look: do claims fail, are they minimal?

    `uneven` is the usual shape seen by a judge that is right on 96 % in the mean, which is all that the hunt
    knows of it, and on one word in twenty only half of the time.
    """
    runs = [shaped(shape, seed) for seed in range(4 if shape in HARD_SHAPES else 2)]
    looks = []
    for points in zip(*(each.checkpoints for each in runs), strict=True):
        claims = sum(point.claims for point in points)
        passing = claims - sum(point.failing for point in points)
        nested = claims - sum(point.minimal for point in points) - passing
        looks.append((claims, passing, nested))
    worst = max(looks, key=lambda look: (look[1] / max(look[0], 50), look[0]))
    yield few_of("claims that pass, at the worst of 10 looks", worst[1], worst[0], 0.05, alarm=0.05)
    worst = max(looks, key=lambda look: (look[2] / max(look[0], 50), look[0]))
    yield Measurement("claims that fail but are not minimal, at the worst look", f"{worst[2]} of {worst[0]}")
    yield just("claims at the end", looks[-1][0])


def shaped(shape: str, seed: int) -> Watched:
    config = make_config("listed", 2_000, seed)
    lattice = build_lattice(config)
    if shape == UNEVEN:
        world = PlantedWorld(lattice, "medium", seed, MEAN, uneven=(0.05, 0.5))
        accuracy = JudgeAccuracy.from_rates(MEAN)
    else:
        world = PlantedWorld(lattice, "medium", seed, shape=shape)
        accuracy = None
    hunt = build_hunt(config, (0, 1), accuracy)
    return watch(hunt, Truth(world), 2_000, checkpoints=10, shuffle=seed)


SHAPE_NAMES = [*sorted(SHAPES.keys() - {"planted"}), UNEVEN]


def failing_entities() -> Iterator[Measurement]:
    """Many entities fail as a whole, in a space of the usual size, with images enough to get beyond them."""
    named = {"listed": 0, "failureatlas": 0}
    space = {"corpus": corpus(150, 48, 65_000), "depth": 2}
    for seed in range(2):
        for strategy in named:
            config = make_config(strategy, 20_000, seed, space)
            truth = Truth(PlantedWorld(build_lattice(config), "medium", seed, shape="entity-dominated"))
            watched = watch(build_hunt(config), truth, 20_000, checkpoints=1, shuffle=seed)
            named[strategy] += watched.last.minimal
    yield just("minimal failures named by the FailureAtlas rule", named["failureatlas"])
    yield at_least("minimal failures named by `listed`", named["listed"], named["failureatlas"])


def other_depths() -> Iterator[Measurement]:
    """Spaces of single values, and of up to three at once."""
    for depth in (1, 3):
        config = make_config("listed", 1_500, 0, {"corpus": corpus(), "depth": depth})
        truth = Truth(PlantedWorld(build_lattice(config), "weak", 0))
        last = watch(build_hunt(config), truth, 1_500, checkpoints=10).last
        yield just(f"depth {depth}: claims", last.claims)
        yield few_of(f"depth {depth}: claims that pass", last.claims - last.failing, last.claims, 0.05)


class AtTheThreshold:
    """Every node passes exactly as often as it must: nothing is failing, and nothing is easier to mistake."""

    def __init__(self, world: PlantedWorld, threshold: float) -> None:
        self.world = world
        self.threshold = threshold

    def run(self, probes: list[Probe]) -> list[Trial]:
        return [self._run(probe) for probe in probes]

    def _run(self, probe: Probe) -> Trial:
        plan = self.world.plan(probe.subject)
        holds = self.world.outcome(self.threshold, plan.weights, self.world.grain(probe.subject, probe.seed))
        verdict = Verdict.PASS if all(holds) else Verdict.FAIL
        return Trial(probe.key, probe.subject, verdict, "", ["", holds], probe.seed)

    def score(self, images: int, findings: list[Finding]) -> Checkpoint:
        return Checkpoint(images, len(findings))


def nothing_fails() -> Iterator[Measurement]:
    """With no failing node any claim is false: a run may claim something in 5 % of all worlds."""
    erring = 0
    for seed in range(12):
        config = make_config("certified", 5_000, seed)
        flat = AtTheThreshold(PlantedWorld(build_lattice(config), "medium", seed), 0.8)
        watched = watch(build_hunt(config), flat, 500, checkpoints=10, shuffle=seed)  # type: ignore[arg-type]
        erring += any(point.claims for point in watched.checkpoints)
    yield few_of("worlds where something is certified although nothing fails", erring, 12, 0.05)


def small_reviews() -> Iterator[Measurement]:
    """A judge known by 200 labels, against one whose accuracy is known exactly: three weak worlds.

    50 labels each of true and false checks of entities and of attributes.
    """
    known, reviewed = [], []
    for seed in range(3):
        rng = np.random.default_rng(13 + seed)
        counts = {
            kind: (rng.binomial(50, true), 50, rng.binomial(50, false), 50)
            for kind, (true, false) in NOISE.items()
        }
        known.append(reviewed_hunt(JudgeAccuracy.from_rates(NOISE), seed))
        reviewed.append(reviewed_hunt(JudgeAccuracy.from_counts(counts), seed))
    exact = sum(one.minimal for one in known)
    claims = sum(one.claims for one in reviewed)
    false = claims - sum(one.failing for one in reviewed)
    yield just("minimal failures with known accuracy", exact)
    yield at_least("share of them with 200 labels", sum(one.minimal for one in reviewed) / exact, 0.6)
    yield few_of("claims with 200 labels that do not fail", false, claims, 0.05)


def reviewed_hunt(accuracy: JudgeAccuracy, seed: int) -> Checkpoint:
    config = make_config("listed", 2_500, 0, {"corpus": corpus(30, 16, 2_000), "depth": 1})
    world = PlantedWorld(build_lattice(config), "weak", seed, NOISE)
    return watch(build_hunt(config, (0, 1), accuracy), Truth(world), 2_500, checkpoints=2).last
