"""The vlm hunt on a planted answerer: the promises of every hunt, and what confirmation and turns do."""

from __future__ import annotations

import pytest

from failscape.errors import AtlasError
from failscape.kinds.vlm.audits import Audits
from failscape.kinds.vlm.confirm import FAILING, PASSING, UNDECIDED, Confirmation, slots_for
from failscape.kinds.vlm.findings import findings_of
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome
from failscape.kinds.vlm.planners import Planner, Rounds, ZeroShotPlanner
from failscape.kinds.vlm.purposes import CONFIRMATION
from failscape.kinds.vlm.sharpening import sharper
from failscape.search.protocol import Hunt
from failscape.simulate.questions import PlantedAnswerer, PlantedGrammar, plant, simulate
from failscape.spaces.minimal_pairs import PAIR, PairGrammar
from failscape.spaces.mode_sentences import sentence
from failscape.spaces.questions import ANY, CONSISTENCY, MEMORY, PRESSED, Pattern, explains, make_pattern
from failscape.spaces.skills import DrawnSights, SkillGrammar
from failscape.spaces.talks import later_skills
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.testing.hunt_suite import HuntSuite
from failscape.toybox.asking import ToyGrammar
from failscape.trials import Probe, Propose, Trial, Verdict

COUNTING = make_pattern("counting", ["counting"])
NIGHT = make_pattern("colour+relation", ["colour", "relation"], [("light", "night")])


def build(
    seed: int = 0,
    questions: int = 600,
    turns: int = 1,
    kind: type[Planner] = Planner,
    accuracy: JudgeAccuracy | None = None,
) -> VlmHunt:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(0.2, 0.05, 60, 80, accuracy)
    planner = kind(grammar, ledger, confirmation, Rounds(size=16, turns=turns), seed)
    return VlmHunt(grammar, ledger, confirmation, planner, questions)


class TestEvolve(HuntSuite):
    images = 500

    def make_hunt(self) -> Hunt:
        return build(questions=400)

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({COUNTING: 0.9}, refusals=0.05).run(probe)


class TestTurns(HuntSuite):
    images = 300

    def make_hunt(self) -> Hunt:
        return build(questions=250, turns=2)

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({COUNTING: 0.9}, contradicts={"colour": 0.7}).run(probe)


class TestLongTalks(HuntSuite):
    images = 400

    def make_hunt(self) -> Hunt:
        return build(questions=400, turns=4)

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({}, gives_in={"Are you sure": 0.95}).run(probe)


@pytest.mark.parametrize(
    ("turns", "words", "skill", "kind"),
    [
        (3, "Are you sure", PRESSED[0], "drift after pressure"),
        (5, "I think that", PRESSED[1], "drift after pressure"),
        (4, "Now a second", MEMORY, "forgot the first picture"),
    ],
)
def test_giving_in_and_forgetting_are_failures_of_their_own(
    turns: int, words: str, skill: str, kind: str
) -> None:
    hunt = build(questions=900, turns=turns)
    simulate(hunt, PlantedAnswerer({}, slips=0.0, gives_in={words: 0.9}))
    assert hunt.findings()
    for finding in hunt.findings():
        assert skill in finding.details.skills
        example = finding.details.examples[0]
        assert example.reason.startswith(kind)
        assert len(example.turns) >= turns - 2, "the transcript is told"
    assert hunt.ledger.asked <= 900


def test_the_turns_of_a_talk() -> None:
    assert later_skills(1) == ()
    assert later_skills(2) == (CONSISTENCY,)
    assert later_skills(3) == (CONSISTENCY, PRESSED[0])
    assert later_skills(4) == (CONSISTENCY, PRESSED[0], MEMORY)
    assert later_skills(6) == (CONSISTENCY, *PRESSED, MEMORY)


def paired(seed: int = 0) -> VlmHunt:
    planted, ledger = PlantedGrammar(), QuestionLog()
    grammar = PairGrammar(planted, planted)
    confirmation = Confirmation(0.2, 0.05, 60, 80, exact=False)
    planner = Planner(grammar, ledger, confirmation, Rounds(size=16, pairs=True), seed)
    return VlmHunt(grammar, ledger, confirmation, planner, 500)


