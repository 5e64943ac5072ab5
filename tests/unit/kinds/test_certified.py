"""The certified search: what it asks, what is evidence, what it claims, and the promises of every hunt."""

from __future__ import annotations

import math
import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from failscape.errors import ConfigError
from failscape.kinds.t2i.build import build_hunt, forewarn, least_images
from failscape.kinds.t2i.config import T2IConfig
from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.survey.judge_view import PANEL_IMAGES, draw_panel
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.evalues import log_e_bh
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.hunt_suite import HuntSuite
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
        return make(images=600, strategy="listed")


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


def test_what_is_certified_is_what_e_bh_claims_of_entities_and_of_others() -> None:
    hunt = played("weak")
    found, evidence, layers = set[int](), hunt.evidence(), hunt.ledger.layers
    for above, level, total in zip((False, True), hunt.levels, hunt.tests, strict=True):
        tests = np.array(sorted(slot for slot in hunt.ledger.adopted if (layers[slot] > 0) == above))
        found |= set(tests[log_e_bh(evidence[tests], level, total)].tolist())
    groups = tuning.FOR_GROUPS * hunt.settings.fdr
    assert sum(hunt.levels) + groups == pytest.approx(hunt.settings.fdr)
    assert hunt.certified_now() == found
    assert {claim.slot for claim in hunt.claims()} <= hunt.book.certified
    assert len(hunt.claims()) > 20


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_the_number_of_tests_is_kept(strategy: str) -> None:
    hunt = make(openings=0.02, strategy=strategy)
    world = PlantedWorld(SAMPLE, "medium", seed=11)
    told: list[int] = []

    def look(_: int) -> None:
        told.append(len(hunt.ledger.adopted) - sum(hunt.tests))

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
        assert finding.details.claim.minimal
        assert all(parent["trials"] >= 3 for parent in finding.parents)
    assert [f.e_value for f in findings] == sorted((f.e_value for f in findings), reverse=True)


def test_a_certificate_had_its_evidence_when_it_was_given() -> None:
    """Later images may lower it again; a claim goes only when they speak against it."""
    hunt, known = make(images=1_500), set[int]()

    def look(_: int) -> None:
        new = hunt.book.certified - known
        if new:
            assert hunt.evidence()[sorted(new)].min() >= math.log(1 / hunt.settings.fdr)
            known.update(new)

    simulate(hunt, PlantedWorld(SAMPLE, "weak", seed=11), 1_500, after=look)
    assert len(known) > 10


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
    panel = hunt.unguided.panel.counts
    assert 0.03 * 3_000 <= sum(counts.images for counts in panel.values()) <= 0.05 * 3_000
    deepest = {SAMPLE.subject(node) for node in panel if len(node.values) == 2}
    assert deepest
    assert not deepest & set(hunt.ledger.subjects)


def test_the_list_is_audited_with_fresh_seeds() -> None:
    hunt = make(images=3_000)
    world, keys, seeds = PlantedWorld(SAMPLE, "weak", seed=11), Counter[str](), set()
    kept = simulate(hunt, world, 3_000, keep=True).trials
    for trial in kept:
        label = trial.key[len(trial.subject) + 1 :]
        keys["r" if label.startswith("r") else "other"] += 1
        seeds.add((label[0] == "r", trial.seed))
    assert 0 < keys["r"] <= 90
    assert not {seed for again, seed in seeds if again} & {seed for again, seed in seeds if not again}
    audited = hunt.survey().list_audit
    assert audited is not None
    assert audited.images == keys["r"]
    assert audited.parts[-1].confirmed > 0.8 * audited.parts[-1].audited


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


def config(**changes: object) -> T2IConfig:
    planted = {"provider": "python", "path": "failscape.simulate.planted:PlantedGenerator"}
    space = {"corpus": "starter", "entities": ["cat", "cup"]}
    base = {"hunt": "t2i", "target": planted, "judge": planted, "space": space}
    return T2IConfig.model_validate({**base, **changes})


def test_it_is_what_a_config_without_a_strategy_gets() -> None:
    hunt = build_hunt(config(budget={"images": 500}, search={"threshold": 0.7, "fdr": 0.1}))
    assert isinstance(hunt, CertifiedHunt)
    assert (hunt.settings.threshold, hunt.settings.fdr, hunt.settings.images) == (0.7, 0.1, 500)


def test_a_retired_level_is_dropped_and_said() -> None:
    with pytest.warns(FutureWarning, match="minimal_doubt"):
        assert config(search={"minimal_doubt": 0.1}).search.fdr == 0.05


def test_a_config_is_of_todays_rules() -> None:
    assert config().search.rules == CertifiedSettings().rules


