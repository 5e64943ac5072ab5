"""Rules tested as groups: one e-process for many nodes, honest at its null, and the same after a resume."""

from __future__ import annotations

import random

import numpy as np
import pytest

from failscape.kinds.t2i.search import tuning
from failscape.kinds.t2i.search.groups import MEASURED, TESTED, Group, GroupCode
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.simulate.corpus import planted_corpus
from failscape.spaces import Lattice, Wording
from failscape.stats.judging.accuracy import Limits
from failscape.trials import Probe, Trial, Verdict

CORPUS = planted_corpus(40, 12, 1_500)
LATTICE = Lattice(CORPUS, depth=2)
NEVER = CORPUS.values[3].label


def answer(probe: Probe, fails: str = NEVER) -> Trial:
    rate = 0.04 if fails in probe.subject else 0.97
    passed = random.Random(probe.key).random() < rate
    checks = len(probe.subject.split("; "))
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return Trial(probe.key, probe.subject, verdict, "", ["image", [passed] * checks], probe.seed)


def make(strategy: str = "listed", images: int = 1_200) -> CertifiedHunt:
    settings = CertifiedSettings(strategy=strategy, images=images)
    return CertifiedHunt(LATTICE, Wording(CORPUS), settings, seed=3)


def play(hunt: CertifiedHunt, images: int = 1_200) -> list[Trial]:
    told: list[Trial] = []
    while len(told) < images and (probes := hunt.ask(min(16, images - len(told)))):
        for probe in probes:
            told.append(answer(probe))
            hunt.tell(told[-1])
    return told


@pytest.mark.parametrize("strategy", ["certified", "listed"])
def test_a_value_that_never_works_is_one_rule_and_its_members_need_no_images(strategy: str) -> None:
    hunt = make(strategy)
    told = play(hunt)
    (rule,) = hunt.survey().tested_rules
    assert (rule.scope, rule.who, rule.values, rule.layer) == ("all", "", (NEVER,), 1)
    assert rule.test is not None
    assert rule.test.at_least > 0.5
    assert rule.held_out is not None
    assert rule.held_out.rate > 0.8
    assert "most of its" in rule.proof
    members = {key for group in hunt.groups.claimed for key in group.cases()}
    assert rule.covers == len(members) > 20
    # Images of the group's test and measurement, and of the audit, are of members by design.
    apart = ("#g", "#m", "#r")
    own = [one for one in told[rule.test.since + 200 :] if not any(mark in one.key for mark in apart)]
    opened = {trial.subject for trial in own if NEVER in trial.subject}
    assert len(opened & {LATTICE.subject(hunt.node_of(key)) for key in members}) <= len(members) / 2
    covered = [finding for finding in hunt.findings() if NEVER in finding.subject]
    assert all(finding.details.claim.rule == rule.text for finding in covered)


def test_a_resumed_hunt_knows_its_rules() -> None:
    first = make()
    told = play(first)
    again = make()
    for trial in told:
        again.tell(trial)
    assert again.survey().tested_rules == first.survey().tested_rules
    assert again.findings() == first.findings()
    assert again.groups.asked == first.groups.asked
    assert again.groups.in_flight == 0


def test_images_of_groups_are_nobody_elses_evidence() -> None:
    hunt = make()
    told = play(hunt)
    drawn = [trial for trial in told if trial.key.rpartition("#")[2][0] in (TESTED, MEASURED)]
    assert drawn
    assert len({trial.key for trial in told}) == len(told)
    searched = int((hunt.ledger.passes + hunt.ledger.fails).sum())
    apart = sum(trial.key.rpartition("#")[2][0] in "pr" for trial in told)
    assert searched + apart + len(drawn) == len(told)
    again = make()
    for trial in (*told, *told):
        again.tell(trial)
    assert [(one.passes, one.fails) for one in again.groups] == [(o.passes, o.fails) for o in hunt.groups]


def group_of(rates: int = 30) -> Group:
    half = Limits(0.4, 0.4), Limits(0.8, 0.8)
    return Group(GroupCode(2, 0, (1,)), np.arange(rates), half, seed=5)


def test_half_failing_is_seldom_taken_for_most() -> None:
    """Half of the members never work and half do at τ: the null, at its edge. e ≥ 20 at any look in 5 %."""
    luck, erring = np.random.default_rng(1), 0
    for _ in range(400):
        group = group_of()
        for member, lucky in zip(luck.integers(30, size=100), luck.random(100) < 0.8, strict=True):
            passed = bool(member % 2 and lucky)
            group.passes, group.fails = group.passes + passed, group.fails + (not passed)
            if group.log_e >= np.log(20):
                erring += 1
                break
    assert erring <= 40, "the chance of more than 40 of 400 at 5 % is below 1e-4"


def test_the_share_that_fails_for_sure_is_never_above_the_truth_by_much() -> None:
    luck = np.random.default_rng(2)
    wrong = 0
    for _ in range(100):
        group = group_of()
        passes = (luck.integers(30, size=40) >= 24) & (luck.random(40) < 0.8)
        group.passes, group.fails = int(passes.sum()), 40 - int(passes.sum())
        wrong += group.at_least > 24 / 30
    assert wrong <= 14, "an interval of 95 %: above 14 of 100 once in 10,000 such tests"


def test_a_claim_that_its_measurement_contradicts_is_taken_back() -> None:
    group = group_of()
    group.since = 10
    for at in range((tuning.MEASURED_MEMBERS - 1) * tuning.LEAST_IMAGES):
        group.tell(MEASURED, at, True)
        assert group.look(0.005) == "", "not all members are measured yet"
    group.tell(MEASURED, at + 1, True)
    assert "passed" in group.look(0.005)
