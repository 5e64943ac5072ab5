"""The chat roles of provider `openai`: what is said, how the reply is read."""

from __future__ import annotations

import base64

from failscape.models.providers import openai
from failscape.models.roles import AnswerToVerify, Conversation
from failscape.pictures import Picture
from failscape.testing.faulty import FaultyServer, chat_reply
from tests.integration.models.started import CAT, PICTURE, RED, opened, says


async def test_judge_replies_in_schema_and_counts_tokens() -> None:
    with FaultyServer() as server:
        async with opened(openai, "judge", server, params={"top_k": 1, "enable_thinking": False}) as model:
            (reply,) = await model.judge([PICTURE], [[CAT, RED]])
    assert reply.value == [True, True]
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (10, 3)
    sent = server.payloads[0]
    assert sent["temperature"] == 0
    assert sent["top_k"] == 1
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert "enable_thinking" not in sent
    assert sent["response_format"]["type"] == "json_schema"
    image, text = sent["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert "It is a cat." in text["text"]


async def test_choice_judge_does_not_show_the_statement() -> None:
    with FaultyServer() as server:
        async with opened(openai, "judge", server, contract="choice") as model:
            (reply,) = await model.judge([PICTURE], [[CAT, RED]])
    assert len(reply.value) == 2
    assert "It is a cat." not in server.payloads[0]["messages"][0]["content"][1]["text"]


async def test_image_max_side_shrinks_before_upload() -> None:
    with FaultyServer() as server:
        async with opened(openai, "judge", server, image_max_side=32) as model:
            await model.judge([PICTURE], [[CAT]])
    uri = server.payloads[0]["messages"][0]["content"][0]["image_url"]["url"]
    assert Picture(base64.b64decode(uri.partition(",")[2])).image.size == (32, 32)


async def test_a_judge_out_of_form_is_asked_once_more_then_invalid() -> None:
    with FaultyServer(answer=says("I think so", '{"answers": [false]}')) as server:
        async with opened(openai, "judge", server) as model:
            (reply,) = await model.judge([PICTURE], [[CAT]])
    assert reply.value == [False]
    assert reply.usage.requests == 2
    with FaultyServer(answer=says("I think so")) as server:
        async with opened(openai, "judge", server) as model:
            (reply,) = await model.judge([PICTURE], [[CAT]])
    assert reply.value is None
    assert "booleans" in reply.invalid
    assert reply.raw == "I think so"


async def test_a_broken_image_is_invalid_without_a_request() -> None:
    with FaultyServer() as server:
        async with opened(openai, "judge", server, image_max_side=32) as model:
            (reply,) = await model.judge([Picture(PICTURE.data[:60])], [[CAT]])
    assert reply.value is None
    assert server.requests == 0
    assert reply.usage.requests == 0


async def test_a_filtered_reply_is_a_refusal() -> None:
    filtered = chat_reply("")
    filtered["choices"][0]["finish_reason"] = "content_filter"
    with FaultyServer(answer=lambda path, payload: filtered) as server:
        async with opened(openai, "answerer", server) as model:
            (reply,) = await model.answer([Conversation((PICTURE,), "What?")])
    assert reply.value is None
    assert "refused" in reply.invalid


async def test_a_reply_that_was_cut_off_is_no_judgement() -> None:
    cut = chat_reply("[true, true]")
    cut["choices"][0]["finish_reason"] = "length"
    with FaultyServer(answer=lambda path, payload: cut) as server:
        async with opened(openai, "judge", server) as model:
            (reply,) = await model.judge([PICTURE], [[CAT, CAT]])
        async with opened(openai, "answerer", server) as model:
            (answer,) = await model.answer([Conversation((PICTURE,), "What?")])
    assert reply.value is None
    assert "max_tokens" in reply.invalid
    assert answer.value == "[true, true]", "free text is taken as far as it goes"


async def test_history_becomes_turns_with_the_images_first() -> None:
    with FaultyServer(answer=says("<think>hm</think> blue")) as server:
        async with opened(openai, "answerer", server) as model:
            talk = Conversation((PICTURE, PICTURE), "Sure?", (("What colour?", "Red."),))
            (reply,) = await model.answer([talk])
    assert reply.value == "blue"
    messages = server.payloads[0]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [part["type"] for part in messages[0]["content"]] == ["image_url", "image_url", "text"]
    assert messages[2]["content"] == "Sure?"


async def test_verifier_asks_in_two_steps_and_does_not_show_the_answer_first() -> None:
    with FaultyServer(
        answer=says('{"reason": "ok", "valid": true}', '{"reason": "no", "right": false}')
    ) as server:
        async with opened(openai, "verifier", server) as model:
            (reply,) = await model.verify([AnswerToVerify((PICTURE,), "How many?", "seven-and-a-half")])
    assert (reply.value.valid, reply.value.right, reply.value.reason) == (True, False, "no")
    first, second = (str(payload["messages"]) for payload in server.payloads)
    assert "seven-and-a-half" not in first
    assert "seven-and-a-half" in second
    assert reply.usage.requests == 2


async def test_verifier_stops_at_an_invalid_question_and_skips_the_step_when_truth_is_known() -> None:
    with FaultyServer(answer=says('{"reason": "vague", "valid": false}')) as server:
        async with opened(openai, "verifier", server) as model:
            (reply,) = await model.verify([AnswerToVerify((PICTURE,), "Nice?", "yes")])
    assert (reply.value.valid, server.requests) == (False, 1)
    with FaultyServer(answer=says('{"reason": "same", "right": true}')) as server:
        async with opened(openai, "verifier", server) as model:
            (reply,) = await model.verify([AnswerToVerify((PICTURE,), "How many?", "2", truth="two")])
    assert (reply.value.right, server.requests) == (True, 1)


async def test_captioner_questioner_embedder_and_llm() -> None:
    with FaultyServer() as server:
        async with opened(openai, "captioner", server) as model:
            (caption,) = await model.caption([PICTURE])
        async with opened(openai, "questioner", server) as model:
            (questions,) = await model.propose([(PICTURE,)], ["colours"], [3])
        async with opened(openai, "embedder", server) as model:
            vectors = await model.embed(["a", "b", "a"])
        async with opened(openai, "llm", server, params={"extra_body": {"enable_thinking": True}}) as model:
            text = await model.chat([{"role": "user", "content": "hi"}])
    assert caption.value == ["A plain answer.", "It has two sentences."]
    assert len(questions.value) == 3
    assert vectors[0].value == vectors[2].value != vectors[1].value
    assert text.value == "A plain answer. It has two sentences."
    assert server.payloads[-1]["enable_thinking"] is True


async def test_a_targets_answer_has_an_end_unless_told_otherwise() -> None:
    for params, expected in (
        ({}, {"max_tokens": 512}),
        ({"max_tokens": 40}, {"max_tokens": 40}),
        ({"max_completion_tokens": 40}, {"max_completion_tokens": 40}),
    ):
        with FaultyServer(answer=says("two")) as server:
            async with opened(openai, "answerer", server, params=params) as model:
                await model.answer([Conversation((PICTURE,), "How many?")])
        sent = {name: value for name, value in server.payloads[0].items() if name.startswith("max_")}
        assert sent == expected
