from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.errors import ConfigError
from failscape.models.contracts.asking import json_values, without_thoughts
from failscape.models.contracts.judge import NONE_OF_THESE, BooleanContract, ChoiceContract, judge_contract
from failscape.models.contracts.vision import CaptionContract, ProposeContract, VerifyContract, _decision
from failscape.models.roles import AnswerToVerify
from failscape.trials import Check

CAT = Check("entity", "cat", "It is a cat.", ("dog", "cow", "hen"))
RED = Check("Base: Colour", "red", "It is red.", ("blue", "green"))
PLAIN = Check("Image: Style", "sketch", "It is a sketch.")
BOOLEAN, CHOICE = BooleanContract(), ChoiceContract()

noise = st.text(alphabet=st.sampled_from("[]{}\"',:truefalsTFNon 01q\\`<think>/\n"), max_size=120) | st.text(
    max_size=80
)


@pytest.mark.parametrize(
    "text",
    [
        "[true, false]",
        "[True, False]",
        '{"answers": [true, false]}',
        "```json\n[true, false]\n```",
        "<think>maybe [false, false]?</think>[true, false]",
        "maybe [false, false]</think>[true, false]",
        "{'answers': [True, False]}",
        "[true, false].",
    ],
)
def test_boolean_reads_what_models_write(text: str) -> None:
    assert BOOLEAN.read(text, [CAT, RED], "").value == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        "", "true", "yes, no", "[true]", "[true, false, true]", "[1, 0]", '["true", "false"]', "[true, false",
        "[true, maybe]", "[[true, false]]", '{"answers": "true"}', "[true, false] or rather [false, false]",
        "<think>[true, false]", "[true, false] and again [true, false]", "[true, false] as you see",
        "Sure! Here it is: [True, False].", '{"reason": "seen", "answers": [true, false]}',
        "[true, false]\nSo, again:\n[true, false]", '{"answers": [true, false], "error": null}',
    ],
)  # fmt: skip
def test_boolean_does_not_guess(text: str) -> None:
    outcome = BOOLEAN.read(text, [CAT, RED], "")
    assert outcome.value is None
    assert outcome.invalid


def test_boolean_keeps_an_undecided_check() -> None:
    assert BOOLEAN.read("[true, null]", [CAT, RED], "").value == [True, None]


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=8))
def test_boolean_round_trip(decisions: list[bool | None]) -> None:
    checks = [CAT] * len(decisions)
    assert BOOLEAN.read(json.dumps({"answers": decisions}), checks, "").value == decisions
    assert BOOLEAN.read(str(decisions), checks, "").value == decisions


@given(noise, st.integers(1, 3))
def test_boolean_never_raises_and_never_makes_a_verdict_of_garbage(text: str, count: int) -> None:
    outcome = BOOLEAN.read(text, [CAT] * count, "")
    if outcome.value is None:
        assert outcome.invalid
        return
    assert len(outcome.value) == count
    words = {True: ("true", "True"), False: ("false", "False"), None: ("null", "None")}
    for decision in outcome.value:
        assert any(word in text for word in words[decision])
    assert "[" in text
    assert "]" in text


@given(noise)
def test_choice_never_raises_and_needs_every_question(text: str) -> None:
    outcome = CHOICE.read(text, [CAT, RED], "x")
    assert outcome.value is None or len(outcome.value) == 2
    assert (outcome.value is None) == bool(outcome.invalid)


@given(st.text(max_size=12))
def test_choice_finds_the_asked_value_whatever_the_order(salt: str) -> None:
    letters = []
    for check in (CAT, RED):
        options = CHOICE.options(check, salt)
        assert sorted(options.values()) == sorted({check.value, *check.choices, NONE_OF_THESE})
        assert list(options.values())[-1] == NONE_OF_THESE
        letters.append(next(letter for letter, option in options.items() if option == check.value))
    reply = json.dumps({"q1": letters[0], "q2": letters[1]})
    assert CHOICE.read(reply, [CAT, RED], salt).value == [True, True]


def test_choice_of_another_option_or_of_none_does_not_hold() -> None:
    options = CHOICE.options(CAT, "s")
    wrong = [letter for letter, option in options.items() if option != "cat"]
    assert len(wrong) == 4
    for letter in wrong:
        assert CHOICE.read(f'{{"q1": "{letter}"}}', [CAT], "s").value == [False]


@pytest.mark.parametrize(
    "text", ['{"q1": "Z", "q2": "A"}', '{"q1": "A"}', '["A"]', '{"q1": 1, "q2": 2}', "A, B"]
)
def test_choice_does_not_guess(text: str) -> None:
    assert CHOICE.read(text, [CAT, RED], "s").value is None


