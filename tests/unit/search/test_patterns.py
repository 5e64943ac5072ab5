"""The pattern search as a library: purity, budgets, kinds, names, pooling, proposals, bad input."""

from __future__ import annotations

import random
from collections.abc import Collection

import pytest

from failscape.search.patterns import (
    AboveFixedRate,
    ExcessOverPlain,
    FactSpace,
    PatternRequest,
    PatternSearch,
    RequestPurpose,
    SearchSettings,
    SuspectLack,
    TrialRow,
)

KINDS = {f"{kind}{number}": kind for kind in "abcdef" for number in range(6)}
Bugs = dict[tuple[str, tuple[str, ...]], float]


def space_of(contexts: Collection[str] = ("one",), **settings: object) -> FactSpace:
    return FactSpace(contexts, KINDS, **settings)  # type: ignore[arg-type]


def outcome(request: PatternRequest, bugs: Bugs, seed: int, usual: float = 0.03) -> bool:
    rates = [
        rate
        for (context, facts), rate in bugs.items()
        if context == request.context and set(facts) <= set(request.facts)
    ]
    return random.Random(f"{seed}/{request.number}").random() < max([usual, *rates])


def run(search: PatternSearch, bugs: Bugs, seed: int = 0, size: int = 100) -> list[PatternRequest]:
    asked: list[PatternRequest] = []
    while requests := search.choose(size):
        asked += requests
        for request in requests:
            search.observe(request, TrialRow(outcome(request, bugs, seed)))
    return asked


def searched(bugs: Bugs, budget: int = 2_000, contexts: Collection[str] = ("one",)) -> PatternSearch:
    search = PatternSearch(space_of(contexts), SearchSettings(budget), ExcessOverPlain(0.05))
    run(search, bugs)
    return search


def claims(search: PatternSearch) -> set[tuple[str, tuple[str, ...]]]:
    return {(claim.context, claim.facts) for claim in search.claims()}


def test_single_facts_pairs_and_threes_are_named_exactly() -> None:
    bugs = {("one", ("a1",)): 0.5, ("one", ("b2", "c3")): 0.8, ("one", ("d1", "e1", "f1")): 0.9}
    search = searched(bugs, 5_000)
    assert claims(search) == set(bugs)
    assert all(claim.parts_cleared for claim in search.claims())


def test_nothing_is_claimed_where_nothing_fails_more_than_usual() -> None:
    assert not searched({}).claims()


def test_everything_that_fails_alike_is_no_bug() -> None:
    search = PatternSearch(space_of(), SearchSettings(1_000), ExcessOverPlain(0.05))
    while requests := search.choose(100):
        for request in requests:
            search.observe(request, TrialRow(True))
    assert not search.claims()


def test_the_same_rows_make_the_same_search() -> None:
    bugs = {("one", ("a1", "b1")): 0.7}
    first, second = (
        PatternSearch(space_of(), SearchSettings(1_000, seed=4), ExcessOverPlain()) for _ in range(2)
    )
    assert run(first, bugs) == run(second, bugs)
    assert first.claims() == second.claims()
    assert first.suspects() == second.suspects()


def test_the_budget_is_used_to_the_last_trial_and_never_exceeded() -> None:
    for budget in (1, 7, 333):
        search = PatternSearch(space_of(), SearchSettings(budget), ExcessOverPlain())
        assert len(run(search, {})) == budget
        assert not search.choose(10)


def test_charged_trials_are_taken_from_the_budget() -> None:
    search = PatternSearch(space_of(), SearchSettings(300), ExcessOverPlain())
    search.charge(250)
    assert len(run(search, {})) == 50


def test_requests_respect_kinds_conflicts_and_plausibility() -> None:
    allowed = [fact for fact in KINDS if fact != "a5"]
    space = space_of(plausible={"one": allowed}, conflicts=[("a1", "b1")])
    search = PatternSearch(space, SearchSettings(800), ExcessOverPlain())
    for request in run(search, {("one", ("a2",)): 0.6}):
        kinds = [KINDS[fact] for fact in request.facts]
        assert len(set(kinds)) == len(kinds)
        assert not {"a1", "b1"} <= set(request.facts)
        assert "a5" not in request.facts


