"""Which nodes are claimed: the rules that keep claims minimal, and what e-BH counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from failscape.hunts.belief.nodes import Nodes
from failscape.hunts.certify import certify, evidence_needed
from failscape.hunts.t2i.certified.agenda import Agenda, Policy
from failscape.hunts.t2i.certified.claims import CERTIFIED, LISTED, ClaimBook, Levels, weigh_claims
from failscape.hunts.t2i.certified.doubt import temper
from failscape.hunts.t2i.certified.hunt import CertifiedHunt
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Posterior
from failscape.hunts.t2i.certified.settings import CertifiedSettings
from failscape.hunts.t2i.certified.standing import Standing
from failscape.spaces import Lattice, Node, Wording, load_corpus

CORPUS = load_corpus("starter")
CATS = Lattice(CORPUS, entities=("cat",), depth=1)


def posterior_with(doubt: float, fails: float = 0.99) -> Posterior:
    """A posterior to which every ancestor is as doubtful, and every child as likely to fail by itself."""
    row, entity = SimpleNamespace(fails=0.9), SimpleNamespace(fails=doubt, passes=1 - doubt)
    sure = SimpleNamespace(fails=fails, passes=1 - fails)
    made = SimpleNamespace(
        doubt=lambda slot, resting=0: doubt,
        before=lambda slot: row,
        of=lambda slot: sure if slot else entity,
        fails=lambda slot: fails if slot else doubt,
        misread=lambda slot: 0.0,
    )
    return cast(Posterior, made)


def claimed(ledger: Ledger, posterior: Posterior, failing: set[int], **settings: bool) -> ClaimBook:
    book = ClaimBook(ledger, Levels(0.05, 0.04), **{"listing": False, **settings})
    book.revise(posterior, failing, told=100)
    return book


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


def test_many_claims_do_not_rest_on_one_doubtful_ancestor() -> None:
    few, many = (cat_with_failing_children(count) for count in (3, 24))
    assert len(weigh_claims(few[0], posterior_with(0.02), few[1], few[1])) == 3
    assert weigh_claims(many[0], posterior_with(0.02), many[1], many[1]) == []
    assert len(weigh_claims(many[0], posterior_with(0.002), many[1], many[1])) == 24
    part = set(list(many[1])[:2])
    assert weigh_claims(many[0], posterior_with(0.02), part, many[1], many[1] - part) == []


def test_claims_stop_where_their_mean_doubt_would_pass_the_level() -> None:
    ledger, failing = cat_with_failing_children(2)
    assert len(claimed(ledger, posterior_with(0.06), failing)) == 0
    assert len(claimed(ledger, posterior_with(0.03), failing)) == 0, "a short list must be surer"
    assert len(claimed(ledger, posterior_with(0.005), failing)) == 2


def test_what_is_likely_is_listed_beside_what_is_certified() -> None:
    ledger, failing = cat_with_failing_children(3)
    book = claimed(ledger, posterior_with(0.005), {1}, listing=True)
    assert {claim.slot: claim.status for claim in book.claims} == {1: CERTIFIED, 2: LISTED, 3: LISTED}
    assert len(claimed(ledger, posterior_with(0.005), {1})) == 1
    doubtful = claimed(ledger, posterior_with(0.005, fails=0.9), set(), listing=True)
    assert len(doubtful) == 0, "a mean doubt of 10 % is above the level"
    assert failing == {1, 2, 3}


def test_a_claim_stays_until_images_speak_against_it() -> None:
    ledger, failing = cat_with_failing_children(3)
    book = claimed(ledger, posterior_with(0.005), failing)
    book.revise(posterior_with(0.4), set(), told=200)
    assert len(book) == 3, "a change of belief alone withdraws nothing"
    ledger.count(0, 12, passed=False, bet=True)
    book.revise(posterior_with(0.02), set(), told=300)
    assert len(book) == 3, "there are new images, and they are borne out"
    ledger.count(1, 8, passed=True, bet=True)
    book.revise(posterior_with(0.02, fails=0.5), set(), told=400)
    assert 1 not in book
    assert {2, 3} <= {claim.slot for claim in book.claims}
    gone = book.withdrawn[1]
    assert (gone.since, gone.at) == (100, 400)
    assert "8 of 9 failed" in gone.reason
    ledger.count(0, 13, passed=False, bet=True)
    book.revise(posterior_with(0.5), set(), told=500)
    assert len(book) == 0
    assert "cat" in book.withdrawn[2].reason


def test_a_withdrawn_claim_comes_back_with_its_first_date() -> None:
    ledger, failing = cat_with_failing_children(1)
    book = claimed(ledger, posterior_with(0.005), failing)
    ledger.count(1, 8, passed=True, bet=True)
    book.revise(posterior_with(0.005, fails=0.5), set(), told=200)
    assert len(book) == 0
    book.revise(posterior_with(0.005), failing, told=300)
    assert [claim.since for claim in book.claims] == [100]
    assert not book.withdrawn


@pytest.mark.parametrize(
    ("believed", "spotless", "settled"),
    [
        pytest.param(0.02, 3, False, id="the model's word alone does not settle an ancestor"),
        pytest.param(0.02, 20, True, id="its images do"),
        pytest.param(0.001, 6, True, id="with the model's word fewer of them do"),
        pytest.param(0.5, 12, False, id="against the model's word more are needed"),
    ],
)
def test_the_models_word_counts_for_a_part_only(believed: float, spotless: int, settled: bool) -> None:
    doubt = temper(believed, spotless, 0, 0.8)
    assert Policy().settled(1, doubt, waiting=1) is settled


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
    standing = Standing((rng.random(2), rng.random(shape)), (rng.random(2) * 20, rng.random(shape) * 20))
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


def test_a_list_is_crowded_when_its_claims_are_nearly_as_doubtful_as_they_may_be() -> None:
    ledger, _ = cat_with_failing_children(3)
    sure, doubtful = (
        claimed(ledger, posterior_with(0.005, fails=fails), set(), listing=True) for fails in (0.99, 0.97)
    )
    assert len(sure) == len(doubtful) == 3
    assert (sure.crowded, doubtful.crowded) == (False, True)


def test_of_two_parents_the_one_more_likely_to_fail_is_settled_first_and_no_further_than_needed() -> None:
    lattice = Lattice(CORPUS, entities=("cat",), depth=2)
    node = next(iter(lattice.nodes(2)))
    ledger, (first, second) = Ledger(lattice), node.values
    slot = ledger.open(lattice.subject(node), node)
    shape = (1, len(CORPUS.values))
    agenda = object.__new__(Agenda)
    agenda._ledger, agenda._posterior = ledger, posterior_with(0.0)
    agenda.standing = Standing((np.ones(1), np.ones(shape)), (np.ones(1), np.ones(shape)))
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
