"""Statistical tests of the FailureAtlas rule on planted worlds: it errs exactly as the binomial says.

Tolerances are binomial standard errors (z = 4.5, one false alarm in 150,000 looks), not tuned numbers.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from failscape.hunts.t2i.baselines.failureatlas import FailureAtlasHunt
from failscape.spaces import Corpus, Entity, Lattice, Wording, load_corpus
from failscape.testing.planted import PlantedWorld, simulate
from failscape.trials import Probe, Trial, Verdict

Z = 4.5
IMAGES = 25


def flat_world(rate: float, nodes: int, at_threshold: str) -> FailureAtlasHunt:
    """Runs the rule over many entities that all have the same true rate."""
    entities = tuple(Entity(f"thing {number}", "All", "Things") for number in range(nodes))
    corpus = Corpus("flat", entities, (), np.ones((nodes, 0), bool), np.zeros((0, 0), bool), (0,))
    lattice = Lattice(corpus, depth=0)
    hunt = FailureAtlasHunt(lattice, Wording(corpus), at_threshold=at_threshold)
    rng = np.random.default_rng(int(rate * 1000))
    while probes := hunt.ask(500):
        for probe, luck in zip(probes, rng.random(len(probes)), strict=True):
            hunt.tell(_trial(probe, bool(luck < rate)))
    return hunt


def _trial(probe: Probe, passed: bool) -> Trial:
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return Trial(probe.key, probe.subject, verdict, "", ["image", [passed]])


@pytest.mark.parametrize("at_threshold", ["pass", "fail"])
@pytest.mark.parametrize("rate", [0.75, 0.8, 0.85, 0.9])
def test_a_node_is_flagged_as_often_as_the_binomial_says(rate: float, at_threshold: str) -> None:
    nodes = 800
    most = 19 if at_threshold == "pass" else 20
    expected = stats.binom.cdf(most, IMAGES, rate)
    flagged = len(flat_world(rate, nodes, at_threshold).findings()) / nodes
    assert abs(flagged - expected) < Z * np.sqrt(expected * (1 - expected) / nodes)


@pytest.mark.parametrize("regime", ["weak", "medium", "strong"])
def test_claims_and_misses_on_planted_worlds_are_what_the_rates_imply(regime: str) -> None:
    """Every tested node fails with its binomial chance; so counts of false claims and false passes follow."""
    corpus = load_corpus("starter")
    lattice = Lattice(corpus, entities="sample", depth=2)
    world = PlantedWorld(lattice, regime, seed=17)
    hunt = FailureAtlasHunt(lattice, Wording(corpus))
    told = Counter(trial.subject for trial in simulate(hunt, world, 30_000, shuffle=1, keep=True).trials)
    settled = [subject for subject, images in told.items() if images == IMAGES]
    rates = np.array([world.rate(lattice.parse(subject)) for subject in settled])
    chance = stats.binom.cdf(19, IMAGES, rates)
    claimed = {finding.subject for finding in hunt.findings()}
    hits = np.array([subject in claimed for subject in settled])
    for group in (rates >= 0.8, rates < 0.8):
        spread = np.sqrt((chance[group] * (1 - chance[group])).sum())
        assert abs(hits[group].sum() - chance[group].sum()) < Z * spread
    precision = (hits & (rates < 0.8)).sum() / hits.sum()
    assert precision > 0.75


def test_a_noisy_judge_ruins_the_bare_threshold() -> None:
    """At 84 % accuracy per attribute a perfect picture rarely passes two checks: the known weak point."""
    corpus = load_corpus("starter")
    lattice = Lattice(corpus, entities="sample", depth=1)
    world = PlantedWorld(lattice, "strong", seed=3, accuracy={"entity": (0.96, 0.96), "*": (0.84, 0.84)})
    hunt = FailureAtlasHunt(lattice, Wording(corpus))
    simulate(hunt, world, 40_000)
    findings = [finding for finding in hunt.findings() if finding.details.layer == 1]
    false = np.mean([world.rate(lattice.parse(finding.subject)) >= 0.8 for finding in findings])
    judged = np.array([world.judged_rate(lattice.parse(finding.subject)) for finding in findings])
    assert false > 0.5
    assert np.mean(judged < 0.85) > 0.8
