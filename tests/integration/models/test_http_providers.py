"""The HTTP providers against real sockets and a server that misbehaves."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent, Transient
from failscape.models import generate, openai
from failscape.models.limits import Backoff
from failscape.models.roles import Claim, Conversation
from failscape.pictures import Picture
from failscape.testing.faulty import Fault, FaultyServer
from failscape.testing.scripted import chat_reply, scripted_answer, scripted_picture
from failscape.trials import Check

QUICK = Backoff(first=0.01, longest=0.05)
CAT = Check("entity", "cat", "It is a cat.", ("dog", "cow"))
RED = Check("Base: Colour", "red", "It is red.", ("blue", "green"))


@asynccontextmanager
async def opened(provider: Any, role: str, server: FaultyServer, **settings: Any) -> AsyncIterator[Any]:
    values: dict[str, Any] = {"model": "m", "endpoints": (server.url,), "timeout": 5.0, "patience": 5.0}
    config = ModelConfig(provider="openai", **{**values, **settings})
    model = provider.create(role, config, QUICK)
    await model.start()
    try:
        yield model
    finally:
        await model.close()


@pytest.mark.parametrize("provider", [openai, generate])
async def test_a_picture_arrives_byte_for_byte(provider: Any) -> None:
    with FaultyServer() as server:
        async with opened(provider, "generator", server) as model:
            (reply,) = await model.generate(["a cat"], [7])
    assert reply.value.data == scripted_picture("a cat", 7)
    assert reply.usage.requests == 1


@pytest.mark.parametrize("provider", [openai, generate])
@pytest.mark.parametrize(
    "fault",
    ["rate-limit", Fault("rate-limit", retry_after="0.05"), "error", "truncated", "non-json", "wrong-image",
     "reset", "unavailable"],
)  # fmt: skip
async def test_one_fault_costs_one_more_request(provider: Any, fault: Fault | str) -> None:
    with FaultyServer([fault]) as server:
        async with opened(provider, "generator", server) as model:
            (reply,) = await model.generate(["a cat"], [7])
    assert reply.value.data == scripted_picture("a cat", 7)
    assert reply.usage.requests == 2


@pytest.mark.parametrize("kind", ["truncated", "non-json", "wrong-image"])
async def test_bad_replies_in_a_row_make_the_reply_invalid(kind: str) -> None:
    with FaultyServer([kind] * 3) as server:
        async with opened(openai, "generator", server) as model:
            bad, good = await model.generate(["a", "b"], [1, 2])
    assert bad.value is None
    assert bad.invalid
    assert bad.usage.requests == 3
    assert good.value is not None


async def test_a_stall_is_cut_by_the_time_out() -> None:
    with FaultyServer([Fault("stall", seconds=30)]) as server:
        async with opened(openai, "generator", server, timeout=0.2) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [1]), 4)
            assert model.stats()[0].transient == 1
    assert reply.usage.requests == 2


async def test_a_refusal_is_invalid_and_not_retried() -> None:
    with FaultyServer(["refuse"]) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [1])
    assert reply.value is None
    assert "not this" in reply.invalid
    assert reply.usage.requests == 1


async def test_wrong_settings_stop_at_once_with_the_servers_words() -> None:
    with FaultyServer(["invalid"]) as server:
        async with opened(openai, "generator", server) as model:
            with pytest.raises(Permanent, match="no such field") as caught:
                await model.generate(["a"], [1])
    assert server.url in str(caught.value)


async def test_a_wrong_key_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with FaultyServer(["unauthorised"]) as server:
        async with opened(openai, "generator", server, api_key_env="MY_KEY") as model:
            with pytest.raises(Permanent) as caught:
                await model.generate(["a"], [1])
            shown = f"{caught.value!s} {caught.value!r} {model!r} {model.identity} {vars(model.pool)}"
    assert "sk-very-secret" not in shown
    assert "api_key_env" in str(caught.value)


def test_a_missing_key_is_an_error_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = ModelConfig(provider="openai", endpoints=("http://h/v1",), api_key_env="NO_SUCH_KEY")
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        openai.create("judge", config)


def test_a_key_in_place_of_its_name_is_refused_unseen() -> None:
    config = ModelConfig(provider="openai", endpoints=("http://h/v1",), api_key_env="sk-oops-123")
    with pytest.raises(ConfigError) as caught:
        openai.create("judge", config)
    assert "sk-oops-123" not in str(caught.value)


@pytest.mark.parametrize("endpoints", [(), ("ftp://h",), ("localhost:8000",)])
def test_wrong_addresses_are_config_errors(endpoints: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="endpoints"):
        openai.create("judge", ModelConfig(provider="openai", endpoints=endpoints))


async def test_a_restarted_server_just_continues() -> None:
    server = FaultyServer()
    server.start()
    async with opened(openai, "generator", server, patience=20.0) as model:
        await model.generate(["a"], [0])
        server.stop()
        running = asyncio.gather(*(model.generate([f"p{i}"], [i]) for i in range(12)))
        await asyncio.sleep(0.5)
        assert model.stats()[0].state == "ejected"
        await asyncio.to_thread(server.start)
        replies = await asyncio.wait_for(running, 15)
    server.stop()
    assert all(reply.value is not None for (reply,) in replies)


async def test_a_server_that_still_loads_is_waited_for() -> None:
    with FaultyServer(slow_start=0.5) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [0]), 10)
    assert reply.value is not None


async def test_patience_runs_out() -> None:
    config = ModelConfig(provider="openai", endpoints=("http://127.0.0.1:9",), patience=0.3)
    model = openai.create("generator", config, QUICK)
    await model.start()
    with pytest.raises(Transient, match=r"127\.0\.0\.1:9"):
        await asyncio.wait_for(model.generate(["a"], [0]), 5)  # type: ignore[attr-defined]
    await model.close()


async def test_everything_arrives_through_a_storm_of_faults() -> None:
    rates: dict[str | Fault, float] = {
        "rate-limit": 0.1, "error": 0.1, "truncated": 0.03, "reset": 0.05, "non-json": 0.03,
    }  # fmt: skip
    with FaultyServer(rates=rates, seed=3) as server, FaultyServer(rates={"error": 0.2}) as other:
        both = (server.url, other.url)
        async with opened(openai, "generator", server, endpoints=both, patience=30.0) as model:
            replies = await asyncio.wait_for(
                asyncio.gather(*(model.generate([f"p{i}"], [i]) for i in range(200))), 25
            )
            used = [stats.ok for stats in model.stats()]
            attempts = model.pool.requests
    got = [reply for (reply,) in replies if reply.value is not None]
    assert all(reply.value.data == scripted_picture(f"p{i}", i) for i, (reply,) in enumerate(replies)
               if reply.value is not None)  # fmt: skip
    assert len(got) >= 198  # three bad replies in a row are rare
    assert min(used) > 0
    assert sum(reply.usage.requests for (reply,) in replies) == attempts


async def test_concurrency_is_bounded_and_grows_to_the_bound() -> None:
    with FaultyServer(latency=0.005) as server:
        async with opened(openai, "generator", server, concurrency=24) as model:
            await asyncio.gather(*(model.generate(["p"], [i]) for i in range(200)))
    assert 20 <= server.most_at_once <= 24


async def test_params_are_flat_and_null_takes_a_field_out() -> None:
    with FaultyServer() as server:
        params = {"size": "64x64", "num_inference_steps": 4, "response_format": None}
        async with opened(openai, "generator", server, params=params) as model:
            await model.generate(["a"], [5])
    assert server.payloads[0] == {
        "model": "m", "prompt": "a", "n": 1, "seed": 5, "size": "64x64", "num_inference_steps": 4,
    }  # fmt: skip


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_base_urls_with_and_without_v1(suffix: str) -> None:
    paths = []

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        paths.append(path)
        return scripted_answer(path, payload)

    with FaultyServer(answer=answer) as server:
        async with opened(openai, "generator", server, endpoints=(server.url + suffix,)) as model:
            await model.generate(["a"], [5])
    assert paths == ["/v1/images/generations"]


async def test_images_behind_urls_are_fetched() -> None:
    picture = scripted_picture("far", 1)

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        return picture if path.endswith(".png") else {"data": [{"url": "/files/1.png"}]}

    with FaultyServer(answer=answer) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [5])
    assert reply.value.data == picture


async def test_images_in_data_uris() -> None:
    picture = scripted_picture("near", 1)
    uri = "data:image/png;base64," + base64.b64encode(picture).decode()
    with FaultyServer(answer=lambda path, payload: {"data": [{"url": uri}]}) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [5])
    assert reply.value.data == picture


async def test_generate_sends_batches_and_keeps_the_order() -> None:
    with FaultyServer() as server:
        async with opened(generate, "generator", server, batch=4, params={"steps": 2}, price=1.0) as model:
            replies = await model.generate([f"p{i}" for i in range(6)], list(range(6)))
    assert [reply.value.data for reply in replies] == [scripted_picture(f"p{i}", i) for i in range(6)]
    assert [len(payload["prompts"]) for payload in server.payloads] == [4, 2]
    assert server.payloads[0]["steps"] == 2
    assert sum(reply.usage.requests for reply in replies) == 2
    assert sum(reply.usage.cost for reply in replies) == pytest.approx(2.0)


async def test_one_refused_prompt_does_not_spoil_its_batch() -> None:
    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        return {"images": ["????"]} if "bad" in payload["prompts"] else scripted_answer(path, payload)

    with FaultyServer(answer=answer) as server:
        async with opened(generate, "generator", server, batch=3) as model:
            replies = await model.generate(["a", "bad", "c"], [1, 2, 3])
    assert [reply.value is not None for reply in replies] == [True, False, True]


def says(*texts: str) -> Any:
    """A chat server that says these texts in turn, the last one for ever."""
    lock = threading.Lock()
    left = list(texts)

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        with lock:
            return chat_reply(left.pop(0) if len(left) > 1 else left[0])

    return answer


PICTURE = Picture(scripted_picture("x", 1, side=64))


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
            (reply,) = await model.verify([Claim((PICTURE,), "How many?", "seven-and-a-half")])
    assert (reply.value.valid, reply.value.right, reply.value.reason) == (True, False, "no")
    first, second = (str(payload["messages"]) for payload in server.payloads)
    assert "seven-and-a-half" not in first
    assert "seven-and-a-half" in second
    assert reply.usage.requests == 2


async def test_verifier_stops_at_an_invalid_question_and_skips_the_step_when_truth_is_known() -> None:
    with FaultyServer(answer=says('{"reason": "vague", "valid": false}')) as server:
        async with opened(openai, "verifier", server) as model:
            (reply,) = await model.verify([Claim((PICTURE,), "Nice?", "yes")])
    assert (reply.value.valid, server.requests) == (False, 1)
    with FaultyServer(answer=says('{"reason": "same", "right": true}')) as server:
        async with opened(openai, "verifier", server) as model:
            (reply,) = await model.verify([Claim((PICTURE,), "How many?", "2", truth="two")])
    assert (reply.value.right, server.requests) == (True, 1)


async def test_captioner_questioner_embedder_and_llm() -> None:
    with FaultyServer() as server:
        async with opened(openai, "captioner", server) as model:
            (caption,) = await model.caption([PICTURE])
        async with opened(openai, "questioner", server) as model:
            (questions,) = await model.propose([(PICTURE,)], ["colours"], [3])
            await model.learn([("q", 1.0)])
        async with opened(openai, "embedder", server) as model:
            vectors = await model.embed(["a", "b", "a"])
        async with opened(openai, "llm", server, params={"extra_body": {"enable_thinking": True}}) as model:
            text = await model.chat([{"role": "user", "content": "hi"}])
    assert caption.value == ["A plain answer.", "It has two sentences."]
    assert len(questions.value) == 3
    assert vectors[0].value == vectors[2].value != vectors[1].value
    assert text.value == "A plain answer. It has two sentences."
    assert server.payloads[-1]["enable_thinking"] is True


async def test_ignored_seed_is_possible_to_see() -> None:
    with FaultyServer(rates={"ignored-seed": 1.0}) as server:
        async with opened(openai, "generator", server) as model:
            one, two = await model.generate(["a", "a"], [1, 2])
    assert one.value.digest == two.value.digest