def test_only_trials_of_a_test_are_its_evidence() -> None:
    search = PatternSearch(space_of(), SearchSettings(1_500), ExcessOverPlain())
    bugs = {("one", ("c1",)): 0.6}
    asked = run(search, bugs)
    for test in search.tests():
        own = [one for one in asked if one.purpose is RequestPurpose.TEST and one.pattern == test.facts]
        assert test.drawn == len(own)
        assert all(one.facts == test.facts for one in own)
        assert test.counts.fails == sum(outcome(one, bugs, 0) for one in own)


def test_a_claim_gets_the_fresh_trials_that_were_asked_for() -> None:
    search = PatternSearch(space_of(), SearchSettings(1_500, confirm_images=20), ExcessOverPlain())
    run(search, {("one", ("c1",)): 0.6})
    assert [claim.confirmation.trials for claim in search.claims()] == [20]


def test_a_fact_that_fails_in_many_contexts_is_told_once() -> None:
    contexts = [f"class {number}" for number in range(8)]
    bugs = {(name, ("a1",)): 0.5 for name in contexts[:6]}
    search = searched(bugs, 3_000, contexts)
    general = search.general_claims()
    assert [claim.facts for claim in general] == [("a1",)]
    assert set(general[0].failing) <= set(contexts[:6])
    assert len(general[0].failing) >= 5
    assert set(general[0].failing) <= set(general[0].examined)


def test_what_is_proposed_is_looked_at_first_and_given_up_when_it_passes() -> None:
    search = PatternSearch(space_of(), SearchSettings(400), ExcessOverPlain())
    search.propose("one", ["a1", "b1"], 0.3)
    search.propose("one", ["a2", "b2"], 0.3)
    asked = run(search, {("one", ("a1", "b1")): 0.9}, size=20)
    assert ("one", ("a1", "b1")) in claims(search)
    early = [one.facts for one in asked[:80] if one.purpose is RequestPurpose.LOOK_INTO]
    assert ("a1", "b1") in early
    assert ("a2", "b2") in early
    assert sum(one.facts == ("a2", "b2") for one in asked) < 20


def test_what_somebody_wants_tested_is_tested() -> None:
    search = PatternSearch(space_of(), SearchSettings(300), ExcessOverPlain())
    search.propose("one", ["a1"], 0.3, always_test=True)
    run(search, {})
    assert search.tests()[0].facts == ("a1",)
    assert search.tests()[0].counts.trials > 5
    assert not search.claims()


def test_a_context_that_is_skipped_gets_no_more_trials() -> None:
    search = PatternSearch(space_of(["one", "two"]), SearchSettings(400), ExcessOverPlain())
    search.skip("two")
    assert {request.context for request in run(search, {})} == {"one"}


def test_with_too_small_a_budget_a_bug_is_a_suspect_that_says_what_it_lacks() -> None:
    search = PatternSearch(space_of(), SearchSettings(80), ExcessOverPlain())
    run(search, {("one", ("a1",)): 0.9, ("one", ("b1",)): 0.9}, size=10)
    named = {one.facts for one in search.suspects()} | {claim.facts for claim in search.claims()}
    assert named & {("a1",), ("b1",)}
    for suspect in search.suspects():
        assert suspect.lacks in set(SuspectLack)
        assert suspect.trials_lacking >= 1
        assert suspect.log_evidence < suspect.evidence_needed


def questions(seed: int, budget: int, bug: tuple[str, ...], implied: dict[str, list[str]]) -> PatternSearch:
    """Every question shows one fact of each kind."""
    kinds = KINDS | {fact: "number" for facts in implied.values() for fact in facts}
    plausible = {"any": list(KINDS)}
    space = FactSpace(["any"], kinds, plausible=plausible, implied=implied, complete=True)
    settings = SearchSettings(budget, seed=seed, crowd_size=2)
    search = PatternSearch(space, settings, AboveFixedRate(0.2))
    luck = random.Random(seed)
    while requests := search.choose(16):
        for request in requests:
            wanted = [fact for fact in request.facts if fact in KINDS]
            names = {KINDS[fact]: fact for fact in wanted}
            for fact in set(request.facts) - set(wanted):
                names["a"] = luck.choice([one for one, wide in implied.items() if fact in wide])
            for kind in "abcdef":
                names.setdefault(kind, luck.choice([one for one in KINDS if KINDS[one] == kind]))
            shown = {*names.values(), *implied.get(names["a"], ())}
            failed = luck.random() < (0.9 if shown.issuperset(bug) else 0.02)
            search.observe(request, TrialRow(failed, tuple(names.values())))
    return search