class TestPairs(HuntSuite):
    images = 700

    def make_hunt(self) -> Hunt:
        return paired()

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({}, unmoved={"colour": 0.9}).run(probe)


def test_a_target_that_does_not_see_a_change_fails_without_a_verifier() -> None:
    hunt = paired()
    simulate(hunt, PlantedAnswerer({}, slips=0.0, unmoved={"colour": 0.9}))
    (finding,) = hunt.findings()
    assert finding.subject == f"pair recolour | colour, {PAIR}"
    assert finding.status == "certified", "the other modes rest on a verifier that nobody audited"
    assert "turned from" in finding.details.examples[0].reason
    assert hunt.ledger.asked <= 500


class TestZeroShot(HuntSuite):
    images = 300

    def make_hunt(self) -> Hunt:
        return build(questions=250, kind=ZeroShotPlanner)

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({COUNTING: 0.9}).run(probe)


def test_a_weak_skill_is_found_in_its_smallest_form() -> None:
    hunt = build()
    simulate(hunt, PlantedAnswerer({COUNTING: 0.9}))
    found = hunt.findings()
    assert [finding.subject for finding in found] == [COUNTING.text]
    assert found[0].status == "certified"
    assert found[0].details.minimal
    assert found[0].interval[0] > 0.2
    example = found[0].details.examples[0]
    assert example.answer != example.truth


def test_a_narrow_weakness_is_not_reported_as_a_wide_one() -> None:
    hunt = build(questions=1500)
    simulate(hunt, PlantedAnswerer({NIGHT: 0.9}))
    assert [finding.subject for finding in hunt.findings()] == [NIGHT.text]
    contrast = hunt.findings()[0].details.contrast
    assert contrast is not None
    assert contrast.failures < contrast.trials


def test_a_target_without_weakness_gives_no_finding() -> None:
    hunt = build()
    simulate(hunt, PlantedAnswerer({}, slips=0.1))
    assert hunt.findings() == []
    assert hunt.done


def test_a_contradiction_between_turns_is_a_failure_of_its_own() -> None:
    hunt = build(questions=1500, turns=2)
    simulate(hunt, PlantedAnswerer({}, contradicts={"colour": 0.8}))
    (finding,) = hunt.findings()
    assert finding.subject.startswith("colour → again")
    assert "contradiction" in finding.details.examples[0].reason


def test_a_target_that_refuses_everything_fails_at_nothing() -> None:
    hunt = build(questions=300)
    simulate(hunt, PlantedAnswerer({COUNTING: 1.0}, refusals=1.0))
    assert hunt.findings() == []
    assert hunt.survey().coverage.invalid_share == 1.0


def test_no_more_questions_than_allowed() -> None:
    hunt = build(questions=333)
    assert simulate(hunt, PlantedAnswerer({COUNTING: 0.9})) == 333
    assert hunt.progress().finished == 333


def test_a_verifier_with_false_alarms_makes_no_false_mode_when_it_is_known() -> None:
    answerer = PlantedAnswerer({COUNTING: 0.9}, alarms=0.3)
    trusting, knowing = build(questions=1500), build(questions=1500, accuracy=accuracy(0.7, 1.0))
    simulate(trusting, answerer)
    simulate(knowing, answerer)
    false = [f for f in trusting.findings() if not explains(COUNTING, Pattern.parse(f.subject))]
    assert false, "a verifier that is believed makes failures up"
    assert [f.subject for f in knowing.findings()] == [COUNTING.text]
    assert knowing.findings()[0].rate > 0.7


def accuracy(sensitivity: float, specificity: float) -> JudgeAccuracy:
    return JudgeAccuracy.from_rates({"*": (sensitivity, specificity)})


def outcome(pattern: Pattern, failed: bool, **features: str) -> QuestionOutcome:
    verdict = Verdict.FAIL if failed else Verdict.PASS
    return QuestionOutcome(
        "0.0", CONFIRMATION, pattern, pattern, verdict, "?", features=tuple(features.items())
    )


