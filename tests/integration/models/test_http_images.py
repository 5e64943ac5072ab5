"""Image generators behind HTTP: what is sent, what arrives."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from failscape.models.providers import http, openai
from failscape.testing.faulty import FaultyServer, scripted_answer, scripted_picture
from tests.integration.models.started import opened


@pytest.mark.parametrize("provider", [openai, http])
async def test_a_picture_arrives_byte_for_byte(provider: Any) -> None:
    with FaultyServer() as server:
        async with opened(provider, "generator", server) as model:
            (reply,) = await model.generate(["a cat"], [7])
    assert reply.value.data == scripted_picture("a cat", 7)
    assert reply.usage.requests == 1


async def test_params_are_flat_and_null_takes_a_field_out() -> None:
    with FaultyServer() as server:
        params = {"size": "64x64", "num_inference_steps": 4, "response_format": None}
        async with opened(openai, "generator", server, params=params) as model:
            await model.generate(["a"], [5])
    assert server.payloads[0] == {
        "model": "m", "prompt": "a", "n": 1, "seed": 5, "size": "64x64", "num_inference_steps": 4,
    }  # fmt: skip


@pytest.mark.parametrize("provider", [openai, http])
async def test_a_name_that_the_server_must_not_see(provider: Any) -> None:
    with FaultyServer() as server:
        async with opened(provider, "generator", server, params={"model": None}) as model:
            await model.generate(["a"], [5])
    assert model.identity.model == "m"
    assert "model" not in server.payloads[0]


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
        async with opened(http, "generator", server, batch=4, params={"steps": 2}, price=1.0) as model:
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
        async with opened(http, "generator", server, batch=3) as model:
            replies = await model.generate(["a", "bad", "c"], [1, 2, 3])
    assert [reply.value is not None for reply in replies] == [True, False, True]


async def test_ignored_seed_is_possible_to_see() -> None:
    with FaultyServer(rates={"ignored-seed": 1.0}) as server:
        async with opened(openai, "generator", server) as model:
            one, two = await model.generate(["a", "a"], [1, 2])
    assert one.value.digest == two.value.digest