def test_thresholds_are_names_where_no_single_number_holds_the_bug() -> None:
    implied = {f"a{number}": ["more than three"] for number in (4, 5)}
    search = questions(1, 600, ("more than three", "b1"), implied)
    assert claims(search) == {("any", ("b1", "more than three"))}


def test_questions_need_no_plain_trials() -> None:
    search = questions(2, 300, ("c1",), {})
    assert claims(search) == {("any", ("c1",))}
    assert not search.plain_counts("any").trials


def test_facts_of_captions_join_the_search() -> None:
    space = space_of()
    search = PatternSearch(space, SearchSettings(2_500, described_passes=4), ExcessOverPlain())
    passes = 0
    while requests := search.choose(100):
        for request in requests:
            luck = random.Random(request.number)
            shown = {*request.facts, *(["rust"] if luck.random() < 0.1 else [])}
            failed = luck.random() < (0.7 if "rust" in shown else 0.02)
            passes += not failed
            space.add("rust", "surface")
            said = sorted(shown) if failed or passes % 4 == 0 else None
            search.observe(request, TrialRow(failed, request.facts, said))
    assert ("one", ("rust",)) in claims(search)


def test_ten_thousand_different_facts_do_not_stop_the_search() -> None:
    space = space_of()
    search = PatternSearch(space, SearchSettings(600, described_passes=1), ExcessOverPlain())
    while requests := search.choose(100):
        for request in requests:
            words = [f"word {request.number} {place}" for place in range(16)]
            for word in words:
                space.add(word, word)
            failed = outcome(request, {("one", ("a1",)): 0.8}, 0)
            search.observe(request, TrialRow(failed, request.facts, words))
    assert ("one", ("a1",)) in claims(search)


def test_a_judge_that_sees_nothing_after_all_takes_nothing_away() -> None:
    search = PatternSearch(space_of(), SearchSettings(1_000), ExcessOverPlain())
    search.judge_sees_facts = True
    search.propose("one", ["a1"], 0.5, always_test=True)
    for request in search.choose(200):
        search.observe(request, TrialRow(request.facts == ("a1",), ()))
    test = search.tests()[0]
    assert not test.counts.trials
    hidden = test.hidden.trials
    search.distrust_judge()
    assert test.counts.trials == hidden > 0


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"level": 0.0}, {"largest_pattern": 4}, {"crowd_size": 0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must hold"):
        SearchSettings(**({"budget": 100} | wrong))  # type: ignore[arg-type]


def test_unknown_facts_and_contexts_are_refused() -> None:
    with pytest.raises(ValueError, match="must have a kind"):
        FactSpace(["one"], KINDS, conflicts=[("a1", "nowhere")])
    search = PatternSearch(space_of(), SearchSettings(10), ExcessOverPlain())
    with pytest.raises(ValueError, match="must be one of"):
        search.propose("nowhere", ["a1"], 0.5)


def test_a_part_that_fails_a_little_by_itself_does_not_hide_the_pair() -> None:
    """A partner that comes unasked makes a part fail now and then: the pair still gets a look of its own."""
    bugs: Bugs = {("one", ("a1",)): 0.09, ("one", ("a1", "b2")): 0.7}
    assert ("one", ("a1", "b2")) in claims(searched(bugs, 4_000))


def test_test_slots_follow_the_budget_and_not_the_number_of_contexts() -> None:
    few = PatternSearch(space_of(["one"]), SearchSettings(2_000), ExcessOverPlain(0.05))
    many = PatternSearch(
        space_of([f"c{at}" for at in range(40)]), SearchSettings(2_000), ExcessOverPlain(0.05)
    )
    ample = PatternSearch(space_of(["one"]), SearchSettings(20_000), ExcessOverPlain(0.05))
    assert few.ledger.slots == many.ledger.slots
    assert ample.ledger.slots > 4 * few.ledger.slots


def test_a_weak_bug_gets_as_many_trials_as_it_needs() -> None:
    """A test is not stopped at a fixed part of the budget."""
    search = searched({("one", ("c3",)): 0.17}, 4_000)
    assert max(test.counts.trials for test in search.tests()) > 4_000 / 25


def test_every_context_shows_all_its_facts_before_one_is_explored_more_deeply() -> None:
    contexts = [f"c{at}" for at in range(10)]
    search = PatternSearch(space_of(contexts), SearchSettings(1_200), ExcessOverPlain(0.05))
    run(search, {("c0", (f"a{at}",)): 0.9 for at in range(6)})
    shown = [search.shown_options(name) for name in contexts]
    assert shown == [(36, 36)] * 10
