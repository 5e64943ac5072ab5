"""Statistical tests of every t2i strategy on planted worlds: few false claims, and enough true ones.

Tolerances are binomial (one false alarm in 10,000 looks), not tuned numbers. Yields are compared with the
FailureAtlas rule at equal images, in a small space and a short run: the factors asked for are far below
those in docs/benchmarks.md.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from scipy import stats

from failscape.hunts.protocol import Hunt
from failscape.hunts.t2i.build import build_hunt, build_lattice
from failscape.hunts.t2i.config import T2IConfig
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.planted import PlantedWorld
from failscape.testing.planted_corpus import write_planted_corpus
from failscape.testing.scoring import Checkpoint, Truth, Watched, watch
from failscape.trials import Finding, Probe, Trial, Verdict

IMAGES, WORLDS, ALARM = 5_000, 2, 1e-4
NOISE = {"entity": (0.96, 0.96), "*": (0.84, 0.84)}

FALSE_SHARE = {"certified": 0.05, "listed": 0.05}
"""At most this share of claims may be false: guaranteed by `certified`, expected of `listed`."""

YIELD = {
    "curtailed": {"weak": 1.5, "medium": 1.1},
    "sprt": {"weak": 1.5, "medium": 1.2},
    "certified": {"weak": 1.5, "medium": 1.3},
    "listed": {"weak": 2.0, "medium": 1.6},
}
"""Times the true minimal failures of the FailureAtlas rule."""


@cache
def corpus() -> str:
    return str(write_planted_corpus(Path(mkdtemp()), 50, 24, 5_000))


def make_config(strategy: str, seed: int) -> T2IConfig:
    model = {"provider": "python", "path": "failscape.testing.planted:PlantedGenerator"}
    return T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": model,
            "judge": model,
            "space": {"corpus": corpus(), "depth": 2},
            "search": {"strategy": strategy},
            "budget": {"images": IMAGES},
            "seed": seed,
        }
    )


@dataclass(frozen=True)
class Run:
    watched: Watched
    entities: int
    """How many entities the claims at the end are about."""


@cache
def run(strategy: str, regime: str, seed: int, noisy: bool = False, spread: str = "wide") -> Run:
    config = make_config(strategy, seed)
    world = PlantedWorld(build_lattice(config), regime, seed, NOISE if noisy else None, spread=spread)
    hunt: Hunt = build_hunt(config, (0, 1), JudgeAccuracy.from_rates(NOISE) if noisy else None)
    watched = watch(hunt, Truth(world), IMAGES, checkpoints=10, shuffle=seed)
    return Run(watched, len({finding.subject.split("; ")[0] for finding in hunt.findings()}))


def assert_few_false(runs: list[Run], share: float) -> None:
    """Claims of all worlds together: at every checkpoint that they fail, at the end that they are minimal.

    Claims about one entity stand or fall together when the entity itself was misjudged, so the tolerance
    for minimality counts entities.
    """
    for points in zip(*(each.watched.checkpoints for each in runs), strict=True):
        claims = sum(point.claims for point in points)
        false = claims - sum(point.failing for point in points)
        assert false <= most_of(claims, share) * claims, f"{false} of {claims} claims do not fail: {points}"
    ends = [each.watched.last for each in runs]
    claims = sum(end.minimal_claims for end in ends)
    false = claims - sum(end.minimal for end in ends)
    most = most_of(sum(each.entities for each in runs), share)
    assert false <= most * claims, f"{false} of {claims} claims are not minimal: {ends}"


def most_of(count: int, share: float) -> float:
    """The largest share that may be seen in so many draws when it is truly `share`."""
    return float(stats.binom.isf(ALARM, count, share)) / max(count, 1)


@pytest.mark.parametrize("regime", ["weak", "medium"])
@pytest.mark.parametrize("strategy", FALSE_SHARE)
def test_few_claims_are_false(strategy: str, regime: str) -> None:
    assert_few_false([run(strategy, regime, seed) for seed in range(WORLDS)], FALSE_SHARE[strategy])


def test_few_claims_are_false_when_many_nodes_lie_at_the_threshold() -> None:
    assert_few_false([run("certified", "medium", seed, spread="narrow") for seed in range(WORLDS)], 0.05)


def test_few_claims_are_false_with_a_judge_that_errs() -> None:
    runs = [run("certified", "medium", seed, noisy=True) for seed in range(WORLDS)]
    assert_few_false(runs, 0.05)
    assert sum(each.watched.last.minimal for each in runs) > 0


def test_these_tests_notice_false_claims() -> None:
    """The bare threshold breaks what is asked of the others, so what they assert can fail."""
    with pytest.raises(AssertionError, match="do not fail"):
        assert_few_false([run("failureatlas", "medium", seed, noisy=True) for seed in range(WORLDS)], 0.15)


@pytest.mark.parametrize(
    ("strategy", "regime", "factor"),
    [(name, *each) for name, regimes in YIELD.items() for each in regimes.items()],
)
def test_more_is_found_than_by_the_failureatlas_rule(strategy: str, regime: str, factor: float) -> None:
    found, usual = (
        sum(run(name, regime, seed).watched.last.minimal for seed in range(WORLDS))
        for name in (strategy, "failureatlas")
    )
    assert found >= factor * usual


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


def test_nothing_is_certified_where_nothing_fails() -> None:
    """With no failing node any claim is false: a run may claim something in 5 % of all worlds."""
    worlds, erring = 12, 0
    for seed in range(worlds):
        config = make_config("certified", seed)
        flat = AtTheThreshold(PlantedWorld(build_lattice(config), "medium", seed), 0.8)
        watched = watch(build_hunt(config), flat, 500, checkpoints=10, shuffle=seed)
        erring += any(point.claims for point in watched.checkpoints)
    assert erring <= stats.binom.isf(ALARM, worlds, 0.05)
