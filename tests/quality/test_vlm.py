"""How well the vlm hunt finds planted failure modes: recall, exact names, and false discoveries."""

from __future__ import annotations

from functools import cache

from failscape.hunts.vlm.confirm import Confirmation, slots_for
from failscape.hunts.vlm.hunt import VlmHunt
from failscape.hunts.vlm.outcomes import QuestionLog
from failscape.hunts.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.spaces.questions import Pattern, make_pattern
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.planted_questions import SKILLS, PlantedAnswerer, PlantedGrammar, plant, simulate

SEEDS = range(100, 108)
MARGIN = 0.2


def hunted(seed: int, questions: int, kind: type[Planner], weak: dict[Pattern, float]) -> VlmHunt:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(MARGIN, 0.05, slots_for(120, questions), 80)
    planner = kind(grammar, ledger, confirmation, Rounds(16).of(questions), seed)
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
    planted, named, claims, false = counts(1200, Planner, range(100, 106))
    assert named >= 0.9 * planted
    assert false <= 0.05 * claims


def test_evolving_beats_asking_by_chance_on_a_small_budget() -> None:
    """Certified modes that are named exactly, with 200 questions and six modes to find."""
    _, evolved, _, _ = counts(200, Planner, range(100, 124))
    _, chance, _, _ = counts(200, ZeroShotPlanner, range(100, 124))
    assert evolved >= 1.1 * chance


def test_a_wide_name_is_not_listed_where_a_narrow_one_holds_all_failures() -> None:
    """A clause in one form alone, and a threshold: by just that name, with 500 questions."""
    exact = 0
    base = make_pattern("colour+relation", ["colour", "relation"])
    for narrow in (base.with_clause(("answer", "yes")), base.with_clause(("number", "more than two"))):
        for seed in range(4):
            found = hunted(seed, 500, Planner, {narrow: 0.95}).findings()
            exact += [finding.subject for finding in found] == [narrow.text]
    assert exact >= 7


def test_an_honest_target_is_hardly_ever_accused() -> None:
    """Where nothing fails above the margin, every claim is false: at most 5 % of hunts may make one."""
    accused = sum(bool(hunted(seed, 400, Planner, {}).findings()) for seed in SEEDS)
    assert accused <= 1


def hunted_through(accuracy: JudgeAccuracy | None, seed: int, labels: int = 0) -> VlmHunt:
    """By a verifier that calls 45 % of right counts wrong, and 3 % of everything else."""
    weak = {make_pattern("negation", ["negation"]): 0.9}
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(
        MARGIN, 0.05, 120, 80, accuracy, exact=False, labels=labels or 40, auditor=labels > 0
    )
    planner = Planner(grammar, ledger, confirmation, Rounds(16), seed)
    hunt = VlmHunt(grammar, ledger, confirmation, planner, 400)
    simulate(hunt, PlantedAnswerer(weak, seed=seed, alarms=0.03, alarms_on={"counting": 0.45}))
    return hunt


def test_a_verifier_that_cannot_count_certifies_nothing_about_counting() -> None:
    """Nobody looked at its verdicts: all is conditional. 40 labels a skill: what is certified is true."""
    labelled = JudgeAccuracy.from_counts(
        {skill: (22 if skill == "counting" else 39, 40, 40, 40) for skill in SKILLS}
    )
    overall = JudgeAccuracy.from_counts({"*": (220, 240, 240, 240)})
    true = False
    for seed in range(3):
        for unaudited in (None, overall):
            found = hunted_through(unaudited, seed).findings()
            assert {one.status for one in found} <= {"conditional"}
        found = hunted_through(labelled, seed).findings()
        assert not [one.subject for one in found if "counting" in one.subject]
        true |= any(one.status == "certified" for one in found)
    assert true, "what truly fails is certified by a verifier whose errors are known"


def test_an_audit_of_each_mode_leaves_no_false_one() -> None:
    """40 labels a mode by an auditor who is right; without them counting would be told."""
    certified, refuted = 0, 0
    for seed in range(3):
        hunt = hunted_through(None, seed, labels=40)
        found = hunt.findings()
        counts = [hunt.confirmation.audited_count(pattern) for pattern in hunt.confirmation.slots]
        assert all(count.tries <= 40 for count in counts)
        assert not [one.subject for one in found if one.status == "certified" and "counting" in one.subject]
        certified += sum(one.status == "certified" for one in found)
        refuted += sum("auditor" in one.details.missing for one in hunt.suspects())
    assert certified
    assert refuted


def test_what_people_say_of_a_modes_own_answers_decides_it() -> None:
    """40 labels a mode by people who are right: before them nothing is certified, after them what is true."""
    certified = 0
    for seed in range(3):
        hunt = hunted_through(None, seed)
        before = hunt.findings()
        assert {one.status for one in before} <= {"conditional"}
        asked = {one.key: one for one in hunt.ledger.outcomes}
        shown = {key for one in before for key in one.details.to_review}
        hunt.hear_people({key: asked[key].answer != asked[key].truth for key in shown})
        found = hunt.findings()
        assert not [one.subject for one in found if one.status == "certified" and "counting" in one.subject]
        certified += sum(one.status == "certified" for one in found)
    assert certified
