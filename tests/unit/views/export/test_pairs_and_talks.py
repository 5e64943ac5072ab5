"""Rows of trials whose right answer nobody knows: minimal pairs and later turns."""

from __future__ import annotations

from failscape.atlas.judging import verified
from failscape.kinds.vlm.rows import _right_answer, shown_last
from failscape.trials import Answer, Edit, ExpectChange, NameSkills, Recall, Show, Verify
from failscape.views.read.shots import lines_of

PAIR = (
    Show(("a",)),
    Edit("Add a crab to the picture."),
    Answer("Is there a crab?"),
    ExpectChange("no", "a crab"),
)
FACTS = [["a"], "b", "no", [True, False, "it says 'no' as before"]]


def test_a_pair_has_no_right_answer_to_train_on_and_shows_the_edited_picture() -> None:
    assert _right_answer(PAIR, FACTS, True) == ("", "", 0.0)
    assert shown_last(PAIR, ("a", "b")) == ("b",)
    assert shown_last((Show(("a", "b")),), ("a", "b")) == ("a", "b")


def test_what_was_said_and_changed_is_quoted() -> None:
    said = {quote.label: quote.text for quote in lines_of(PAIR, FACTS)}
    assert said["changed"] == "a crab"
    assert said["answered before"] == "no"
    talk = (
        Show(("a",)),
        Recall((("How many?", "two"),)),
        Answer("Are you sure?"),
        Verify("two"),
        NameSkills("x"),
    )
    facts = [["a"], [["How many?", "two"]], "three", [True, False, "no"], ["counting"]]
    texts = [quote.text for quote in lines_of(talk, facts)]
    assert texts[:4] == ["How many?", "two", "Are you sure?", "three"]
    assert "counting" in texts


def test_people_are_told_what_was_said_before() -> None:
    talk = (Show(("a",)), Recall((("How many?", "two"),)), Answer("Is there one?"), Verify("yes"))
    facts = [["a"], [["How many?", "two"]], "no", [True, False, "no"]]
    ((_, check, answer, image),) = verified(talk, facts)
    assert (
        check.statement == "After it had said “two” to “How many?”: Asked “Is there one?”, it answered “no”."
    )
    assert (answer, image) == (False, "a")
