"""Lessons: rewards are what the docs say, replay gives the same ones, and a collapse ends them."""

from __future__ import annotations

import pytest

from failscape.kinds.vlm.confirm import Confirmation
from failscape.kinds.vlm.hunt import VlmHunt
from failscape.kinds.vlm.outcomes import QuestionLog
from failscape.kinds.vlm.planners import Rounds
from failscape.kinds.vlm.purposes import SEARCH
from failscape.kinds.vlm.training.lessons import LessonPlanner, Schedule
from failscape.kinds.vlm.training.quarters import quarters
from failscape.kinds.vlm.training.rewards import GradedQuestion, Rewards, Weights
from failscape.search.protocol import Hunt
from failscape.simulate.questions import PlantedAnswerer, PlantedGrammar, simulate
from failscape.spaces.questions import make_pattern
from failscape.testing.hunt_suite import HuntSuite
from failscape.trials import Embed, Probe, Propose, Trial, Verdict

COUNTING = make_pattern("counting", ["counting"])


def build(warm_up: int = 0, embeds: bool = False, questions: int = 500) -> VlmHunt:
    grammar, ledger = PlantedGrammar(), QuestionLog()
    confirmation = Confirmation(0.2, 0.05, 60, 80)
    schedule = Schedule(6, 4, 4, warm_up, questions, embeds)
    planner = LessonPlanner(grammar, ledger, confirmation, Rounds(16), 0, grammar, schedule, Weights())
    return VlmHunt(grammar, ledger, confirmation, planner, questions)


class Target(PlantedAnswerer):
    """Plays the questioner too: `write` makes the questions of a lesson."""

    def run(self, probe: Probe) -> Trial:
        step = probe.steps[-1]
        if isinstance(step, Propose):
            facts = [*(s.prompt for s in probe.steps[:-1] if hasattr(s, "prompt")), self.write(probe, step)]
            return Trial(probe.key, probe.subject, Verdict.NONE, "", facts, probe.seed)
        if isinstance(step, Embed):
            return Trial(
                probe.key, probe.subject, Verdict.NONE, "", [[[float(len(t)), 1.0] for t in step.texts]]
            )
        return super().run(probe)

    def write(self, probe: Probe, step: Propose) -> list[str]:
        form = "counting" if probe.seed % 3 else "place"
        said = "answer=yes; light=day; number=two; thing=thing1"
        return [f"is it so that {form}: {said} #{probe.seed + n}?" for n in range(step.count - 1)] + ["what?"]


class OneTrack(Target):
    def write(self, probe: Probe, step: Propose) -> list[str]:
        return ["is it so that place: answer=yes; light=day; number=two; thing=thing1 #1?"] * step.count


@pytest.mark.parametrize("embeds", [False, True])
class TestReplay:
    def test_the_same_trials_give_the_same_rewards(self, embeds: bool) -> None:
        first, second = build(32, embeds), build(32, embeds)
        simulate(first, Target({COUNTING: 0.9}), in_flight=5)
        simulate(second, Target({COUNTING: 0.9}), in_flight=64)
        assert first.lessons() == second.lessons()
        assert [lesson.guidance.phase for lesson in first.lessons()] == ["warm-up"] * 16 + ["lesson"] * 24


class TestLessons(HuntSuite):
    images = 300

    def make_hunt(self) -> Hunt:
        return build(16, True, 250)

    def run(self, probe: Probe) -> Trial:
        return Target({COUNTING: 0.9}).run(probe)


def test_what_failed_in_lessons_is_confirmed_afterwards() -> None:
    hunt = build(questions=800)
    simulate(hunt, Target({COUNTING: 0.9}))
    assert [finding.subject for finding in hunt.findings()] == [COUNTING.text]


def test_invalid_questions_cost_no_answer_and_get_the_penalty() -> None:
    hunt = build()
    simulate(hunt, Target({COUNTING: 0.9}))
    for lesson in hunt.lessons():
        assert lesson.texts[-1] == "what?"
        assert lesson.rewards[-1] == -Weights().invalid
    assert all(outcome.key == "" for outcome in hunt.ledger.outcomes if outcome.text == "what?")


def test_a_collapse_is_said_and_ends_the_lessons() -> None:
    hunt = build()
    simulate(hunt, OneTrack({}))
    assert len(hunt.lessons()) < 24
    (said,) = hunt.notices()
    assert "collapsed" in said
    assert "place" in said


def written(
    text: str, group: str = "a", failed: bool = False, valid: bool = True, skill: str = "x"
) -> GradedQuestion:
    return GradedQuestion(text, group, (skill,), valid, failed)


def test_only_failures_are_paid_for_being_different() -> None:
    one = Rewards(Weights(1.0, 0.5, 0.5, 0.7, 1.0, promise=0.0))
    alike, odd, bad, hit, rare = one.of(
        [
            written("how many cows are there in the picture"),
            written("which colour has the small boat", group="b"),
            written("?", valid=False),
            written("how many cows are there in the picture", failed=True),
            written("which colour has the small boat", group="c", failed=True),
        ]
    )
    assert bad == -0.7
    assert alike == odd == 0.0
    assert rare > hit > 0.99


def test_what_was_hardly_asked_promises_more_than_what_passes_all_the_time() -> None:
    rewards = Rewards(Weights(semantic=0.0, lexical=0.0))
    for _ in range(5):
        rewards.of([written(f"a{number}", skill="x") for number in range(8)])
    known, new = rewards.of([written("a", skill="x"), written("b", skill="y")])
    assert new == pytest.approx(0.5)
    assert 0 < known < 0.05


def test_a_skill_that_fails_all_the_time_earns_less() -> None:
    rewards = Rewards(Weights(1.0, 0.0, 0.0, 1.0, 0.2, promise=0.0))
    first = rewards.of([written("a", failed=True, skill="x")])
    for _ in range(20):
        rewards.of([written("a", failed=True, skill="x")])
    rare, common = rewards.of([written("b", failed=True, skill="y"), written("a", failed=True, skill="x")])
    assert first == [pytest.approx(0.2)]
    assert rare == pytest.approx(1.0)
    assert common < 0.25


def test_a_question_without_the_skill_asked_for_is_worth_nothing() -> None:
    rewards = Rewards(Weights())
    assert rewards.of([GradedQuestion("a", "g", ("x",), True, True, followed=False)]) == [-Weights().invalid]


def test_a_trainer_may_read_the_next_lessons_before_these_are_graded() -> None:
    assert build(questions=500).open_rounds == 2, "it reads one step ahead, and would wait for ever"


def test_questions_are_counted_by_the_skill_that_their_lesson_named() -> None:
    hunt = build()
    simulate(hunt, Target({COUNTING: 0.9}))
    asked = [one for one in hunt.ledger.outcomes if one.purpose == SEARCH]
    told = [lesson for quarter in quarters(asked) for lesson in quarter.lessons]
    assert sum(one.written for one in told) == len(asked)
    named = {one.named for one in told}
    assert "" in named
    assert named <= {"", *hunt.grammar.skills}  # type: ignore[attr-defined]
    others = [one for one in told if one.named not in ("", "counting", "place")]
    assert others, "the writer asks for nothing but counting and place"
    assert not any(one.valid for one in others)
