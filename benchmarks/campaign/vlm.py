"""The vlm hunt against planted answerers: recall, exact names, and false discoveries."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.campaign.measurements import Measurement, at_least, at_most, few_of, just
from failscape.kinds.vlm.confirm import Confirmation, slots_for
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.simulate.questions import SKILLS, PlantedAnswerer, PlantedGrammar, plant, simulate
from failscape.spaces.questions import Pattern, make_pattern
from failscape.stats.judging.accuracy import JudgeAccuracy

MARGIN = 0.2


def hunted(answerer: PlantedAnswerer, questions: int, kind: type[Planner] = Planner) -> VlmHunt:
    grammar = PlantedGrammar()
    ledger = QuestionLog()
    confirmation = Confirmation(MARGIN, 0.05, slots_for(120, questions), 80)
    planner = kind(grammar, ledger, confirmation, Rounds(16).of(questions), answerer.seed)
    hunt = VlmHunt(grammar, ledger, confirmation, planner, questions)
    simulate(hunt, answerer)
    return hunt


def hunted_through_verifier(accuracy: JudgeAccuracy | None, seed: int, labels: int = 0) -> VlmHunt:
    """By a verifier that calls 45 % of right counts wrong, and 3 % of everything else.

    `labels`: so many answers of each mode are looked at by an auditor who is right.
    """
    weak = {make_pattern("negation", ["negation"]): 0.9}
    grammar = PlantedGrammar()
    ledger = QuestionLog()
    confirmation = Confirmation(
        MARGIN, 0.05, 120, 80, accuracy, exact=False, labels=labels or 40, auditor=labels > 0
    )
    planner = Planner(grammar, ledger, confirmation, Rounds(16), seed)
    hunt = VlmHunt(grammar, ledger, confirmation, planner, 400)
    simulate(hunt, PlantedAnswerer(weak, seed=seed, alarms=0.03, alarms_on={"counting": 0.45}))
    return hunt


def exact_names(questions: int, kind: type[Planner], seeds: range) -> tuple[int, int]:
    """Planted modes, and those that were named exactly."""
    planted, named = 0, 0
    for seed in seeds:
        weak = plant(seed)
        found = hunted(PlantedAnswerer(weak, seed=seed), questions, kind).findings()
        planted += len(weak)
        named += len({Pattern.parse(finding.subject) for finding in found} & weak.keys())
    return planted, named


def planted_modes() -> Iterator[Measurement]:
    planted, named, claims, false = 0, 0, 0, 0
    for seed in range(100, 106):
        answerer = PlantedAnswerer(plant(seed), seed=seed)
        hunt = hunted(answerer, 1_200)
        found = {Pattern.parse(finding.subject) for finding in hunt.findings()}
        certified = hunt.confirmation.certified()
        planted += len(answerer.weak)
        named += len(found & answerer.weak.keys())
        claims += len(certified)
        false += sum(answerer.true_rate(one, PlantedGrammar(), 600) <= MARGIN for one in certified)
    yield just("planted modes", planted)
    yield at_least("share that is named exactly", named / planted, 0.9)
    yield few_of("certified modes that fail no more often than the margin", false, claims, 0.05)


def small_budget() -> Iterator[Measurement]:
    """200 questions and six modes to find: the search against asking by chance."""
    seeds = range(100, 124)
    planted, evolved = exact_names(200, Planner, seeds)
    _, chance = exact_names(200, ZeroShotPlanner, seeds)
    yield just("planted modes", planted)
    yield just("named by asking by chance", chance)
    yield at_least("named by the search, times those", evolved / chance, 1.1)


def narrow_names() -> Iterator[Measurement]:
    """A clause in one form alone, and a threshold: by just that name, with 500 questions."""
    exact = 0
    base = make_pattern("colour+relation", ["colour", "relation"])
    for narrow in (base.with_clause(("answer", "yes")), base.with_clause(("number", "more than two"))):
        for seed in range(4):
            found = hunted(PlantedAnswerer({narrow: 0.95}, seed=seed), 500).findings()
            exact += [finding.subject for finding in found] == [narrow.text]
    yield at_least("hunts of 8 that list the narrow name alone", exact, 7)


def honest_targets() -> Iterator[Measurement]:
    """Where nothing fails above the margin, every claim is false."""
    accused = sum(bool(hunted(PlantedAnswerer({}, seed=seed), 400).findings()) for seed in range(100, 108))
    yield at_most("hunts of 8 that accuse an honest target", accused, 1)


def verifiers_that_err() -> Iterator[Measurement]:
    """A verifier that cannot count: what is certified about counting is false."""
    labelled = JudgeAccuracy.from_counts(
        {skill: (22 if skill == "counting" else 39, 40, 40, 40) for skill in SKILLS}
    )
    true, false = 0, 0
    audited_true, audited_false, refuted = 0, 0, 0
    for seed in range(3):
        found = hunted_through_verifier(labelled, seed).findings()
        false += sum("counting" in one.subject for one in found)
        true += sum(one.status == "certified" for one in found)
        hunt = hunted_through_verifier(None, seed, labels=40)
        certified = [one.subject for one in hunt.findings() if one.status == "certified"]
        audited_false += sum("counting" in subject for subject in certified)
        audited_true += len(certified)
        refuted += sum("auditor" in one.details.missing for one in hunt.suspects())
    yield at_most("claims about counting with 40 labels a skill, 3 hunts", false, 0)
    yield at_least("certified modes with 40 labels a skill, 3 hunts", true, 1)
    yield at_most("certified modes about counting with 40 labels a mode, 3 hunts", audited_false, 0)
    yield at_least("certified modes with 40 labels a mode, 3 hunts", audited_true, 1)
    yield at_least("modes that the auditor refuted, 3 hunts", refuted, 1)
