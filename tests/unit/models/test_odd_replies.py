"""A reply that is no verdict is never read as one: 163 forms of ten makes, put to every contract."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.odd_replies import BARE, NO_CAPTIONS, ODD, READERS, read_all, table_of, write_reply

from failscape.errors import ModelError
from failscape.models.contracts.asking import Read
from failscape.models.contracts.vision import FormCounts, VerifyContract
from failscape.models.providers.openai import _read_chat
from failscape.runtime.engine import odd_forms
from failscape.testing.faulty import chat_reply

ROWS = read_all()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.make)
def test_no_odd_reply_is_read_as_a_verdict_and_bare_ones_are(row: Any) -> None:
    assert row.misread == ()


def test_there_are_many_forms_and_all_differ() -> None:
    forms = [form for some in ODD.values() for form in some]
    assert len(set(forms)) == len(forms) >= 120
    assert len(set(NO_CAPTIONS)) == len(NO_CAPTIONS) >= 30
    assert list(table_of(ROWS))[-1].endswith("| 0 |")


def test_a_bare_reply_says_what_it_says() -> None:
    for reader in READERS:
        said = {str(reader.read(write_reply(form, reader))) for form in BARE}
        assert said == {str(reader.read(json.dumps(reader.answer)))}


@pytest.mark.parametrize(
    "form", ["{0}  # no image was attached", "{0}\n# default values", "{1} # I cannot see\n{2}"]
)
def test_a_comment_in_python_takes_an_answer_back(form: str) -> None:
    for reader in READERS:
        text = repr(reader.answer)
        assert reader.read(text) is not None, text
        assert reader.read(form.format(text, text[0], text[1:])) is None, text


def test_a_reason_may_quote_what_declines() -> None:
    reason = 'The answer "I cannot see the image" avoids the question.'
    read = VerifyContract().read(json.dumps({"reason": reason, "answer": "two", "right": False}), "right")
    assert read.value is not None
    assert read.value.holds is False


def test_a_question_that_nobody_can_answer_is_called_invalid() -> None:
    text = json.dumps({"reason": "I cannot tell this from the picture, nor could anybody.", "valid": False})
    read = VerifyContract().read(text, "valid")
    assert read.value is not None
    assert not read.value.holds


def body(**more: Any) -> bytes:
    reply = chat_reply('{"answers": [false]}')
    choice = reply["choices"][0]
    for name in ("error", "usage"):
        if name in more:
            reply[name] = more.pop(name)
    if "finish_reason" in more:
        choice["finish_reason"] = more.pop("finish_reason")
    if "choice_error" in more:
        choice["error"] = more.pop("choice_error")
    choice["message"] |= more
    return json.dumps(reply).encode()


@pytest.mark.parametrize(
    "reason",
    ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "error", "abort", "cancelled",
     "tool_calls", "function_call", "timeout", "pause_turn", "malformed_function_call", "other"],
)  # fmt: skip
def test_a_reply_that_did_not_come_to_its_end_is_unfinished(reason: str) -> None:
    assert _read_chat(body(finish_reason=reason)).unfinished


@pytest.mark.parametrize("reason", [None, "", "stop", "STOP", "eos", "end_turn", "stop_sequence"])
def test_a_reply_that_came_to_its_end_is_finished(reason: str | None) -> None:
    assert _read_chat(body(finish_reason=reason)).unfinished == ""


@pytest.mark.parametrize(
    "more",
    [
        {"finish_reason": "SAFETY"},
        {"finish_reason": "content_filter"},
        {"finish_reason": "prohibited_content"},
        {"refusal": "I can't"},
        {"error": {"message": "vision tower not loaded"}},
        {"choice_error": {"code": 502}},
        {"content": {"text": "x"}},
    ],
)
def test_a_refusal_or_an_error_beside_the_reply_is_no_reply(more: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        _read_chat(body(**more))


@pytest.mark.parametrize("kind", ["reasoning", "thinking", "reasoning_text", "image_url", "refusal"])
def test_only_parts_of_text_are_said(kind: str) -> None:
    thought = {"type": kind, "text": '{"answers": [false]}'}
    assert _read_chat(body(content=[thought])).text == ""
    assert _read_chat(body(content=[thought, {"type": "text", "text": "yes"}])).text == "yes"


@pytest.mark.parametrize("count", [1e30, -5, "many", True, None, [], {}, 10**40, 1e308])
def test_counts_of_tokens_that_are_none_count_nothing(count: Any) -> None:
    said = _read_chat(body(usage={"prompt_tokens": count, "completion_tokens": count}))
    assert (said.tokens_in, said.tokens_out) == (0, 0)
    assert _read_chat(body(usage=count)).tokens_in == 0


def test_more_than_a_few_per_cent_of_odd_replies_are_a_warning() -> None:
    forms = FormCounts()
    for number in range(100):
        forms.note(Read(None, "words stand before its JSON") if number < 3 else Read([True]))
    assert odd_forms("judge", forms) == []
    forms.note(Read(None, "words stand before its JSON"))
    (warning,) = odd_forms("judge", forms)
    assert "4% of the judge's 101 replies" in warning.text
    assert odd_forms("judge", None) == []


@pytest.mark.parametrize(
    "form",
    [
        "```error\n{}\n```",
        "```no-image\n{}\n```",
        "```image_failed_to_load {}```",
        "```example\n{}\n```",
        "{}<|no_image|>",
        "{}<|image_not_found-default_answer|>",
    ],
)
def test_labels_and_tokens_that_take_an_answer_back_are_no_wrapping(form: str) -> None:
    for reader in READERS:
        assert reader.read(form.replace("{}", json.dumps(reader.answer))) is None, reader
