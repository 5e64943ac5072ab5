"""Which nodes are claimed: the rules that keep claims minimal, and what e-BH counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from failscape.kinds.t2i.search.agenda import Agenda, Policy
from failscape.kinds.t2i.search.calibration import Calibration, Role, WatchedNode
from failscape.kinds.t2i.search.claims import CERTIFIED, LISTED, ClaimList
from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.posterior import Posterior
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.search.standing import Standing
from failscape.search.belief.nodes import Nodes, with_fewer_values
from failscape.search.certify import certify, evidence_needed
from failscape.spaces import Lattice, Node, Wording, load_corpus
from failscape.stats.rate_priors import RATES

CORPUS = load_corpus("starter")
CATS = Lattice(CORPUS, entities=("cat",), depth=1)


def posterior_with(parent_fails: float, fails: float = 0.999) -> Posterior:
    """A posterior to which the entity fails with one probability, and every child with another."""
    before = SimpleNamespace(fails=0.9)
    entity = SimpleNamespace(fails=parent_fails, passes=1 - parent_fails)
    child = SimpleNamespace(fails=fails, passes=1 - fails)
    made = SimpleNamespace(
        before=lambda slot: before,
        of=lambda slot: child if slot else entity,
        fails=lambda slot: fails if slot else parent_fails,
        misread=lambda slot: 0.0,
    )
    return cast(Posterior, made)


def claimed(ledger: Ledger, posterior: Posterior, certified: set[int], listing: bool = False) -> ClaimList:
    claims = ClaimList(ledger, 0.05, listing)
    claims.revise(posterior, certified, trials_told=100)
    return claims


def cat_with_failing_children(count: int) -> tuple[Ledger, set[int]]:
    """One entity with 12 spotless images, and so many of its children failing every time."""
    ledger = Ledger(CATS)
    alone, *children = [Node(CATS.entities[0]), *list(CATS.nodes(1))[:count]]
    assert len(children) == count
    slots = [ledger.open(CATS.subject(node), node) for node in (alone, *children)]
    for number in range(12):
        ledger.count(slots[0], number, passed=True, bet=True)
    for slot in slots[1:]:
        for number in range(8):
            ledger.count(slot, number, passed=False, bet=True, dropped=(1,))
    return ledger, set(slots[1:])


def test_no_more_claims_rest_on_an_ancestor_than_it_is_sure_for() -> None:
    """Together they may be expected to lose `fdr` of one claim with it."""
    ledger, failing = cat_with_failing_children(24)
    assert len(claimed(ledger, posterior_with(0.01), failing)) == 5
    assert len(claimed(ledger, posterior_with(0.001), failing)) == 24


def test_the_list_ends_where_its_mean_probability_of_being_wrong_would_pass_the_level() -> None:
    ledger, failing = cat_with_failing_children(2)
    assert len(claimed(ledger, posterior_with(0.06), failing)) == 0
    found = claimed(ledger, posterior_with(0.025), failing)
    assert len(found) == 2
    for claim in found.claims:
        assert claim.nested_probability == pytest.approx(1 - 1 / (1 + 0.025 / 0.975 / 0.9))
        assert claim.wrong_probability <= 0.05


def test_what_is_likely_is_listed_beside_what_is_certified() -> None:
    ledger, failing = cat_with_failing_children(3)
    found = claimed(ledger, posterior_with(0.005), {1}, listing=True)
    assert {claim.slot: claim.status for claim in found.claims} == {1: CERTIFIED, 2: LISTED, 3: LISTED}
    assert len(claimed(ledger, posterior_with(0.005), {1})) == 1
    doubtful = claimed(ledger, posterior_with(0.005, fails=0.9), set(), listing=True)
    assert len(doubtful) == 0, "a mean probability of 10 % is above the level"
    assert failing == {1, 2, 3}


def test_both_ways_of_being_wrong_share_one_level() -> None:
    ledger, _ = cat_with_failing_children(3)
    assert len(claimed(ledger, posterior_with(0.001, fails=0.96), set(), listing=True)) == 3
    assert len(claimed(ledger, posterior_with(0.015, fails=0.999), set(), listing=True)) == 3
    assert len(claimed(ledger, posterior_with(0.015, fails=0.96), set(), listing=True)) == 0


def test_a_claim_stays_until_images_speak_against_it() -> None:
    ledger, failing = cat_with_failing_children(3)
    claims = claimed(ledger, posterior_with(0.005), failing)
    claims.revise(posterior_with(0.4), set(), trials_told=200)
    assert len(claims) == 3, "a change of belief alone withdraws nothing"
    assert claims.to_draw_again(posterior_with(0.4)) == [0], "but the entity is drawn again"
    ledger.count(0, 12, passed=False, bet=True)
    claims.revise(posterior_with(0.02), set(), trials_told=300)
    assert len(claims) == 3, "there are new images, and they are borne out"
    ledger.count(0, 13, passed=False, bet=True)
    claims.revise(posterior_with(0.5), set(), trials_told=500)
    assert len(claims) == 0
    gone = claims.withdrawn[2]
    assert (gone.since, gone.at) == (100, 500)
    assert "cat" in gone.reason


def test_a_listed_claim_goes_by_its_own_images_too() -> None:
    ledger, _ = cat_with_failing_children(3)
    claims = claimed(ledger, posterior_with(0.005), set(), listing=True)
    ledger.count(1, 8, passed=True, bet=True)
    claims.revise(posterior_with(0.005, fails=0.45), set(), trials_told=400)
    assert {claim.slot for claim in claims.claims} == {2, 3}, "the others have no new images"
    assert "8 of 9 failed" in claims.withdrawn[1].reason
    claims.revise(posterior_with(0.005), set(), trials_told=500)
    assert {claim.slot: claim.since for claim in claims.claims}[1] == 100, "it comes back with its first date"
    assert not claims.withdrawn


def watched(role: Role, wrong: float) -> WatchedNode:
    """A node that fails at .5 or passes at .95, and makes a claim wrong with this probability."""
    failing, passing = (np.eye(len(RATES))[np.abs(RATES - rate).argmin()] for rate in (0.5, 0.95))
    sides = (passing, failing) if role is Role.CLAIMED else (failing, passing)
    return WatchedNode(role, wrong * sides[0], (1 - wrong) * sides[1], 0, 0)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(("truly_wrong", "corrected"), [(0.1, False), (0.5, True)])
def test_an_offset_grows_where_later_images_show_the_belief_too_sure(
    role: Role, truly_wrong: float, corrected: bool
) -> None:
    """Of 200 nodes that are taken to make a claim wrong in one of ten cases, 20 or 100 do."""
    calibration, counts = Calibration(), list[tuple[int, ...]]()
    start = calibration.offsets[role]
    calibration.watch({(role, slot): watched(role, 0.1) for slot in range(200)})
    for slot in range(200):
        wrong = slot < 200 * truly_wrong
        passes = wrong == (role is Role.CLAIMED)
        counts.append((19, 1) if passes else (10, 10))
    calibration.learn(counts)
    offset = calibration.offsets[role]
    expected = math.log(truly_wrong / (1 - truly_wrong)) - math.log(0.1 / 0.9)
    assert offset == pytest.approx(expected, abs=0.25)
    assert (offset > start) is corrected
    others = [calibration.offsets[other] for other in Role if other is not role]
    assert others == [start, start], "roles are learned apart"


def test_images_from_before_teach_an_offset_nothing() -> None:
    calibration = Calibration()
    start = calibration.offsets
    calibration.watch({(Role.ENTITY, 0): watched(Role.ENTITY, 0.1)})
    calibration.learn([(0, 0)])
    assert calibration.offsets == start


@pytest.mark.parametrize(
    ("layer", "failure_probability", "waiting", "settled"),
    [
        pytest.param(0, 0.01, 1, True, id="one failure waits"),
        pytest.param(0, 0.01, 10, False, id="ten would fall together"),
        pytest.param(0, 0.004, 10, True, id="surer for ten"),
        pytest.param(1, 0.02, 1, True, id="fewer rest on larger ancestors"),
    ],
)
def test_an_ancestor_settles_harder_the_more_failures_wait(
    layer: int, failure_probability: float, waiting: int, settled: bool
) -> None:
    assert Policy(0.05, 0.8).settled(layer, failure_probability, waiting) is settled


def hunt_for(lattice: Lattice, images: int | None) -> CertifiedHunt:
    return CertifiedHunt(lattice, Wording(CORPUS), CertifiedSettings(images=images), seed=1)


def test_the_number_of_tests_is_fixed_by_the_budget_and_never_above_the_space() -> None:
    wide = Lattice(CORPUS, entities="sample", depth=2)
    hunt = hunt_for(wide, 1_000)
    at_rest = hunt.tests
    assert at_rest == (len(wide.entities), math.ceil(hunt.settings.openings * 1_000))
    hunt.ask(250)
    assert hunt.tests == at_rest, "what is asked for moves nothing"
    assert hunt_for(CATS, 100_000).tests == (1, CATS.layer_size(1))
    assert hunt_for(wide, None).tests[1] <= math.ceil(hunt.settings.openings * 512)


def test_evidence_needed_is_what_e_bh_asks_and_a_little_more() -> None:
    logs, tests = [9.0] * 10 + [0.0] * 90, 100
    need = evidence_needed(logs, 0.05, tests)
    assert math.log(100 / (0.05 * 10)) < need < math.log(100 / (0.05 * 10)) + 0.5
    assert evidence_needed([], 0.05, tests) == pytest.approx(math.log(1.25 * 100 / 0.05))
    assert evidence_needed([50.0] * 100, 0.05, tests) == pytest.approx(math.log(1.5 / 0.05))


def test_certify_counts_every_test_and_no_more_than_it_is_told() -> None:
    logs = np.array([math.log(100 / 0.05), 0.0, 0.0])
    assert certify(logs, [0, 1], 0.05, 100) == {0}
    assert certify(logs, [0, 1], 0.05, 101) == set()
    assert certify(logs, [1, 2], 0.05, 100) == set()


def test_many_nodes_are_weighed_as_one_is() -> None:
    """Also those with three values, whose ancestors with two are kept by key."""
    lattice = Lattice(CORPUS, entities=("cat", "cup"), families=("Base", "Image"), depth=3)
    rng = np.random.default_rng(3)
    shape = (2, len(CORPUS.values))
    passes, prices = (rng.random(2), rng.random(shape)), (rng.random(2) * 20, rng.random(shape) * 20)
    standing = Standing(passes, prices, with_fewer_values)
    nodes = lattice.sample(3, 40, rng)
    keys = [(0 if node.entity == lattice.entities[0] else 1, *node.values) for node in nodes]
    for place, first, second, _ in keys[::2]:
        standing.put((place, first, second), 0.9, 4.0, bool(first % 2), second % 5 == 0)
        standing.wait((place, first, second), 2)
    many = Nodes(np.array([key[0] for key in keys]), np.array([key[1:] for key in keys]))
    chance, cost, dead = standing.weigh_all(3, many)
    for row, key in enumerate(keys):
        alone = standing.weigh(key)
        assert dead[row] == alone[2]
        if not dead[row]:
            assert cost[row] == pytest.approx(alone[1])
            assert chance[row] == pytest.approx(alone[0])


def test_of_two_parents_the_one_more_likely_to_fail_is_settled_first_and_no_further_than_needed() -> None:
    lattice = Lattice(CORPUS, entities=("cat",), depth=2)
    node = next(iter(lattice.nodes(2)))
    ledger, (first, second) = Ledger(lattice), node.values
    slot = ledger.open(lattice.subject(node), node)
    shape = (1, len(CORPUS.values))
    agenda = object.__new__(Agenda)
    agenda._ledger, agenda._posterior = ledger, posterior_with(0.0)
    agenda._policy = Policy(0.05, 0.8)
    ones = np.ones(1), np.ones(shape)
    agenda.standing = Standing(ones, ones, with_fewer_values)
    agenda._waiting = {key: {slot} for key in ((0,), (0, first), (0, second))}
    agenda.standing.put((0,), 0.999, 0.0, settled=True, dead=False, doubt=1e-4)
    for value, passes in ((first, 0.6), (second, 0.95)):
        agenda.standing.put((0, value), passes, 8.0, settled=False, dead=False, doubt=0.2)
        agenda.standing.wait((0, value), 1)
    agenda.standing.wait((0,), 1)
    assert agenda._worth_settling((0, first)) > agenda._worth_settling((0, second)) > 0
    assert agenda._worth_settling((0,)) == 0, "it is sure enough for this failure"
    agenda.standing.put((0, first), 0.99, 0.0, settled=True, dead=False, doubt=0.001)
    assert agenda._worth_settling((0, first)) == 0
    agenda._posterior = cast(
        Posterior, SimpleNamespace(before=lambda slot: SimpleNamespace(fails=0.01), doubt=None)
    )
    agenda.standing.put((0, first), 0.99, 0.0, settled=True, dead=False, doubt=0.02)
    assert agenda._worth_settling((0, first)) > 0, "a failure that nobody expected needs a surer parent"