def test_slots_are_limited_and_states_follow_the_counts() -> None:
    slots = Confirmation(0.2, 0.05, modes=3, most=40)
    others = [make_pattern(name, [name]) for name in ("a", "b", "c")]
    assert [slots.open(p, "") for p in (COUNTING, *others)] == [True, True, True, False]
    for _ in range(20):
        slots.add(outcome(COUNTING, True))
        slots.add(outcome(others[0], False))
    for number in range(40):
        slots.add(outcome(others[1], number % 5 == 0))
    slots.settle()
    assert [slots.state(p) for p in (COUNTING, *others)] == [FAILING, PASSING, UNDECIDED, ""]
    assert list(slots.certified()) == [COUNTING]


def test_a_list_without_what_it_explains_meets_the_level_on_its_own() -> None:
    """Modes that another explains lend no evidence to the list that leaves them out."""
    confirmation = Confirmation(0.2, 0.05, modes=120, most=80)
    ledger = QuestionLog()
    simple = make_pattern("count", ["counting"])
    narrow = [simple.with_clause(("light", f"{number}")) for number in range(20)]
    for pattern, failed in [(simple, 4), *((one, 8) for one in narrow)]:
        confirmation.open(pattern, "")
        for _ in range(failed):
            confirmation.add(outcome(pattern, True))
            ledger.add([outcome(pattern, True)])
    assert simple in confirmation.certified()
    found = findings_of(ledger, confirmation, PlantedGrammar())
    least = 120 / (0.05 * len(found))
    assert len(found) == len(narrow)
    assert min(one.e_value for one in found) >= least


def test_a_trial_of_another_plan_is_refused_and_not_counted_for_another_mode() -> None:
    hunt = build()
    (probe,) = hunt.ask(1)
    with pytest.raises(AtlasError, match="was about"):
        hunt.tell(Trial(probe.key, NIGHT.text, Verdict.FAIL, "", (), probe.seed))


def test_sharpening_finds_the_clause_that_holds_all_failures() -> None:
    asked = [outcome(COUNTING, n % 2 == 0, light="night" if n % 2 == 0 else "day") for n in range(40)]
    assert sharper(COUNTING, asked, 0.2) == COUNTING.with_clause(("light", "night"))
    assert sharper(COUNTING, [outcome(COUNTING, n % 2 == 0, light="day") for n in range(40)], 0.2) is None


def test_patterns_survive_their_text() -> None:
    for pattern in (COUNTING, NIGHT, make_pattern(ANY, (), [("thing", "cow")]), *plant(3)):
        assert Pattern.parse(pattern.text) == pattern


def test_what_explains_what() -> None:
    assert explains(COUNTING, make_pattern("more", ["comparison", "counting"]))
    assert explains(make_pattern(ANY, (), [("light", "night")]), NIGHT)
    assert not explains(NIGHT, make_pattern("colour+relation", ["colour", "relation"]))


def test_a_form_that_holds_all_failures_of_a_clause_is_found() -> None:
    left = make_pattern(ANY, (), [("relation", "left of")])
    forms = [make_pattern("relation", ["relation"]), make_pattern("hop thing", ["relation", "two-hop"])]
    asked = [outcome(forms[n % 2], n % 2 == 0, relation="left of") for n in range(30)]
    assert sharper(left, asked, 0.2) == forms[0].with_clause(("relation", "left of"))


def test_a_threshold_that_holds_all_failures_is_found() -> None:
    numbers = ("one", "two", "three", "four", "five")
    asked = [outcome(COUNTING, n % 5 >= 2, things=numbers[n % 5]) for n in range(40)]
    assert sharper(COUNTING, asked, 0.2) == COUNTING.with_clause(("things", "more than two"))


def test_thresholds_follow_from_numbers() -> None:
    wide, four = COUNTING.with_clause(("things", "more than two")), COUNTING.with_clause(("things", "four"))
    assert wide.covers(four)
    assert explains(wide, four)
    assert not wide.covers(COUNTING.with_clause(("things", "two")))


