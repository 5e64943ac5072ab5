"""Puts models behind HTTP: OpenAI-style images, chat, embeddings; FailureAtlas's `/generate`; `/v1/classify`.

It serves any objects that play the roles. It is small and honest, not a production server: no keys, no
queue, one request is one call of the model.
"""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from failscape.errors import BadReply, FailscapeError
from failscape.models.roles import Classifier
from failscape.pictures import Picture
from failscape.servers.chat import answer_chat, said
from failscape.servers.requests import (
    RequestError,
    Served,
    read_conversation,
    read_json,
    read_picture,
    read_texts,
)

__all__ = ["RequestError", "Served", "build_app"]

LARGEST_REQUEST = 64 * 2**20
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build_app(served: Served) -> web.Application:
    """The application; its models are started and closed with it."""
    app = web.Application(client_max_size=LARGEST_REQUEST, middlewares=[_explain_errors])
    handlers = _Handlers(served)
    app.router.add_get("/health", handlers.health)
    app.router.add_get("/v1/models", handlers.models)
    if served.generator is not None:
        app.router.add_post("/v1/images/generations", handlers.images)
        app.router.add_post("/generate", handlers.generate)
    if served.chat_roles():
        app.router.add_post("/v1/chat/completions", handlers.chat)
    if served.embedder is not None:
        app.router.add_post("/v1/embeddings", handlers.embeddings)
    if served.classifiers:
        app.router.add_post("/v1/classify", handlers.classify)
    for model in served.models():
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
        return _error(error.status, str(error), "invalid_request_error")
    except BadReply as error:  # an image in the request that cannot be decoded
        return _error(400, error.message, "invalid_request_error")
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
        names = [self._served.name, *self._served.classifiers]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "failscape"} for name in names]
        return web.json_response({"object": "list", "data": data})

    async def images(self, request: web.Request) -> web.Response:
        body = await read_json(request)
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
        body = await read_json(request)
        prompts, seeds = read_texts(body.get("prompts"), "prompts"), body.get("seeds")
        if seeds is None:
            seeds = [random.getrandbits(31) for _ in prompts]
        if not isinstance(seeds, list) or len(seeds) != len(prompts):
            raise RequestError("`seeds` must be a list with one number per prompt")
        if not all(isinstance(seed, int) for seed in seeds):
            raise RequestError("`seeds` must be whole numbers")
        pictures = await self._draw(prompts, seeds)
        return web.json_response(
            {"images": [base64.b64encode(picture.data).decode() for picture in pictures]}
        )

    async def _draw(self, prompts: list[str], seeds: list[int]) -> list[Picture]:
        assert self._served.generator is not None
        return [said(reply) for reply in await self._served.generator.generate(prompts, seeds)]

    async def chat(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        talk = read_conversation(body.get("messages"))
        text = await answer_chat(self._served, talk)
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": len(talk.question) // 4, "completion_tokens": len(text) // 4}
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

    async def embeddings(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        asked = body.get("input")
        texts = read_texts([asked] if isinstance(asked, str) else asked, "input")
        assert self._served.embedder is not None
        vectors = [said(reply) for reply in await self._served.embedder.embed(texts)]
        data = [
            {"object": "embedding", "index": row, "embedding": vector} for row, vector in enumerate(vectors)
        ]
        tokens = sum(len(text) // 4 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        name = str(body.get("model") or self._served.name)
        return web.json_response({"object": "list", "data": data, "model": name, "usage": usage})

    async def classify(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        images = [read_picture(text) for text in read_texts(body.get("images"), "images")]
        rankings = [said(reply) for reply in await self._classifier(body.get("model")).classify(images)]
        return web.json_response({"labels": rankings})

    def _classifier(self, name: object) -> Classifier:
        offered = self._served.classifiers
        chosen = name or next(iter(offered))
        if chosen not in offered:
            raise RequestError(f"there is no classifier {chosen!r}, only: {', '.join(offered)}", status=404)
        return offered[str(chosen)]
