"""The certified search: what it asks, what is evidence, what it claims, and the promises of every hunt."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from failscape.errors import ConfigError
from failscape.hunts.certify import certify
from failscape.hunts.t2i.build import build_hunt, forewarn, least_images
from failscape.hunts.t2i.certified.claims import believe
from failscape.hunts.t2i.certified.hunt import CertifiedHunt, CertifiedSettings
from failscape.hunts.t2i.config import T2IConfig
from failscape.hunts.t2i.survey.random_panel import PANEL_IMAGES, draw_panel
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.fdr import log_e_bh
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.hunt_suite import HuntSuite
from failscape.testing.planted import PlantedWorld, simulate
from failscape.trials import Probe, Trial, Verdict

CORPUS = load_corpus("starter")
SMALL = Lattice(CORPUS, entities=("cat", "cup", "house"), families=("Base",), depth=2)
SAMPLE = Lattice(CORPUS, entities="sample", depth=2)
WORDING = Wording(CORPUS)


def make(lattice: Lattice = SAMPLE, seed: int = 9, **settings: object) -> CertifiedHunt:
    chosen = CertifiedSettings(**{"images": 3_000, **settings})  # type: ignore[arg-type]
    return CertifiedHunt(lattice, WORDING, chosen, seed=seed)


def answer(probe: Probe, verdict: Verdict) -> Trial:
    checks = len(probe.subject.split("; "))
    facts = ["image", [verdict is Verdict.PASS] * checks if verdict is not Verdict.INVALID else None]
    return Trial(probe.key, probe.subject, verdict, "", facts, probe.seed)


class TestCertified(HuntSuite):
    images = 600
    order_matters = True
    adaptive = True
    world = PlantedWorld(SAMPLE, "medium", seed=3, undecided=0.1)

    def make_hunt(self) -> CertifiedHunt:
        return make(images=600)

    def run(self, probe: Probe) -> Trial:
        return self.world.run(probe)


class TestProbable(TestCertified):
    def make_hunt(self) -> CertifiedHunt:
        return make(images=600, tier="probable")


class TestDeeper(TestCertified):
    images = 400
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Base", "Image"), depth=3)
    world = PlantedWorld(lattice, "weak", seed=4)

    def make_hunt(self) -> CertifiedHunt:
        return make(self.lattice, images=400)


class TestWithoutBudget(TestCertified):
    """A space so small that the search comes to its end."""

    images = 5_000
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Image",), depth=1)
    world = PlantedWorld(lattice, "weak", seed=5)

    def make_hunt(self) -> CertifiedHunt:
        return make(self.lattice, images=None)

    def test_it_comes_to_an_end(self) -> None:
        hunt = self.make_hunt()
        _, flying = self.play(hunt, self.images)
        assert hunt.done
        assert not flying


@cache
def played(regime: str = "medium", images: int = 3_000, **settings: object) -> CertifiedHunt:
    hunt = make(images=images, **settings)
    simulate(hunt, PlantedWorld(SAMPLE, regime, seed=11), images)
    return hunt


def test_only_bets_are_evidence() -> None:
    hunt = played()
    told = hunt.ledger
    scouted = told.passes + told.fails - told.bets.sum(axis=1)
    above = told.layers > 0
    assert (scouted[above & (told.passes + told.fails > 0)] >= 1).all(), "the first image is never evidence"
    assert set(np.flatnonzero(told.bets.sum(axis=1) > 0).tolist()) <= told.adopted


def test_what_is_claimed_is_what_e_bh_claims() -> None:
    hunt = played("weak")
    tests = np.array(sorted(hunt.ledger.adopted))
    claimed = tests[log_e_bh(hunt.evidence()[tests], 0.05, hunt.tests)]
    assert hunt.failing == set(claimed.tolist())
    assert {claim.slot for claim in hunt.claims()} <= hunt.failing
    assert len(hunt.claims()) > 20


def test_the_number_of_tests_is_kept() -> None:
    hunt = make(openings=0.02)
    world = PlantedWorld(SAMPLE, "medium", seed=11)
    told: list[int] = []

    def look(_: int) -> None:
        told.append(len(hunt.ledger.adopted) - hunt.tests)

    simulate(hunt, world, 800, after=look)
    assert max(told) <= 0


def test_findings_carry_their_evidence() -> None:
    hunt = played("weak")
    findings = hunt.findings()
    assert findings
    for finding in findings:
        low, high = finding.interval
        assert 0 <= low <= finding.rate <= high <= 1
        assert finding.status == "certified"
        assert finding.e_value >= 1 / hunt.settings.fdr
        assert finding.details.claim.minimal
        assert all(parent["trials"] >= 3 for parent in finding.parents)
    assert [f.e_value for f in findings] == sorted((f.e_value for f in findings), reverse=True)


def test_invalid_images_count_for_nothing() -> None:
    hunt = make(SMALL, images=300)
    for _ in range(40):
        for probe in hunt.ask(8):
            hunt.tell(answer(probe, Verdict.INVALID))
    assert hunt.findings() == []
    assert hunt.ledger.fails.sum() == 0


def test_a_model_that_always_fails_is_claimed_at_its_entities() -> None:
    hunt = make(SMALL, images=400)
    while sum(hunt.ledger.fails) < 120 and (probes := hunt.ask(8)):
        for probe in probes:
            hunt.tell(answer(probe, Verdict.FAIL))
    assert {finding.subject for finding in hunt.findings()} == {"cat", "cup", "house"}


def test_a_panel_is_drawn_beforehand_and_larger_ones_contain_smaller_ones() -> None:
    small = draw_panel(SAMPLE, SAMPLE.entities, 200, seed=1)
    large = draw_panel(SAMPLE, SAMPLE.entities, 800, seed=1)
    assert set(small.subjects) <= set(large.subjects)
    assert abs(len(small) * PANEL_IMAGES - 200) <= 20
    halves = [draw_panel(SAMPLE, SAMPLE.entities[part::2], 100, seed=1).subjects for part in range(2)]
    assert not set(halves[0]) & set(halves[1])


def test_the_panel_gets_its_share_and_the_search_leaves_the_deepest_of_it_alone() -> None:
    hunt = played()
    panel = hunt.panel.counts
    assert 0.03 * 3_000 <= sum(counts.images for counts in panel.values()) <= 0.05 * 3_000
    deepest = {SAMPLE.subject(node) for node in panel if len(node.values) == 2}
    assert deepest
    assert not deepest & set(hunt.ledger.subjects)


def test_findings_are_tried_again_with_fresh_seeds() -> None:
    hunt = make(images=3_000)
    world, keys, seeds = PlantedWorld(SAMPLE, "weak", seed=11), Counter[str](), set()
    kept = simulate(hunt, world, 3_000, keep=True).trials
    for trial in kept:
        label = trial.key[len(trial.subject) + 1 :]
        keys["r" if label.startswith("r") else "other"] += 1
        seeds.add((label[0] == "r", trial.seed))
    assert keys["r"] == pytest.approx(90, abs=8)
    assert not {seed for again, seed in seeds if again} & {seed for again, seed in seeds if not again}
    replication = hunt.survey().replication
    assert replication is not None
    assert replication.confirmed.rate > 0.8


def test_the_survey_counts_every_opened_node_once() -> None:
    survey = played().survey()
    counts = survey.counts
    parts = ("minimal failures", "failing, not known to be minimal", "passing", "not decided")
    assert counts["opened"] == sum(counts[part] for part in parts)
    assert survey.masses
    assert survey.audit is not None


def test_trials_of_others_are_refused() -> None:
    hunt = make(SMALL)
    with pytest.raises(ConfigError, match="no node"):
        hunt.tell(Trial("dragon#0", "dragon", Verdict.PASS))
    with pytest.raises(ConfigError, match="no try"):
        hunt.tell(Trial("cat#x", "cat", Verdict.PASS))
    part = CertifiedHunt(SMALL, WORDING, shard=(0, 3))
    with pytest.raises(ConfigError, match="shard"):
        part.tell(Trial("house#0", "house", Verdict.PASS))


def test_claims_by_posterior_keep_their_mean_doubt() -> None:
    doubts = np.array([0.0, 0.4, 0.01, 0.02, 0.9])
    assert believe(doubts, 0.025) == {0, 2, 3}
    assert believe(doubts, 0.2) == {0, 1, 2, 3}
    assert certify(np.array([10.0, 0.0]), [], 0.05, 10) == set()


def config(**changes: object) -> T2IConfig:
    planted = {"provider": "python", "path": "failscape.testing.planted:PlantedGenerator"}
    space = {"corpus": "starter", "entities": ["cat", "cup"]}
    base = {"hunt": "t2i", "target": planted, "judge": planted, "space": space}
    return T2IConfig.model_validate({**base, **changes})


def test_it_is_what_a_config_without_a_strategy_gets() -> None:
    hunt = build_hunt(config(budget={"images": 500}, search={"threshold": 0.7, "fdr": 0.1}))
    assert isinstance(hunt, CertifiedHunt)
    assert (hunt.settings.threshold, hunt.settings.fdr, hunt.settings.images) == (0.7, 0.1, 500)


def test_a_budget_too_small_to_certify_anything_is_said_beforehand() -> None:
    least = least_images(2, 0.8, 0.05, 0.12)
    assert any("too small" in text for text in forewarn(config(budget={"images": least - 1})))
    assert not forewarn(config(budget={"images": least}))
    hunt = make(SMALL, images=None, panel=0.0)
    spent = 0
    while not hunt.failing:
        for probe in hunt.ask(1):
            hunt.tell(answer(probe, Verdict.FAIL))
            spent += 1
    assert spent >= least_images(3, 0.8, 0.05, 0.12) / 4, "the warning must not be far too high"


def test_a_judge_that_cannot_tell_is_refused_by_name_of_the_check() -> None:
    blind = JudgeAccuracy.from_rates({"entity": (0.99, 0.99), "*": (0.05, 0.96)})
    with pytest.raises(ConfigError, match="check"):
        forewarn(config(), accuracy=blind)


def test_a_noisy_judge_raises_the_bar() -> None:
    accuracy = JudgeAccuracy.from_rates({"entity": (0.96, 0.96), "*": (0.84, 0.84)})
    noisy = CertifiedHunt(SMALL, WORDING, accuracy=accuracy)
    sharp = CertifiedHunt(SMALL, WORDING)
    for hunt in (noisy, sharp):
        for number in range(6):
            hunt.tell(Trial(f"cat#{number}", "cat", Verdict.FAIL, facts=["i", [False]]))
    assert noisy.evidence()[0] < sharp.evidence()[0]
    assert math.isfinite(noisy.evidence()[0])


def test_claims_reckon_with_what_is_in_flight_also_when_they_were_looked_at_before() -> None:
    looked, blind = make(images=None), make(images=None)
    world = PlantedWorld(SAMPLE, "weak", seed=3)
    for _ in range(12):
        for one, other in zip(looked.ask(64), blind.ask(64), strict=True):
            looked.tell(world.run(one))
            blind.tell(world.run(other))
        looked.claims()
    looked.ask(400)
    blind.ask(400)
    assert looked.claims() == blind.claims()


def test_a_threshold_next_to_one_is_no_accident() -> None:
    hunt = make(SMALL, threshold=0.9999999, images=60)
    simulate(hunt, PlantedWorld(SMALL, "weak", seed=3), 60)
    assert np.isfinite(hunt.evidence()).all()


def test_findings_that_do_not_keep_the_level_by_themselves_say_so() -> None:
    """Claims are a part of what e-BH certifies; where the rest lent them evidence, the survey tells."""
    hunt = make(images=1_500)
    simulate(hunt, PlantedWorld(SAMPLE, "medium", seed=3), 1_500)
    claims = hunt.claims()
    assert claims
    bound = hunt.tests / len(claims) / math.exp(hunt.evidence()[[claim.slot for claim in claims]].min())
    said = [note for note in hunt.survey().notes if "taken alone" in note]
    assert bool(said) == (bound > hunt.settings.fdr)
    alone = hunt.claims()[:1]
    hunt._claims = hunt._claims[0], alone
    weakest = math.exp(hunt.evidence()[alone[0].slot])
    assert hunt.tests / weakest > hunt.settings.fdr, "one claim of many has borrowed evidence in this world"
    assert any("For the 1 of them" in note for note in hunt.survey().notes)
