"""Puts a generator and a judge behind HTTP: OpenAI-style images and chat, and FailureAtlas's `/generate`.

It serves any objects that play those roles. It is small and honest, not a production server: no keys, no
queue, one request is one call of the model.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from failscape.errors import FailscapeError
from failscape.models.roles import ImageGenerator, Judge, Reply
from failscape.pictures import Picture
from failscape.servers.judging import answer_instruction
from failscape.spaces.understanding import Understanding

LARGEST_REQUEST = 64 * 2**20
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RequestError(Exception):
    """The request cannot be served; the client gets a 400 that says why."""


@dataclass(frozen=True)
class Served:
    """What a server offers. `understanding` turns a judge's instruction back into checks."""

    generator: ImageGenerator | None = None
    judge: Judge | None = None
    understanding: Understanding | None = None
    name: str = "failscape"


def build_app(served: Served) -> web.Application:
    """The application; its models are started and closed with it."""
    app = web.Application(client_max_size=LARGEST_REQUEST, middlewares=[_explain_errors])
    handlers = _Handlers(served)
    app.router.add_get("/health", handlers.health)
    app.router.add_get("/v1/models", handlers.models)
    if served.generator is not None:
        app.router.add_post("/v1/images/generations", handlers.images)
        app.router.add_post("/generate", handlers.generate)
    if served.judge is not None and served.understanding is not None:
        app.router.add_post("/v1/chat/completions", handlers.chat)
    for model in (served.generator, served.judge):
        if model is not None:
            app.on_startup.append(_hook(model.start))
            app.on_cleanup.append(_hook(model.close))
    return app


def _hook(call: Callable[[], Awaitable[None]]) -> Callable[[web.Application], Awaitable[None]]:
    async def run(_: web.Application) -> None:
        await call()

    return run


@web.middleware
async def _explain_errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except RequestError as error:
        return _error(400, str(error), "invalid_request_error")
    except FailscapeError as error:
        return _error(500, error.message, "server_error")


def _error(status: int, message: str, kind: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": kind, "code": None}}, status=status)


class _Handlers:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def models(self, _: web.Request) -> web.Response:
        model = {"id": self._served.name, "object": "model", "created": 0, "owned_by": "failscape"}
        return web.json_response({"object": "list", "data": [model]})

    async def images(self, request: web.Request) -> web.Response:
        body = await _read_json(request)
        prompt, count, seed = body.get("prompt"), body.get("n", 1), body.get("seed")
        if not isinstance(prompt, str) or not prompt:
            raise RequestError("`prompt` must be a non-empty text")
        if not isinstance(count, int) or not 1 <= count <= 64:
            raise RequestError("`n` must be a number from 1 to 64")
        first = seed if isinstance(seed, int) else random.getrandbits(31)
        pictures = await self._draw([prompt] * count, [first + number for number in range(count)])
        data = [{"b64_json": base64.b64encode(picture.data).decode()} for picture in pictures]
        return web.json_response({"created": int(time.time()), "data": data})

    async def generate(self, request: web.Request) -> web.Response:
        body = await _read_json(request)
        prompts, seeds = body.get("prompts"), body.get("seeds")
        if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
            raise RequestError("`prompts` must be a list of texts")
        if seeds is None:
            seeds = [random.getrandbits(31) for _ in prompts]
        if not isinstance(seeds, list) or len(seeds) != len(prompts):
            raise RequestError("`seeds` must be a list with one number per prompt")
        pictures = await self._draw(prompts, [int(seed) for seed in seeds])
        return web.json_response(
            {"images": [base64.b64encode(picture.data).decode() for picture in pictures]}
        )

    async def _draw(self, prompts: list[str], seeds: list[int]) -> list[Picture]:
        assert self._served.generator is not None
        return [_value(reply) for reply in await self._served.generator.generate(prompts, seeds)]

    async def chat(self, request: web.Request) -> web.Response:
        body = await _read_json(request)
        text, pictures = _read_messages(body.get("messages"))
        assert self._served.judge is not None
        assert self._served.understanding is not None
        if len(pictures) != 1:
            raise RequestError(f"one image is needed, but there are {len(pictures)}")
        said = await answer_instruction(text, pictures[0], self._served.judge, self._served.understanding)
        message = {"role": "assistant", "content": said}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(said) // 4}
        return web.json_response(
            {
                "id": "chat",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": str(body.get("model") or self._served.name),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {**usage, "total_tokens": sum(usage.values())},
            }
        )


async def _read_json(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RequestError(f"the body is not JSON ({error})") from error
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    return body


def _value(reply: Reply[Picture]) -> Picture:
    if reply.value is None:
        raise RequestError(reply.invalid)
    return reply.value


def _read_messages(messages: Any) -> tuple[str, list[Picture]]:
    """All text and all images of the user's turns."""
    texts: list[str] = []
    pictures: list[Picture] = []
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            texts.append(content)
            continue
        for part in content or []:
            if part.get("type") == "text":
                texts.append(part.get("text", ""))
            elif part.get("type") == "image_url":
                pictures.append(_read_image((part.get("image_url") or {}).get("url")))
    return "\n".join(texts), pictures


def _read_image(url: Any) -> Picture:
    if not isinstance(url, str) or not url.startswith("data:") or "," not in url:
        raise RequestError("`image_url.url` must be a data URI")
    try:
        return Picture(base64.b64decode(url.split(",", 1)[1], validate=True))
    except binascii.Error as error:
        raise RequestError("the image is not base64") from error
