"""The audit of the list: who is drawn, what is asked, and what it says."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.kinds.t2i.survey.judge_view import TriedCounts
from failscape.kinds.t2i.survey.list_audit import STRIDE, AuditCase, AuditTest, ListAuditDraws, plan_audit
from failscape.kinds.t2i.survey.survey import ListAudit, ListAuditPart
from failscape.simulate.planted import PlantedWorld, simulate
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.trials import Trial, Verdict


def case(number: int, inside: int = 1) -> AuditCase:
    own = AuditTest(f"pair {number}", 0.8, False, TriedCounts(1, 9))
    parents = (AuditTest(f"thing {number % 7}-{at}", 0.8, True, TriedCounts(20, 0)) for at in range(inside))
    return AuditCase(own, tuple(parents))


def play(draws: ListAuditDraws, passes: Callable[[str, int], bool]) -> list[Trial]:
    told = []
    while (drawn := draws.next_try()) is not None:
        subject, number = drawn
        verdict = Verdict.PASS if passes(subject, number) else Verdict.FAIL
        told.append(Trial(f"{subject}#r{number}", subject, verdict))
        draws.tell(told[-1], number)
    return told


def as_listed(subject: str, number: int) -> bool:
    return subject.startswith("thing")


def audited(cases: list[AuditCase], images: int, passes: Callable[[str, int], bool] = as_listed) -> ListAudit:
    draws = ListAuditDraws(seed=3)
    draws.begin(cases, images, since=500)
    play(draws, passes)
    found = draws.result(one.subject for one in cases)
    assert found is not None
    return found


def test_a_list_that_is_right_is_shown_to_be_so_and_more_images_show_more() -> None:
    cases = [case(number) for number in range(400)]
    small, large = audited(cases, 100), audited(cases, 2_000)
    assert small.parts[-1].failing_at_least < large.parts[-1].failing_at_least
    assert large.parts[-1].failing_at_least > 0.95
    assert large.parts[-1].minimal_at_least is not None
    assert large.parts[-1].minimal_at_least > 0.9
    assert [part.findings for part in large.parts] == [200, 280, 340, 400]
    assert large.sentence.startswith("With 95% confidence at least 9")


def test_a_list_that_is_wrong_is_not_shown_to_be_right() -> None:
    cases = [case(number) for number in range(400)]
    passing = audited(cases, 2_000, lambda subject, number: True)
    assert passing.parts[-1].failing_at_least == 0.0
    assert len(audited(cases[:20], 2_000, lambda subject, number: True).refuted) == 20
    nested = audited(cases, 2_000, lambda subject, number: False)
    assert nested.parts[-1].failing_at_least > 0.9
    assert nested.parts[-1].minimal_at_least == 0.0
    assert nested.not_minimal


def test_only_the_doubtful_half_is_wrong_and_the_surest_half_is_told_apart() -> None:
    cases = [case(number, inside=0) for number in range(400)]
    found = audited(cases, 2_000, lambda subject, number: int(subject.split()[1]) >= 200)
    assert found.parts[0].failing_at_least > 0.9
    assert found.parts[-1].failing_at_least < 0.5


def test_no_image_is_of_two_findings_and_keys_are_never_asked_twice() -> None:
    draws = ListAuditDraws(seed=1)
    draws.begin([case(number) for number in range(300)], 1_500, since=0)
    told = play(draws, as_listed)
    assert len({trial.key for trial in told}) == len(told)
    shared = [trial for trial in told if trial.subject == "thing 0-0"]
    findings = {int(trial.key.rpartition("#r")[2]) % STRIDE for trial in shared}
    assert len(findings) > 1, "one thing is tested anew for each finding that it is inside of"


def test_the_sample_is_fixed_before_its_first_image() -> None:
    """Whatever comes of it, the same findings are audited: an audit that picked again would be biased."""
    cases = [case(number) for number in range(300)]
    right = audited(cases, 600)
    wrong = audited(cases, 600, lambda subject, number: not as_listed(subject, number))
    assert right.parts[-1].audited == wrong.parts[-1].audited
    assert right.parts[-1].audited_inside == wrong.parts[-1].audited_inside


def test_few_images_go_to_the_question_that_they_can_answer() -> None:
    cases = [case(number, inside=3) for number in range(300)]
    plan = plan_audit(cases, 60)
    assert plan.audited_inside == 0
    assert plan.audited > 15
    short = plan_audit(cases[:5], 2_000)
    assert short.own_level > plan.own_level, "in a short list a stronger test tells more"
    assert "takes a larger audit" in audited(cases, 60).sentence
    assert plan_audit([], 100).audited == 0


def test_a_later_audit_counts_the_images_of_an_earlier_one() -> None:
    cases = [case(number, inside=0) for number in range(100)]
    draws = ListAuditDraws(seed=3)
    draws.begin(cases, 150, since=500)
    first = play(draws, as_listed)
    draws.begin(cases[:90], 150, since=900)
    assert len(play(draws, as_listed)) < len(first) / 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "at least 92% of these 2,119 findings fail, and at least 90% are minimal (200 audited)"),
        ({"added": 3}, "of the 2,119 findings as of 20,000 images"),
        ({"findings": 1}, "The one finding was confirmed"),
    ],
)
def test_the_sentence(change: dict[str, int], words: str) -> None:
    whole = ListAuditPart(1.0, 2119, 200, 196, 0.9299, 200, 190, 0.9001)
    assert words in replace(ListAudit(2119, 20_000, 1865, (whole,)), **change).sentence


# In a hunt

LATTICE = Lattice(load_corpus("starter"), entities="sample", depth=2)


def make(images: int) -> CertifiedHunt:
    settings = CertifiedSettings(images=images, strategy="listed", audit=0.1)
    return CertifiedHunt(LATTICE, Wording(LATTICE.corpus), settings, seed=2)


def is_audit(trial: Trial) -> bool:
    return "#r" in trial.key


def test_the_list_stands_still_while_it_is_audited_and_replay_gives_the_same_audit() -> None:
    hunt, world = make(1_500), PlantedWorld(LATTICE, "weak", seed=4)
    trials = simulate(hunt, world, 1_500, shuffle=1, keep=True).trials
    first = next(at for at, trial in enumerate(trials) if is_audit(trial))
    assert first >= 1_350
    found = hunt.survey().list_audit
    assert found is not None
    assert found.since <= first
    again = make(1_500)
    for at, trial in enumerate(trials):
        again.tell(trial)
        if at == first:
            assert len(again.claims()) == found.findings
    assert again.survey().list_audit == found


def test_a_larger_budget_gets_an_audit_of_its_own() -> None:
    world = PlantedWorld(LATTICE, "weak", seed=4)
    trials = simulate(make(1_000), world, 1_000, keep=True).trials
    larger = make(2_000)
    for trial in trials:
        larger.tell(trial)
    simulate(larger, world, 1_000)
    found = larger.survey().list_audit
    assert found is not None
    assert found.since >= 1_800


def test_findings_tried_again_by_earlier_versions_are_still_shown() -> None:
    hunt, world = make(1_500), PlantedWorld(LATTICE, "weak", seed=4)
    simulate(hunt, world, 1_000)
    subject = hunt.findings()[0].subject
    for number in range(8):
        hunt.tell(Trial(f"{subject}#r{number}", subject, Verdict.FAIL, facts=["", [False]], seed=number))
    survey = hunt.survey()
    assert survey.list_audit is None
    assert survey.replication is not None
    assert survey.replication.rows[0].images == 8