def test_choice_order_depends_on_the_image_and_is_repeatable() -> None:
    orders = {tuple(CHOICE.options(CAT, f"image{i}").values()) for i in range(30)}
    assert len(orders) > 5
    assert CHOICE.options(CAT, "a") == CHOICE.options(CAT, "a")


def test_choice_does_not_reveal_what_was_asked_for() -> None:
    text = CHOICE.ask([CAT, RED], "s").text
    assert CAT.statement not in text
    other = Check("entity", "dog", "It is a dog.", ("cat", "cow", "hen"))
    assert CHOICE.ask([other, RED], "s").text == text


def test_choice_puts_a_check_without_choices_as_true_or_false() -> None:
    assert PLAIN.statement in CHOICE.ask([PLAIN], "s").text
    assert CHOICE.read('{"q1": "A"}', [PLAIN], "s").value == [True]
    assert CHOICE.read('{"q1": "B"}', [PLAIN], "s").value == [False]


def test_choice_with_very_many_values_keeps_the_asked_one() -> None:
    check = Check("entity", "cat", "It is a cat.", tuple(f"thing {i}" for i in range(80)))
    options = CHOICE.options(check, "s")
    assert "cat" in options.values()
    assert len(options) == 26


@pytest.mark.parametrize("contract", [BOOLEAN, CHOICE])
def test_schemas_are_strict_objects(contract: BooleanContract | ChoiceContract) -> None:
    schema = contract.ask([CAT, RED], "s").schema
    assert schema is not None
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])


def test_contracts_have_versions_and_unknown_ones_are_named() -> None:
    assert judge_contract("boolean").label == "boolean/3"
    with pytest.raises(ConfigError, match="bolean"):
        judge_contract("bolean")


def test_caption_is_cut_into_sentences() -> None:
    text = "1. A cat sits. It is red!\n- The wall is blue\n\n```"
    assert CaptionContract().read(text).value == ["A cat sits.", "It is red!", "The wall is blue"]
    assert CaptionContract().read(" ... ").value is None


@given(noise)
def test_caption_and_propose_never_raise(text: str) -> None:
    caption = CaptionContract().read(text)
    assert (caption.value is None) == bool(caption.invalid)
    questions = ProposeContract().read(text, 2)
    assert questions.value is None or 1 <= len(questions.value) <= 2


@given(noise, st.sampled_from(["valid", "right"]))
def test_verify_never_makes_a_verdict_of_garbage(text: str, key: str) -> None:
    outcome = VerifyContract().read(text, key)
    assert outcome.value is None or (key in text and isinstance(outcome.value[0], bool))


def test_verify_reads_one_verdict_and_not_two() -> None:
    read = VerifyContract().read
    assert read('{"reason": "seen", "right": true}', "right").value == (True, "seen", "")
    told = read('{"reason": "seen", "answer": " two ", "right": false}', "right").value
    assert told == (False, "seen", "two")
    assert read(json.dumps({"answer": "x" * 300, "right": False}), "right").value == (False, "", "")
    assert read('{"right": true} {"right": false}', "right").value is None
    assert read('{"right": "true"}', "right").value is None


def test_verify_shows_the_answer_only_in_the_second_step() -> None:
    claim = AnswerToVerify((), "How many?", "forty-two")
    contract = VerifyContract()
    assert "forty-two" not in contract.ask_valid(claim).text
    assert "forty-two" in contract.ask_right(claim).text


def test_propose_takes_json_or_lines_and_drops_repeats() -> None:
    read = ProposeContract().read
    assert read('{"questions": ["A?", "A?", "B?", "C?"]}', 2).value == ["A?", "B?"]
    assert read("1. What is it?\n2. How many?\nThat is all.", 5).value == ["What is it?", "How many?"]


def test_a_wall_of_brackets_costs_no_time() -> None:
    assert list(json_values('["' * 20_000)) == []
    assert without_thoughts("<think>" * 2000) == ""


@pytest.mark.parametrize(
    ("reply", "holds"),
    [
        ({"valid": True, "right": False, "reason": "seen"}, False),
        ({"valid": False, "right": True, "reason": "seen"}, None),
        ({"right": True, "reason": "seen", "error": "no image"}, None),
    ],
)
def test_the_other_question_of_a_verifier_may_be_answered_too_but_not_taken_back(
    reply: dict[str, object], holds: bool | None
) -> None:
    decided = _decision(reply, "right")
    assert (decided.holds if decided else None) is holds
