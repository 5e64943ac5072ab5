"""How well the vlm hunt finds planted failure modes, over 20 seeds: recall, and false discoveries."""

from __future__ import annotations

from functools import cache

from failscape.hunts.vlm.confirm import Confirmation
from failscape.hunts.vlm.hunt import VlmHunt
from failscape.hunts.vlm.outcomes import QuestionLog
from failscape.hunts.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.spaces.questions import Pattern
from failscape.testing.planted_questions import PlantedAnswerer, PlantedGrammar, plant, simulate

SEEDS = range(100, 120)
MARGIN = 0.2


def hunted(seed: int, questions: int, kind: type[Planner], weak: dict[Pattern, float]) -> VlmHunt:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(MARGIN, 0.05, 120, 80)
    planner = kind(grammar, ledger, confirmation, Rounds(), seed)
    hunt = VlmHunt(grammar, ledger, confirmation, planner, questions)
    simulate(hunt, PlantedAnswerer(weak, seed=seed))
    return hunt


@cache
def counts(questions: int, kind: type[Planner], seeds: range = SEEDS) -> tuple[int, int, int, int]:
    """Planted modes, those that were named exactly, claims, false claims."""
    planted = named = claims = false = 0
    for seed in seeds:
        weak = plant(seed)
        hunt = hunted(seed, questions, kind, weak)
        found = {Pattern.parse(finding.subject) for finding in hunt.findings()}
        answerer, grammar = PlantedAnswerer(weak, seed=seed), PlantedGrammar()
        certified = hunt.confirmation.certified()
        planted += len(weak)
        named += len(found & weak.keys())
        claims += len(certified)
        false += sum(answerer.true_rate(pattern, grammar, 600) <= MARGIN for pattern in certified)
    return planted, named, claims, false


def test_planted_modes_are_named_and_hardly_anything_else_is_claimed() -> None:
    planted, named, claims, false = counts(1600, Planner)
    assert named >= 0.9 * planted
    assert false <= 0.05 * claims


def test_evolving_beats_asking_by_chance_on_a_small_budget() -> None:
    few = range(100, 106)
    _, evolved, _, _ = counts(700, Planner, few)
    _, chance, _, _ = counts(700, ZeroShotPlanner, few)
    assert evolved > chance


def test_an_honest_target_is_hardly_ever_accused() -> None:
    """Where nothing fails above the margin, every claim is false: at most 5 % of hunts may make one."""
    accused = sum(bool(hunted(seed, 400, Planner, {}).findings()) for seed in SEEDS)
    assert accused <= 1
