"""Where the classifier hunt spends images: what proofs cost, which parts come first, what captions tell."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.prompts import Clause, Template, clause_of, describe
from failscape.hunts.classifier.prospects import Prospects
from failscape.hunts.classifier.race import proof_images
from failscape.hunts.classifier.scouting import Crowd, Scouts
from failscape.hunts.classifier.settings import ClassifierRules
from failscape.hunts.classifier.tallies import Arm, Look, Target
from failscape.spaces.corpus import load_corpus

CORPUS = load_corpus("toybox")
OWL = Target("owl", ("owl",))
NEED = 7.0


def clause(label: str) -> Clause:
    return next(clause_of(value) for value in CORPUS.values if value.label == label)


DESERT, WHITE = clause("Background: place=desert"), clause("Base: colour=white")


def show(counts: object, fails: int, passes: int) -> None:
    for number in range(fails + passes):
        counts.add(Look(failed=number < fails, wrong="crab", heeded=True))  # type: ignore[attr-defined]


@pytest.fixture
def arena() -> Arena:
    found = Arena([OWL], Template("a photo of a {class}."), CORPUS, ClassifierRules(images=3_000))
    show(found.classes[0].base, 1, 49)
    found.drawn = 50
    return found


def prospects(arena: Arena) -> Prospects:
    options = arena.candidates.options(OWL)
    found = Prospects(arena, Scouts(arena.candidates.clauses, None, [options], [""], 5, 0))
    found.rank(NEED)
    return found


def entered(arena: Arena, clauses: list[Clause], fails: int, passes: int) -> Arm:
    arm = arena.enter(describe(0, clauses), "captions", 0.1)
    assert arm is not None
    show(arm.looks, fails, passes)
    arm.looked = fails + passes
    return arm


def images(rate: float, baseline: int) -> float:
    return float(proof_images(np.array([rate]), np.array([0.05]), np.array([baseline]), 0.05, NEED)[0])


def test_a_weak_bug_gains_most_from_a_larger_baseline() -> None:
    assert images(0.9, 50) < images(0.35, 50)
    assert images(0.3, 50) - images(0.3, 100) > 50  # worth its images for one description alone
    assert images(0.9, 50) - images(0.9, 100) < 10


def test_a_baseline_grows_where_that_saves_more_than_it_costs(arena: Arena) -> None:
    entered(arena, [DESERT], 8, 0)
    prospects(arena)
    assert arena.classes[0].goal == arena.rules.baseline
    arena.drawn = 1_000
    entered(arena, [WHITE], 5, 12)
    for other in ("Image: style=sepia", "Base: colour=blue"):
        entered(arena, [clause(other)], 5, 12)
    prospects(arena)
    assert arena.classes[0].goal > arena.rules.baseline


def test_a_pair_waits_until_its_parts_are_known_not_to_keep_the_bug(arena: Arena) -> None:
    pair = entered(arena, [DESERT, WHITE], 6, 0)
    first = prospects(arena)
    assert pair not in first.testing
    assert {arm.clauses for arm, _ in first.looks} >= {(DESERT,), (WHITE,)}
    for one in (DESERT, WHITE):
        entered(arena, [one], 1, 9)  # parts may fail more than the class, and far less than the pair
    assert pair in prospects(arena).testing


def test_a_proven_part_settles_a_pair_only_if_it_keeps_the_bug(arena: Arena) -> None:
    pair = entered(arena, [DESERT, WHITE], 10, 0)
    entered(arena, [WHITE], 0, 10)
    part = entered(arena, [DESERT], 0, 0)
    part.log_e = NEED + 1
    show(part.counts, 60, 140)
    assert pair in prospects(arena).testing
    show(part.counts, 200, 0)
    assert pair not in prospects(arena).testing


def test_tests_that_cost_more_than_bugs_have_cost_so_far_come_later(arena: Arena) -> None:
    weak, strong = entered(arena, [DESERT], 5, 15), entered(arena, [WHITE], 10, 0)
    found = prospects(arena)
    assert weak.subject in found.costly
    assert strong.subject not in found.costly
    arena.drawn = 5_000  # where bugs are hard to come by, no test is too dear
    assert weak.subject not in prospects(arena).costly


def test_captions_of_plain_pictures_are_first_looks_that_nobody_had_to_draw() -> None:
    clauses = [clause_of(value) for value in CORPUS.values]
    at, other = (clauses.index(one) for one in (DESERT, WHITE))
    everything = list(range(len(clauses)))
    scouts = Scouts(clauses, None, [everything, everything], ["", ""], 5, 0)
    for number in range(20):
        scouts.absorb_unasked(0, [other] if number % 4 == 0 else [], failed=False)
        scouts.absorb(1, scouts.compose(1, set()) or 0, (), False)
        scouts.absorb(0, scouts.compose(0, set()) or 0, (), False)
    for number in range(5):
        scouts.absorb_unasked(0, [at, other] if number == 0 else [at], failed=True)
    base = np.array([(5.0, 95.0), (1.0, 99.0)])
    scouts.learn(base, np.zeros((2, len(clauses), 2)), np.array([0.1, 0.06]))
    assert scouts.chance[0, at] > 0.5
    assert scouts.chance[0, other] < 0.1


def crowds(scouts: Scouts, shown: tuple[int, ...], fails: int, passes: int) -> Crowd:
    """So many crowds of the same values; the last of them."""
    looks = scouts.classes[0]
    for number in range(fails + passes):
        looks.crowds.append(Crowd(shown))
        scouts.absorb(0, len(looks.crowds) - 1, shown, number < fails)
    return looks.crowds[-1]


def test_pairs_that_other_crowds_have_shown_to_pass_are_tried_last() -> None:
    scouts = Scouts([clause_of(value) for value in CORPUS.values], None, [range(8)], [""], 5, 0)
    crowds(scouts, (0, 1, 5), 0, 4)
    failed = crowds(scouts, (0, 1, 2), 1, 0)
    chances = dict(scouts.pairs_of_crowd(0, failed))
    assert chances[0, 1] < 0.3 * chances[0, 2]
    assert chances[0, 2] == chances[1, 2]
    assert sum(chances.values()) < 1


def test_a_value_takes_the_blame_that_others_of_its_crowds_have_not_earned() -> None:
    scouts = Scouts([clause_of(value) for value in CORPUS.values], None, [range(8)], [""], 5, 0)
    crowds(scouts, (0, 1), 8, 8)
    crowds(scouts, (1, 2), 0, 16)
    nothing = np.zeros((1, len(CORPUS.values), 2))
    scouts.learn(np.array([[1.0, 49.0]]), nothing, np.array([0.08]))
    assert scouts.chance[0, 0] > 0.5 > 2 * scouts.chance[0, 1]
    assert scouts.chance[0, 2] < scouts.chance[0, 1]


def test_what_passes_alone_does_not_keep_pairs_of_its_crowds_waiting(arena: Arena) -> None:
    suspect = entered(arena, [DESERT], 0, 0)
    suspect.prior = 0.95
    assert prospects(arena).hot[0]
    show(suspect.looks, 0, 4)
    assert not prospects(arena).hot[0]
    show(suspect.looks, 2, 0)
    assert prospects(arena).hot[0]
