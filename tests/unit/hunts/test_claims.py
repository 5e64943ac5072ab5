"""Which nodes are claimed: the rules that keep claims minimal, and what e-BH counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from failscape.hunts.certify import certify, evidence_needed
from failscape.hunts.t2i.certified.agenda import Policy
from failscape.hunts.t2i.certified.claims import minimal_claims
from failscape.hunts.t2i.certified.doubt import temper
from failscape.hunts.t2i.certified.hunt import CertifiedHunt, CertifiedSettings
from failscape.hunts.t2i.certified.ledger import Ledger
from failscape.hunts.t2i.certified.posterior import Posterior
from failscape.spaces import Lattice, Node, Wording, load_corpus

CORPUS = load_corpus("starter")
CATS = Lattice(CORPUS, entities=("cat",), depth=1)


def posterior_with(doubt: float) -> Posterior:
    """A posterior to which every ancestor is as doubtful, and every child as likely to fail by itself."""
    row = SimpleNamespace(fails=0.9)
    return cast(Posterior, SimpleNamespace(doubt=lambda slot: doubt, before=lambda slot: row))


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
    assert len(minimal_claims(few[0], posterior_with(0.02), few[1], 0.04)) == 3
    assert minimal_claims(many[0], posterior_with(0.02), many[1], 0.04) == []
    assert len(minimal_claims(many[0], posterior_with(0.002), many[1], 0.04)) == 24


def test_claims_stop_where_their_mean_doubt_would_pass_the_level() -> None:
    ledger, failing = cat_with_failing_children(2)
    assert minimal_claims(ledger, posterior_with(0.06), failing, 0.04) == []
    assert len(minimal_claims(ledger, posterior_with(0.03), failing, 0.04)) == 2


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
    assert Policy().settled(1, doubt, spotless, waiting=1) is settled


def test_what_is_in_flight_counts_as_tests() -> None:
    """Else a claim could be made just before its own evidence is diluted by what was asked already."""
    lattice = Lattice(CORPUS, entities="sample", depth=2)
    hunt = CertifiedHunt(lattice, Wording(CORPUS), CertifiedSettings(panel=0.0, replication=0.0), seed=1)
    at_rest = hunt.tests
    asked = len(hunt.ask(250))
    assert asked == 250
    assert hunt.tests == at_rest + math.ceil(hunt.settings.openings * asked)


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
