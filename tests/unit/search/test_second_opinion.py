"""The plain scan of all trials: what plainly fails is a finding, a suspect, explained, or seen."""

from __future__ import annotations

import random

import pytest

from failscape.search.second_opinion import (
    PatternStanding,
    ScannedPattern,
    ScannedTrial,
    second_opinion,
    unaccounted,
)


def trials_of(seed: int, number: int = 1_500, bug: tuple[str, ...] = ("fog",)) -> list[ScannedTrial]:
    luck = random.Random(seed)
    trials = []
    for _ in range(number):
        context = luck.choice(["dog", "cat"])
        words = [("fog", "snow", "sun"), ("street", "beach", "forest"), ("red", "blue", "green")]
        facts = frozenset(luck.choice(one) for one in words)
        fails = context == "dog" and facts.issuperset(bug)
        trials.append(ScannedTrial(context, facts, luck.random() < (0.6 if fails else 0.04)))
    return trials


def test_what_plainly_fails_and_is_not_listed_is_seen_by_its_shortest_name() -> None:
    for seed in range(5):
        for bug in (("fog",), ("fog", "street")):
            seen = unaccounted(second_opinion(trials_of(seed, bug=bug)))
            assert [one.pattern for one in seen] == [ScannedPattern("dog", bug)]


def test_a_finding_explains_what_overlaps_with_it() -> None:
    finding = ScannedPattern("dog", ("fog",))
    opinion = second_opinion(trials_of(1), [finding])
    assert not unaccounted(opinion)
    standings = {one.pattern: one for one in opinion}
    assert standings[finding].standing is PatternStanding.FINDING
    overlapping = standings[ScannedPattern("dog", ("fog", "street"))]
    assert overlapping.standing is PatternStanding.EXPLAINED
    assert overlapping.explained_by == finding


def test_a_suspect_is_enough() -> None:
    opinion = second_opinion(trials_of(2), suspects=[ScannedPattern("dog", ("fog",))])
    assert not unaccounted(opinion)
    assert PatternStanding.SUSPECT in {one.standing for one in opinion}


def test_a_finding_about_something_else_hides_nothing() -> None:
    seen = unaccounted(second_opinion(trials_of(3), [ScannedPattern("cat", ("red",))]))
    assert ScannedPattern("dog", ("fog",)) in [one.pattern for one in seen]


def test_a_whole_context_that_fails_is_seen() -> None:
    luck = random.Random(4)
    trials = [
        ScannedTrial(name, frozenset({luck.choice("abc")}), luck.random() < (0.5 if name == "owl" else 0.03))
        for name in ("owl", *["dog", "cat", "cow", "hen"] * 3)
        for _ in range(60)
    ]
    seen = [one.pattern for one in unaccounted(second_opinion(trials))]
    assert ScannedPattern("owl") in seen
    assert all(pattern.context == "owl" for pattern in seen)


def test_where_nothing_fails_nothing_is_seen() -> None:
    accused = sum(bool(second_opinion(trials_of(seed, bug=("never",)))) for seed in range(40))
    assert accused <= 4


def test_no_trials_make_no_opinion() -> None:
    assert second_opinion([]) == []


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"least_trials": 0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must hold"):
        second_opinion([], **wrong)  # type: ignore[arg-type]


def test_it_shares_no_code_with_the_searches() -> None:
    import failscape.search.second_opinion as module

    source = (module.__file__ or "").replace(".pyc", ".py")
    with open(source, encoding="utf-8") as file:
        assert "from failscape" not in file.read()
