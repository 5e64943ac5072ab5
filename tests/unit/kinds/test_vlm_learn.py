"""`strategy: learn`: what questions are worth, what the policy learns from it, and the hunt around it."""

import random
from collections import Counter

import numpy as np
import pytest

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.kinds.vlm.training.choosing import LearningPlanner, kinds_of
from failscape.kinds.vlm.training.policy import PolicySettings, QuestionPolicy, start_of
from failscape.kinds.vlm.training.worth import GradedKind, Worth
from failscape.search.protocol import Hunt
from failscape.simulate.questions import PlantedAnswerer, PlantedGrammar, simulate
from failscape.spaces.questions import ANY, make_pattern
from failscape.spaces.skills import DrawnSights, SkillGrammar
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Probe, Trial

COUNTING = make_pattern("counting", ["counting"])


def build(questions: int = 400, kind: type[Planner] = LearningPlanner) -> VlmHunt:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(0.2, 0.05, 60, 80)
    planner = kind(grammar, ledger, confirmation, Rounds(size=16), 0)
    return VlmHunt(grammar, ledger, confirmation, planner, questions)


class TestLearn(HuntSuite):
    images = 500

    def make_hunt(self) -> Hunt:
        return build()

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({COUNTING: 0.9}, refusals=0.05).run(probe)


def test_a_planted_mode_is_certified() -> None:
    hunt = build(600)
    simulate(hunt, PlantedAnswerer({COUNTING: 0.9}))
    assert COUNTING.text in [finding.subject for finding in hunt.findings()]


def test_the_formula_of_worth() -> None:
    worth = Worth(repeats=0.1)
    for failed in (True, True, True, False):
        worth.note(GradedKind(("counting",), valid=True, failed=failed))
    rate = (3 + 0.75) / (4 + 1)
    expected = (0.5 + 0.5 * rate) / np.sqrt(1 + 0.1 * 3)
    assert worth.of(GradedKind(("counting",), valid=True, failed=True)) == pytest.approx(expected)
    assert worth.of(GradedKind(("counting",), valid=False, failed=False)) == 0


def test_a_failure_is_worth_less_where_many_were_found() -> None:
    worth = Worth(repeats=0.1)
    for _ in range(30):
        worth.note(GradedKind(("counting",), valid=True, failed=True))
    worth.note(GradedKind(("colour",), valid=True, failed=True))
    known = worth.of(GradedKind(("counting",), valid=True, failed=True))
    new = worth.of(GradedKind(("colour",), valid=True, failed=True))
    assert known == pytest.approx(0.5, abs=0.01)
    assert new > 0.9


def test_all_numbers_of_skills_are_alike_at_the_start() -> None:
    kinds = PlantedGrammar().patterns()
    chances = np.exp(start_of(kinds))
    assert chances.sum() == pytest.approx(1)
    assert sum(chance for kind, chance in zip(kinds, chances, strict=True) if len(kind.skills) == 1) == (
        pytest.approx(0.5)
    )


def test_a_policy_turns_to_what_fails_and_carries_over_to_other_kinds_of_the_skill() -> None:
    kinds = PlantedGrammar().patterns()
    policy = QuestionPolicy(kinds, PolicySettings())
    never_asked = make_pattern("counting+place", ["counting", "place"])
    alike = make_pattern("colour+place", ["colour", "place"])
    before = {kind: policy.log_chance(kind) for kind in kinds}
    for kind in kinds:
        if kind != never_asked:
            graded = GradedKind(kind.skills, valid=True, failed="counting" in kind.skills)
            policy.note(graded, kind, policy.log_chance(kind))
    policy.learn()
    assert policy.log_chance(COUNTING) > before[COUNTING]
    assert policy.log_chance(never_asked) > before[never_asked]
    assert policy.log_chance(alike) < before[alike]


def test_a_policy_leaves_what_is_invalid() -> None:
    kinds = PlantedGrammar().patterns()
    policy = QuestionPolicy(kinds, PolicySettings())
    before = policy.log_chance(COUNTING)
    for kind in kinds:
        graded = GradedKind(kind.skills, valid=kind != COUNTING, failed=kind != COUNTING)
        policy.note(graded, kind, policy.log_chance(kind))
    policy.learn()
    assert policy.log_chance(COUNTING) < before


def test_without_a_failure_nothing_is_learned() -> None:
    kinds = PlantedGrammar().patterns()
    policy = QuestionPolicy(kinds, PolicySettings())
    for kind in kinds:
        policy.note(GradedKind(kind.skills, valid=True, failed=False), kind, policy.log_chance(kind))
    policy.learn()
    assert [policy.log_chance(kind) for kind in kinds] == pytest.approx(start_of(kinds).tolist())


def test_what_was_learned_of_a_skill_is_kept_when_kinds_are_added() -> None:
    kinds = PlantedGrammar().patterns()
    policy = QuestionPolicy(kinds[:6], PolicySettings())
    for kind in kinds[:6]:
        policy.note(GradedKind(kind.skills, True, kind == COUNTING), kind, policy.log_chance(kind))
    policy.learn()
    policy.extend(kinds)
    rng = random.Random(1)
    drawn = Counter("counting" in policy.choose(rng)[0].skills for _ in range(2_000))
    assert drawn[True] / 2_000 > 0.5


def test_a_grammar_without_forms_offers_skills_and_pairs() -> None:
    grammar = SkillGrammar(DrawnSights(["a street"], 0.5), ["colour", "counting", "depth"])
    kinds = kinds_of(grammar)
    assert Counter(len(kind.skills) for kind in kinds) == {1: 3, 2: 3}
    assert {kind.form for kind in kinds} == {ANY}


def test_a_hunt_asks_more_of_what_fails_than_by_chance() -> None:
    answerer = PlantedAnswerer({make_pattern(ANY, ["counting"]): 0.7})
    learning, by_chance = build(), build(kind=ZeroShotPlanner)
    for hunt in (learning, by_chance):
        simulate(hunt, answerer)
    assert learning.survey().coverage.discovery_rate > 2 * by_chance.survey().coverage.discovery_rate