def test_what_a_budget_can_prove_is_said_beforehand() -> None:
    least = least_images(2, 0.8, 0.05)
    warned = forewarn(config(search={"strategy": "listed"}, budget={"images": least - 1}))
    assert "too small" in warned[0]
    assert "can still be listed" in warned[0]
    strict = forewarn(config(budget={"images": least - 1}, search={"strategy": "certified"}))
    assert "listed" not in strict[0]
    assert "few will be tried" in forewarn(config(budget={"images": max(least, 23)}))[0]
    assert not forewarn(config(budget={"images": 24}))
    hunt = make(SMALL, images=1_000, panel=0.0)
    spent = 0
    while not hunt.certified_now():
        for probe in hunt.ask(1):
            hunt.tell(answer(probe, Verdict.FAIL))
            spent += 1
    assert spent >= least_images(3, 0.8, 0.05) / 4, "the warning must not be far too high"


def test_a_threshold_at_which_most_entities_fail_is_told() -> None:
    hunt = make(SMALL, images=400)
    while sum(hunt.ledger.fails) < 120 and (probes := hunt.ask(8)):
        for probe in probes:
            hunt.tell(answer(probe, Verdict.FAIL))
    assert "3 of 3 entities fail by themselves" in hunt.notices()[0]


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


def test_claims_do_not_depend_on_who_looks_at_them_and_when() -> None:
    looked, blind = make(images=None), make(images=None)
    world = PlantedWorld(SAMPLE, "weak", seed=3)
    for _ in range(12):
        for one, other in zip(looked.ask(64), blind.ask(64), strict=True):
            looked.tell(world.run(one))
            blind.tell(world.run(other))
        looked.findings()
        looked.suspects()
    assert looked.claims()
    assert looked.claims() == blind.claims()


def test_a_threshold_next_to_one_is_no_accident() -> None:
    hunt = make(SMALL, threshold=0.9999999, images=60)
    simulate(hunt, PlantedWorld(SMALL, "weak", seed=3), 60)
    assert np.isfinite(hunt.evidence()).all()


def test_suspects_say_what_is_missing_and_are_not_claimed() -> None:
    hunt = played("medium", strategy="listed")
    suspects, found = hunt.suspects(), {finding.subject for finding in hunt.findings()}
    assert suspects
    assert not found & {one.subject for one in suspects}
    for one in suspects:
        assert one.status == "suspect"
        assert not one.details.claim.minimal
        assert "images" in one.details.claim.missing
    waiting = [one for one in suspects if one.details.claim.missing.startswith("it fails; ")]
    assert waiting, "in this world some failures wait for a parent"
    chances = [one.details.claim.posterior * (1 - one.details.claim.doubt_minimal) for one in suspects]
    assert chances == sorted(chances, reverse=True)


def test_certified_findings_come_before_listed_ones() -> None:
    findings = played("weak", strategy="listed").findings()
    statuses = [finding.status for finding in findings]
    assert "listed" in statuses
    assert set(statuses) <= {"certified", "listed"}
    assert statuses == sorted(statuses)


def test_a_tolerance_lets_parents_fall_a_little_short() -> None:
    strict, tolerant = (played("medium", strategy="listed", tolerance=each) for each in (0.0, 0.1))
    assert {finding.details.claim.parents_pass_at for finding in strict.findings()} == {0.8}
    assert {finding.details.claim.parents_pass_at for finding in tolerant.findings()} == {0.7}


EIGHT = Lattice(CORPUS, entities=("cat",), families=("Image",), depth=1)


def drawn(rates: dict[str, float], probe: Probe) -> Trial:
    """An image of a model with these success rates, by subject; others always succeed."""
    luck = random.Random(probe.key).random()
    return answer(probe, Verdict.PASS if luck < rates.get(probe.subject, 1.0) else Verdict.FAIL)


def test_a_small_space_is_decided_and_the_rest_of_the_budget_sharpens_rates() -> None:
    failing = [EIGHT.subject(node) for node in list(EIGHT.nodes(1))[:4]]
    rates = {"cat": 0.95} | dict.fromkeys(failing, 0.3)
    hunt = make(EIGHT, images=3_000, strategy="listed")
    spent = 0
    while spent < 3_000 and (probes := hunt.ask(16)):
        for probe in probes:
            hunt.tell(drawn(rates, probe))
            spent += 1
    assert {finding.subject for finding in hunt.findings()} == set(failing)
    assert {finding.status for finding in hunt.findings()} == {"certified"}
    assert max(high - low for finding in hunt.findings() for low, high in [finding.interval]) <= 0.22
    assert hunt.done
    assert "nothing that is left could change a claim" in hunt.notices()[0]


def test_a_node_that_nobody_can_judge_does_not_eat_the_budget() -> None:
    hunt = make(SMALL, images=2_000)
    spent = Counter[str]()
    for _ in range(60):
        for probe in hunt.ask(8):
            spent[probe.subject] += 1
            hunt.tell(answer(probe, Verdict.INVALID if probe.subject == "cat" else Verdict.PASS))
    assert spent["cat"] <= 20
    assert hunt.undecided() == ["cat"]
