"""The exam's own parts: worlds that keep their word, an oracle that can count, marks that add up."""

from __future__ import annotations

import pytest

from failscape.testing.exam.marks import BugCost, ExamResult, WorldMark, oracle_trials, provable_bugs, table
from failscape.testing.exam.subjects import SUBJECTS
from failscape.testing.exam.worlds import PatternWorld, WorldTraits, draw_traits


def test_a_world_follows_from_its_seed() -> None:
    for seed in range(20):
        first, second = (PatternWorld(draw_traits(seed), seed) for _ in range(2))
        assert first.bugs == second.bugs
        facts = list(first.kinds)[:3]
        context = first.contexts[0]
        assert first.draw(context, facts, 7) == second.draw(context, facts, 7)


def test_bugs_have_facts_of_different_kinds_and_none_holds_another() -> None:
    for seed in range(60):
        world = PatternWorld(draw_traits(seed), seed)
        for bug in world.bugs:
            kinds = [world.kinds[fact] for fact in bug.facts]
            assert len(set(kinds)) == len(kinds)
        for one in world.bugs:
            nested = [
                bug for bug in world.bugs if bug.context == one.context and set(bug.facts) < set(one.facts)
            ]
            assert not nested


def test_trials_fail_as_often_as_the_truth_says() -> None:
    world = PatternWorld(WorldTraits(contexts=1, bugs=1, largest_bug=1, obeys=0.7, invalid=0.0), 3)
    bug = world.bugs[0]
    trials = [world.draw(bug.context, bug.facts, number) for number in range(3_000)]
    rate = sum(bool(trial.failed) for trial in trials) / len(trials)
    assert rate == pytest.approx(world.true_rate(bug.context, bug.facts), abs=0.04)


def test_large_bugs_cost_an_oracle_less_than_small_ones() -> None:
    costs = [oracle_trials(BugCost(rate, 0.1), 10_000, 0.05, plain=True) for rate in (0.9, 0.5, 0.3, 0.2)]
    assert costs == sorted(costs)
    assert oracle_trials(BugCost(0.1, 0.1), 10_000, 0.05, plain=True) == float("inf")


def test_an_oracle_proves_the_cheapest_bugs_first_within_a_tenth_of_the_budget() -> None:
    bugs = [[BugCost(0.3, 0.1)], [BugCost(0.9, 0.1)], [BugCost(0.05, 0.1)]]
    assert provable_bugs(bugs, 100, 0.05) == []
    assert provable_bugs(bugs, 1_000, 0.05) == [1]
    assert provable_bugs(bugs, 100_000, 0.05) == [1, 0]


def mark(named: int, provable: int, false: int = 0, claims: int = 10) -> WorldMark:
    traits = {"size": "small" if provable < 5 else "large"}
    return WorldMark(0, traits, provable, provable, named, named, claims, false, 0, 0, 100, 0, 0.1)


def test_marks_add_up() -> None:
    result = ExamResult([mark(4, 4), mark(2, 4), mark(0, 8, false=1)])
    assert result.named_share() == pytest.approx(6 / 16)
    assert result.worst_tenth() == 0.0
    assert result.false_share() == pytest.approx(0.1 / 3)
    assert result.false_share_bound() > 1 / 30
    assert result.milliseconds() == pytest.approx(1.0)
    text = table(result.marks)
    assert "| all | 3 |" in text
    assert "size: large" in text


def test_whole_hunts_can_sit_the_exam() -> None:
    assert set(SUBJECTS) == {"patterns", "classifier", "vlm"}
    marked = SUBJECTS["vlm"](33)
    assert marked.claims == marked.planted == 0
    assert marked.idle == 0
