"""Keys of question hunts: their stored text never changes, and only the vocabulary reads it."""

from failscape.trials import (
    QuestionStep,
    is_early_question_key,
    is_question_key,
    is_turn_of,
    key_beside,
    key_of_errand,
    key_of_gate_question,
    key_of_item,
    key_of_question,
    number_of_plain_try,
    number_of_question,
)


def test_stored_keys_stay_as_they_are() -> None:
    item = key_of_item(3, 7)
    question = key_of_question(item, 0)
    assert (item, question) == ("q3.7", "q3.7.0")
    assert {step.name: step.of(question) for step in QuestionStep} == {
        "WRITING": "q3.7.0?",
        "EMBEDDING": "q3.7.0~",
        "SECOND_PICTURE": "q3.7.0=",
        "NEXT_TURN": "q3.7.0>",
        "AUDIT": "q3.7.0!",
        "AUDIT_AGAIN": "q3.7.0!!",
    }
    assert key_of_errand("skill", "counting") == "qskill.counting"
    assert key_of_gate_question(4) == "0.4"
    assert key_beside("cat#p3", "1f0a") == "cat#p3.1f0a"


def test_turns_belong_to_the_question_that_began_the_talk() -> None:
    assert is_turn_of("q3.7.0>>", "q3.7.0")
    assert not is_turn_of("q3.7.0", "q3.7.0")
    assert QuestionStep.NEXT_TURN.without("q3.7.0>>") == "q3.7.0"
    assert QuestionStep.NEXT_TURN.is_last_of("q3.7.0>")


def test_questions_are_numbered_and_what_is_done_for_an_item_is_not() -> None:
    assert [number_of_question(key) for key in ("q3.7.0", "q3.7.12>", "q3.7.2=")] == [0, 12, 2]
    assert number_of_question("qskill.counting") == -1


def test_keys_of_other_hunts_and_versions_are_told_apart() -> None:
    assert is_question_key("q3.7.0")
    assert not is_question_key("cat#3")
    assert is_early_question_key("3.7.0")
    assert number_of_plain_try("cat#12", "cat") == 12
    assert number_of_plain_try("cat#s12", "cat") is None