class OtherQuestions(SkillGrammar):
    """Photos that need not exist."""

    def __init__(self) -> None:
        super().__init__(DrawnSights(["a street"], 0.5), ["negation", "counting"])


class Heedless(PlantedAnswerer):
    """Plays a writer that asks "how many" whatever it is told, and a target that cannot count."""

    def run(self, probe: Probe) -> Trial:
        facts = [getattr(step, "prompt", None) or list(getattr(step, "images", ())) for step in probe.steps]
        if isinstance(probe.steps[-1], Propose):
            facts[-1] = [f"How many cows are in picture {probe.key}?"]
            return Trial(probe.key, probe.subject, Verdict.NONE, "", facts, probe.seed)
        facts[-2:] = ["two", [True, False, "three"]]
        return Trial(probe.key, probe.subject, Verdict.FAIL, "three", facts, probe.seed)


def test_a_question_counts_only_for_what_it_is() -> None:
    """A writer that ignores its guidance certifies nothing about the skill it was asked for."""
    grammar, ledger = OtherQuestions(), QuestionLog(1)
    confirmation = Confirmation(0.2, 0.05, 60, 80)
    hunt = VlmHunt(grammar, ledger, confirmation, Planner(grammar, ledger, confirmation, Rounds(16), 0), 200)
    simulate(hunt, Heedless({}))
    assert [finding.subject for finding in hunt.findings()] == ["any | counting"]
    assert hunt.findings()[0].title == "It gets questions wrong that take counting"


def test_a_mode_is_told_as_a_sentence() -> None:
    pattern = make_pattern(
        "size+colour",
        ["colour", "conjunction", "size"],
        [("answer", "yes"), ("size", "large"), ("words", "answer in one word")],
    )
    told = sentence(pattern, ToyGrammar())
    assert told == "Asked to answer in one word, it denies a large coloured thing that is there"
    crowded = make_pattern("colour", ["colour"], [("things", "more than two")])
    assert (
        sentence(crowded, ToyGrammar())
        == "It names the wrong colour of a thing when the picture shows more than two things"
    )


def test_suspects_say_what_is_missing() -> None:
    hunt = build(questions=150)
    simulate(hunt, PlantedAnswerer({COUNTING: 0.5, NIGHT: 0.6}))
    for suspect in hunt.suspects():
        assert suspect.status == "suspect"
        assert suspect.details.missing
        assert suspect.subject not in {finding.subject for finding in hunt.findings()}


class TestAudited(HuntSuite):
    images = 400

    def make_hunt(self) -> Hunt:
        grammar, ledger = PlantedGrammar(), QuestionLog()
        confirmation = Confirmation(0.2, 0.05, 60, 80, exact=False, labels=40, auditor=True)
        planner = Planner(grammar, ledger, confirmation, Rounds(size=16), 0)
        return VlmHunt(grammar, ledger, confirmation, planner, 250)

    def run(self, probe: Probe) -> Trial:
        return PlantedAnswerer({COUNTING: 0.9}).run(probe)


def test_what_an_auditor_confirms_is_certified() -> None:
    hunt = TestAudited().make_hunt()
    simulate(hunt, PlantedAnswerer({COUNTING: 0.9}))
    (finding,) = hunt.findings()
    assert finding.status == "certified"
    assert finding.details.audit is not None
    fails, passes, _ = finding.details.audit
    assert finding.rate == pytest.approx(fails / (fails + passes))


def test_an_auditor_that_says_otherwise_the_second_time_is_not_believed() -> None:
    hunt = TestAudited().make_hunt()
    simulate(hunt, PlantedAnswerer({COUNTING: 0.9}, auditor_errs=0.5))
    assert hunt.confirmation.audits.unsteady
    assert any("contradicts itself" in notice for notice in hunt.notices())
    assert {one.status for one in hunt.findings()} <= {"conditional"}


