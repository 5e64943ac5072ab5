"""Habits of other image servers, played by stand-ins: SGLang, vLLM-Omni, OpenAI's gpt-image."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from failscape.config import ModelConfig
from failscape.errors import Permanent
from failscape.models.registry import create_model
from failscape.testing.faulty import scripted_picture

Body = dict[str, Any]


@asynccontextmanager
async def reached(answer: Callable[[Body], Any], **params: Any) -> AsyncIterator[Any]:
    """An `openai` generator in front of a server that answers so."""

    async def handle(request: web.Request) -> web.StreamResponse:
        reply: web.StreamResponse = answer(await request.json())
        return reply

    async def picture(request: web.Request) -> web.Response:
        return web.Response(body=scripted_picture("far", int(request.match_info["seed"])))

    app = web.Application()
    app.router.add_post("/v1/images/generations", handle)
    app.router.add_get("/pictures/{seed}", picture)
    async with TestServer(app) as server:
        config = ModelConfig(
            provider="openai", model="m", endpoints=(str(server.make_url("")),), params=params, patience=1.0
        )
        model = create_model("generator", config)
        await model.start()
        try:
            yield model
        finally:
            await model.close()


def listed(seed: int, form: str) -> web.Response:
    if form == "url":
        return web.json_response({"data": [{"url": f"/pictures/{seed}"}]})
    return web.json_response(
        {"data": [{"b64_json": base64.b64encode(scripted_picture("far", seed)).decode()}]}
    )


def sglang(body: Body) -> web.Response:
    """A missing or null seed is 1024; pictures come as addresses unless asked otherwise."""
    return listed(body.get("seed") or 1024, body.get("response_format") or "url")


@pytest.mark.parametrize("params", [{}, {"response_format": None}])
async def test_sglang_gets_a_seed_with_every_request(params: Body) -> None:
    async with reached(sglang, **params) as model:
        replies = await model.generate(["far"] * 3, [1, 2, 2])
    pictures = [reply.value.data for reply in replies]
    assert pictures == [scripted_picture("far", seed) for seed in (1, 2, 2)]


async def test_sglang_without_a_seed_draws_one_picture_again_and_again() -> None:
    """Which is why `seed: null` is a bad idea there; `doctor` and the run's health warn of it."""
    async with reached(sglang, seed=None) as model:
        replies = await model.generate(["far"] * 2, [1, 2])
    assert replies[0].value.digest == replies[1].value.digest


def vllm_omni(body: Body) -> web.Response:
    if body.get("n", 1) > 10:
        return web.json_response({"error": {"message": "n must be at most 10"}}, status=400)
    if body.get("response_format") == "file":
        return web.Response(body=scripted_picture("far", body["seed"]), content_type="image/png")
    return listed(body["seed"], "b64_json")


@pytest.mark.parametrize("params", [{}, {"response_format": "file"}])
async def test_vllm_omni_may_reply_with_the_bare_file(params: Body) -> None:
    async with reached(vllm_omni, **params) as model:
        replies = await model.generate(["far"] * 12, list(range(12)))
    assert [reply.value.data for reply in replies] == [scripted_picture("far", seed) for seed in range(12)]


def gpt_image(body: Body) -> web.Response:
    for name in ("response_format", "seed"):
        if name in body:
            told = {
                "message": f"Unknown parameter: '{name}'.",
                "type": "invalid_request_error",
                "param": name,
            }
            return web.json_response({"error": told}, status=400)
    return listed(1, "b64_json")


async def test_gpt_image_refuses_fields_and_the_error_says_which_to_leave_out() -> None:
    for params, field in (({}, "response_format"), ({"response_format": None}, "seed")):
        async with reached(gpt_image, **params) as model:
            with pytest.raises(Permanent) as told:
                await model.generate(["far"], [1])
        assert told.value.fix == f"leave the field out with `params: {{{field}: null}}`"
    async with reached(gpt_image, response_format=None, seed=None) as model:
        assert (await model.generate(["far"], [1]))[0].value is not None
