"""The exact verifier, and panels of verifiers: right, wrong, or not committed; never a guess."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.providers.exact import compare, create, decide
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Verification

RIGHT, WRONG = Verification(True, True), Verification(True, False, "it is two")
INVALID, SILENT = Verification(False, None, "vague"), Verification(None, None, "hm")


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        ("2", "two", True),
        ("A cow.", "cow", True),
        ("There are two.", "two", True),
        ("There are two cows in the picture, I think", "two", True),
        ("cows", "cow", True),
        ("three", "two", False),
        ("no", "yes", False),
        ("I can see three cows in this nice picture", "two", False),
        ("two or three, it is hard to say", "two", None),
        ("yes and no, depending on how you look", "yes", None),
        ("I am sorry, but I cannot help with that picture", "two", None),
        ("", "two", None),
        ("two", "", None),
        ("gray", "grey", True),
        ("It isn't a cat", "cat", False),
        ("It isn’t a cat, I am afraid, whatever it may look like", "cat", False),
        ("No, there is no cat in this picture", "cat", False),
        ("This is certainly not a picture of a cat", "cat", False),
        ("It is not a dog, it is a cat", "cat", True),
        ("Not a dog but a cat", "cat", True),
        ("I am not sure that it is a cat", "cat", None),
        ("It may be a cat. No, it is not a cat", "cat", None),
        ("none", "zero", True),
        ("There are none.", "zero", True),
        ("There are no cows in the picture", "zero", True),
        ("no", "zero", True),
        ("none", "two", False),
        ("There are not two cows here, I believe", "two", False),
        ("No, it is not", "no", True),
        ("It is not.", "no", True),
        ("No.", "no", True),
        ("It is not.", "yes", False),
        ("Yes, it is not red", "yes", True),
        ("No, it isn't a cat.", "yes", False),
        ("There are two cows, no dogs", "two", None),
    ],
)
def test_answers(answer: str, truth: str, right: bool | None) -> None:
    found = compare(answer, truth)
    assert found.right is right
    assert found.valid is (None if right is None else True)


@given(st.text(max_size=60), st.sampled_from(["yes", "two", "red", "teddy bear"]))
def test_any_text_is_decided_without_an_error(answer: str, truth: str) -> None:
    assert compare(answer, truth).right in (True, False, None)
    assert compare(truth, truth).right is True


def test_the_majority_decides_and_agreement_is_a_number() -> None:
    assert decide([RIGHT, RIGHT, WRONG]) == Verification(True, True, "", pytest.approx(2 / 3))
    assert decide([RIGHT, RIGHT, RIGHT]).agreement == 1.0
    assert decide([WRONG, WRONG, None]).right is False


@pytest.mark.parametrize("said", [[RIGHT, WRONG], [SILENT, SILENT, RIGHT], [None, None], [INVALID, RIGHT]])
def test_a_panel_that_does_not_agree_decides_nothing(said: list[Verification | None]) -> None:
    assert decide(said).right is None
    assert decide(said).valid is None


def test_two_invalids_make_the_question_invalid() -> None:
    found = decide([INVALID, INVALID, RIGHT])
    assert (found.valid, found.right, found.reason) == (False, None, "vague")


async def test_a_panel_is_made_from_its_members() -> None:
    panel = create_model(
        "verifier", ModelConfig(provider="panel", params={"members": [{"provider": "exact"}], "repeats": 3})
    )
    (reply,) = await panel.verify([AnswerToVerify((), "how many?", "2", truth="two")])  # type: ignore[attr-defined]
    assert reply.value == Verification(True, True)
    assert panel.identity.settings["repeats"] == 3


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs members"):
        create_model("verifier", ModelConfig(provider="panel"))
    with pytest.raises(ConfigError, match="takes no params"):
        create("verifier", ModelConfig(provider="exact", params={"a": 1}))


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        ("rot", "red", True),
        ("Es ist rot.", "red", True),
        ("blau", "red", False),
        ("Oui", "yes", True),
        ("no", "yes", False),
        ("三", "three", True),
        ("是", "yes", True),
        ("нет", "yes", False),
        ("это пингвин", "penguin", None),
        ("es ist ein pinguin auf dem eis", "penguin", None),
        ("two", "two", True),
        ("the die is red", "red", False),
    ],
)
def test_answers_in_another_language_are_translated_or_decide_nothing(
    answer: str, truth: str, right: bool | None
) -> None:
    found = compare(answer, truth)
    assert found.right is right, found
    if right is None:
        assert "not in English" in found.reason