def test_an_audit_ends_where_no_label_can_change_it() -> None:
    audits = Audits(0.2, 40, True)
    asked = [
        QuestionOutcome(f"q0.{n}", CONFIRMATION, COUNTING, COUNTING, Verdict.FAIL, "?") for n in range(40)
    ]
    for one in asked[:30]:
        audits.hear(one.key, False)
    assert audits.refutes(asked, need=8.0)
    assert audits.next_looks(asked, need=8.0) == []
    audits.hear_people({one.key: True for one in asked[:12]})
    assert audits.proves(asked[:12], need=8.0), "what people say stands before what the auditor said"


def test_a_small_budget_has_more_rounds_fewer_tests_and_waits_for_each() -> None:
    assert [Rounds(16).of(questions).size for questions in (60, 192, 300, 4000)] == [8, 12, 16, 16]
    assert Rounds(4).of(4000).size == 4, "never more than the config says"
    assert [slots_for(120, questions) for questions in (4, 160, 4000)] == [1, 20, 120]
    hunts = [build(questions=questions) for questions in (300, 4000)]
    assert [hunt.open_rounds for hunt in hunts] == [1, 2]


def test_rates_of_claims_rest_on_enough_questions_where_some_are_left() -> None:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(0.2, 0.05, 40, 80, least=20)
    planner = Planner(grammar, ledger, confirmation, Rounds(16).of(400), 0)
    hunt = VlmHunt(grammar, ledger, confirmation, planner, 400)
    simulate(hunt, PlantedAnswerer({COUNTING: 1.0}, slips=0.0))
    (finding,) = hunt.findings()
    assert finding.failures == finding.trials >= 20
    assert hunt.ledger.asked == 400, "no question more than allowed"


def test_the_neediest_claims_are_sharpened_first() -> None:
    slots = Confirmation(0.2, 0.05, modes=3, most=40, least=20)
    other = make_pattern("other", ["other"])
    for pattern, number in ((COUNTING, 12), (other, 18)):
        slots.open(pattern, "")
        for _ in range(number):
            slots.add(outcome(pattern, True))
        slots.slots[pattern].planned = 0
    slots.settle()
    assert slots.lacking_for_rates() == {COUNTING: 8, other: 2}
    assert dict(slots.sharpen(6)) == {COUNTING: 6}
    assert dict(slots.sharpen(100)) == {COUNTING: 2, other: 2}
    assert slots.sharpen(100) == []


def test_a_target_that_is_wrong_everywhere_is_said_so_and_no_cause_is_made_up() -> None:
    hunt = build(questions=300)
    simulate(hunt, PlantedAnswerer({Pattern(ANY): 0.95}))
    (finding,) = hunt.findings()
    assert finding.subject == Pattern(ANY).text
    assert finding.title == "It gets questions wrong, whatever they ask for"
    assert any("random questions wrong" in notice for notice in hunt.notices())
    (everywhere,) = hunt.survey().space_rates
    assert everywhere.group == "all"
    assert everywhere.interval[0] > 0.5


def test_every_closed_test_says_what_ended_it() -> None:
    slots = Confirmation(0.2, 0.05, modes=20, most=40)
    names = ("spent", "starved", "far")
    spent, starved, far = patterns = [make_pattern(name, [name]) for name in names]
    for pattern in patterns:
        slots.open(pattern, "")
    for number in range(40):
        slots.add(outcome(spent, number % 3 == 0))
    for number in range(10):
        slots.add(outcome(starved, number % 2 == 0))
    for _ in range(3):
        slots.give_back(starved)
    for number in range(30):
        slots.add(outcome(far, number % 4 == 0))
    slots.settle()
    assert [slots.state(pattern) for pattern in patterns] == [UNDECIDED] * 3
    assert "used up the 40 questions" in slots.why_closed(spent)
    assert "no further question of this kind" in slots.why_closed(starved)
    assert "one mode may take 40 in all" in slots.why_closed(far)


def test_negated_questions_are_told_as_such() -> None:
    negated = [("negated", "yes")]
    assert sentence(make_pattern(ANY, (), negated)) == "It gets negated questions wrong"
    told = sentence(make_pattern("yes-or-no question", ["existence"], [*negated, ("asks of", "circle")]))
    assert told == 'It gets negated yes-or-no questions about existence wrong that mention "circle"'
