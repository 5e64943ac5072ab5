"""A short exam with fixed seeds: small worlds from the exam's family, and what has to hold in all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from failscape.testing.exam.marks import ExamResult
from failscape.testing.exam.players import PatternPlayer, play_patterns
from failscape.testing.exam.subjects import mark_of
from failscape.testing.exam.worlds import PatternWorld, draw_traits

SEEDS = range(600, 612)


def small_world(seed: int) -> PatternWorld:
    """A world of the exam that takes a second or two."""
    traits = draw_traits(seed)
    if traits.complete:
        return PatternWorld(traits, seed)
    small = replace(
        traits,
        contexts=min(traits.contexts, 2),
        facts=min(traits.facts, 36),
        kinds=min(traits.kinds, 6),
        largest_bug=min(traits.largest_bug, 2),
        budget=min(traits.budget, 2_500),
        general=0,
    )
    return PatternWorld(small, seed)


@cache
def result() -> ExamResult:
    worlds = [small_world(seed) for seed in SEEDS]
    return ExamResult([mark_of(world, play_patterns(world)) for world in worlds])


def test_hardly_any_claim_is_false() -> None:
    claims = sum(mark.claims for mark in result().marks)
    assert claims >= 15
    assert sum(mark.false_claims for mark in result().marks) <= 1


def test_most_of_what_an_oracle_could_prove_ten_times_over_is_named() -> None:
    provable = sum(mark.provable for mark in result().marks)
    assert provable >= 15
    assert result().named_share() >= 0.7


def test_what_fails_in_ten_trials_is_mentioned() -> None:
    assert result().noticed_share() >= 0.95


def test_the_whole_budget_is_used() -> None:
    assert all(mark.idle == 0 for mark in result().marks)


def test_a_replayed_search_is_the_same_search() -> None:
    """Resume is replay: whatever was told before is told again, and the rest is asked for alike."""
    world = small_world(602)
    whole, resumed = PatternPlayer(world), PatternPlayer(world)
    assert whole.play().claims == resumed.play().claims
    first = [(test.facts, test.counts, test.log_evidence) for test in whole.search.tests()]
    second = [(test.facts, test.counts, test.log_evidence) for test in resumed.search.tests()]
    assert first == second
