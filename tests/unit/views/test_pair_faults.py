"""What went wrong in pictures of two things, and themes about them in words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from failscape.atlas import StoredTrial
from failscape.trials import Check, Decide, Finding, Generate, Status, SubjectForm, Trial, Verdict
from failscape.views.read.answer import say_traits
from failscape.views.read.pair_faults import is_pair_finding, pair_sentences
from failscape.views.read.themes import ANY_VALUE, CLASS, Trait

SUBJECT = "cow; Base: colour=red; Relation: is=left of; Second: thing=car; Second: colour=blue"
STEPS = (
    Generate("a red cow to the left of a blue car"),
    Decide(
        (
            Check("entity", "cow", "."),
            Check("Base: colour", "red", "."),
            Check("Relation: is", "left of", "."),
            Check("Second: thing", "car", "."),
            Check("Second: colour", "blue", "."),
        )
    ),
)


def trial(number: int, holds: Sequence[int]) -> StoredTrial:
    verdict = Verdict.PASS if all(holds) else Verdict.FAIL
    told = Trial(
        f"{SUBJECT}#{number}", SUBJECT, verdict, "", ["0" * 32, [bool(one) for one in holds]], number
    )
    return StoredTrial(number, 1, told, STEPS, (), 0.0, 0.0)


@pytest.mark.parametrize(
    ("holds", "fault"),
    [
        ((0, 0, 0, 1, 1), "the cow is missing"),
        ((1, 1, 0, 0, 0), "the car is missing or merged with the cow"),
        ((1, 0, 1, 1, 0), "the colour of both things is wrong, as if swapped"),
        ((1, 1, 1, 1, 0), "the colour of the second thing is wrong"),
        ((1, 0, 0, 1, 1), "the colour of the cow is wrong"),
        ((1, 1, 0, 1, 1), "the two things are there, but not “left of”"),
    ],
)
def test_a_picture_has_one_fault(holds: Sequence[int], fault: str) -> None:
    assert list(pair_sentences([trial(0, holds)])) == [f"Of 1 failed picture: {fault} in 1."]


def test_faults_are_counted_over_failed_pictures() -> None:
    trials = [
        trial(0, (1, 0, 1, 1, 0)),
        trial(1, (1, 0, 1, 1, 0)),
        trial(2, (1, 1, 0, 0, 0)),
        trial(3, (1,) * 5),
    ]
    [sentence] = pair_sentences(trials)
    assert sentence == (
        "Of 3 failed pictures: the colour of both things is wrong, as if swapped in 2; "
        "the car is missing or merged with the cow in 1."
    )
    assert list(pair_sentences([trial(0, (1,) * 5)])) == []


def test_only_findings_with_two_things_are_looked_up() -> None:
    def finding(subject: str) -> Finding:
        return Finding(subject, subject, "", Status.LISTED, 1.0, (0.5, 1.0), 10.0, 5, 5)

    assert is_pair_finding(finding(SUBJECT))
    assert not is_pair_finding(finding("cow; Base: colour=red"))


@pytest.mark.parametrize(
    ("traits", "title"),
    [
        (
            [Trait("Base: colour", "red"), Trait("Second: colour", "blue")],
            "anything (red) and another object (blue)",
        ),
        ([Trait(CLASS, "birds"), Trait("Relation: is", "right of")], "birds right of another object"),
        ([Trait("Second: thing", "car"), Trait("Second: thing", "cow")], "anything and car or cow"),
        ([Trait(ANY_VALUE, "Second: colour")], "anything with any second colour"),
        ([Trait(ANY_VALUE, "Relation: is")], "anything with any relation"),
        ([Trait("Base: colour", "red")], "anything with red"),
    ],
)
def test_themes_say_whose_attribute_it_is(traits: list[Trait], title: str) -> None:
    assert say_traits(tuple(traits), SubjectForm.THING) == title
