"""Trials of every hunt are read the same way, and agree with the verdict they got."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.trials import (
    Answer,
    Caption,
    Check,
    Classify,
    Decide,
    Generate,
    Propose,
    Show,
    Verdict,
    Verify,
    reach_verdict,
)
from failscape.views.read.shots import CheckTally, Mark, Quote, lines_of, marks_of, tally

CAT = Check("entity", "cat", "The image shows a cat.")
RED = Check("Base: Colour", "red", "The cat is red.")


def test_each_check_gets_its_mark():
    steps = (Generate("a red cat"), Decide((CAT, RED)))
    assert marks_of(steps, ["d1", [True, False]]) == (Mark("cat", "yes"), Mark("red", "no"))
    assert marks_of(steps, ["d1", [None, True]]) == (Mark("cat", "open"), Mark("red", "yes"))


def test_namesakes_are_told_apart_by_their_kind():
    steps = (Decide((Check("entity", "orange", ""), Check("Base: Colour", "orange", ""), RED)),)
    marks = marks_of(steps, [[True, False, True]])
    assert marks == (Mark("entity: orange", "yes"), Mark("Base: Colour: orange", "no"), Mark("red", "yes"))
    assert tally([marks])[0] == CheckTally("Base: Colour: orange", 1, 1)
    named = (Decide((Check("entity", "penguin", "", gate=True),)), Classify(("penguin",)))
    assert marks_of(named, [[True], [["penguin", 0.9]]]) == (
        Mark("entity: penguin", "yes"),
        Mark("label: penguin", "yes"),
    )


def test_a_trial_that_broke_off_has_the_marks_it_got_to():
    assert marks_of((Generate("a cat"), Decide((CAT,))), ["d1"]) == ()
    assert marks_of((Generate("a cat"), Decide((CAT,))), []) == ()
    assert marks_of((Generate("a cat"), Decide((CAT, RED))), ["d1", None]) == ()


@pytest.mark.parametrize(
    ("step", "ranking", "mark"),
    [
        (Classify(("penguin",)), [["turkey", 0.7]], Mark("called turkey", "no")),
        (Classify(("penguin",), top_k=2), [["turkey", 0.7], ["penguin", 0.2]], Mark("penguin", "yes")),
        (Classify(("penguin",), aim=("turkey",)), [["turkey", 0.7]], Mark("called turkey", "no")),
        (Classify(("penguin",), aim=("turkey",)), [["owl", 0.7]], Mark("called owl", "yes")),
        (Classify(("penguin",)), [], Mark("no label", "open")),
    ],
)
def test_a_classifier_is_marked_by_what_it_called_the_image(step, ranking, mark):
    assert marks_of((Show(("d1",)), step), [["d1"], ranking]) == (mark,)


def test_questions_and_answers_are_lines():
    steps = (Show(("d1",)), Answer("How many?"), Verify(truth="three"))
    facts = [["d1"], "two", [True, False, "there are three"]]
    assert marks_of(steps, facts) == (Mark("wrong answer", "no"),)
    assert lines_of(steps, facts) == (
        Quote("asked", "How many?"),
        Quote("answered", "two"),
        Quote("right answer", "three"),
        Quote("because", "there are three"),
    )


@pytest.mark.parametrize(
    ("fact", "text"), [([None, None, ""], "undecided"), ([False, True, "x"], "not valid")]
)
def test_an_invalid_question_is_neither_right_nor_wrong(fact, text):
    assert marks_of((Verify(),), [fact]) == (Mark(text, "open"),)


def test_captions_and_proposals_are_lines():
    assert lines_of((Caption(), Propose()), [["a cat", "on grass"], ["why?"]]) == (
        Quote("caption", "a cat"),
        Quote("caption", "on grass"),
        Quote("proposed", "why?"),
    )


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=5))
def test_marks_agree_with_the_verdict(held):
    checks = tuple(Check("k", f"v{number}", "") for number in range(len(held)))
    steps, facts = (Decide(checks),), [held]
    verdict, _ = reach_verdict(steps, facts)
    states = {mark.state for mark in marks_of(steps, facts)}
    expected = Verdict.INVALID if "open" in states else Verdict.FAIL if "no" in states else Verdict.PASS
    assert verdict is expected


def test_tally_counts_decided_marks_and_puts_the_most_missed_first():
    yes, no, unsure = Mark("cat", "yes"), Mark("red", "no"), Mark("red", "open")
    assert tally([[yes, no], [yes, unsure], [yes, no]]) == [CheckTally("red", 2, 2), CheckTally("cat", 0, 3)]
