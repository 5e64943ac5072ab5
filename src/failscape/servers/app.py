"""Puts models behind HTTP: OpenAI-style images, chat, embeddings; FailureAtlas's `/generate`; `/v1/classify`.

It serves any objects that play the roles. A request is honoured in full or refused. Pictures go through a
batcher with a bounded queue; in the other roles one request is one call of the model. There are no keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from failscape.errors import BadReply, FailscapeError
from failscape.models.roles import Classifier, Model
from failscape.servers.backends import ImageBackend
from failscape.servers.batching import Batcher, Busy
from failscape.servers.chat import answer_chat, logprobs_of, said
from failscape.servers.images import ImageHandlers, check_model
from failscape.servers.metrics import Metrics
from failscape.servers.offer import Served
from failscape.servers.requests import (
    RequestError,
    check_chat,
    read_conversation,
    read_json,
    read_picture,
    read_texts,
)

__all__ = ["LOADING", "RequestError", "Served", "build_app"]

LARGEST_REQUEST = 64 * 2**20


class Loading:
    """Starts the models of an application beside it, so that it can say that it is not ready yet."""

    def __init__(self, start: Sequence[Callable[[], Awaitable[None]]]) -> None:
        self._start = start
        self._task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        return self._task is not None and self._task.done()

    def begin(self) -> None:
        self._task = asyncio.create_task(self._all())

    async def _all(self) -> None:
        for start in self._start:
            await start()

    async def wait(self) -> None:
        """Raises what went wrong, when loading failed."""
        assert self._task is not None
        await self._task

    async def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


LOADING: web.AppKey[Loading] = web.AppKey("loading", Loading)


def build_app(served: Served, wait: bool = True) -> web.Application:
    """The application; its models are started and closed with it.

    Without `wait` it answers at once, with 503 until the models are loaded: see `app[LOADING]`.
    """
    backend = served.image_backend()
    batcher = Batcher(backend, served.queue, served.linger) if backend is not None else None
    models: list[Model | ImageBackend] = [*served.models()]
    models += [backend] if backend is not None else []
    loading = Loading([model.start for model in models])
    metrics = Metrics(batcher)
    checks = [metrics.counting(), _explain_errors, _while_loading(loading)]
    app = web.Application(client_max_size=LARGEST_REQUEST, middlewares=checks)
    app[LOADING] = loading
    app.add_routes(_Handlers(served).routes())
    app.router.add_get("/metrics", metrics.page)
    if batcher is not None:
        app.add_routes(ImageHandlers(batcher).routes())

    async def live(_: web.Application) -> AsyncIterator[None]:
        loading.begin()
        if wait:
            await loading.wait()
        if batcher is not None:
            batcher.start()
        yield
        if batcher is not None:
            await batcher.close()
        await loading.cancel()
        if loading.done:
            for model in models:
                await model.close()

    app.cleanup_ctx.append(live)
    return app


def _while_loading(loading: Loading) -> Middleware:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if loading.done or request.path == "/metrics":
            return await handler(request)
        if request.path == "/health":
            return web.json_response({"status": "loading"}, status=503)
        return _error(503, "the model is being loaded", "server_error", {"Retry-After": "5"})

    return check


@web.middleware
async def _explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except RequestError as error:
        return _error(error.status, str(error), "invalid_request_error")
    except BadReply as error:  # an image in the request that cannot be decoded
        return _error(400, error.message, "invalid_request_error")
    except Busy as error:
        return _error(429, str(error), "rate_limit_error", {"Retry-After": str(error.retry_after)})
    except FailscapeError as error:
        return _error(500, error.message, "server_error")
    except web.HTTPException:
        raise
    except Exception as error:
        return _error(500, f"{type(error).__name__}: {error}", "server_error")


def _error(status: int, message: str, kind: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"error": {"message": message, "type": kind, "code": None}}
    return web.json_response(body, status=status, headers=headers)


class _Handlers:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[web.RouteDef]:
        found = [web.get("/health", self.health), web.get("/v1/models", self.models)]
        if self._served.chat_roles():
            found.append(web.post("/v1/chat/completions", self.chat))
        if self._served.embedder is not None:
            found.append(web.post("/v1/embeddings", self.embeddings))
        if self._served.classifiers:
            found.append(web.post("/v1/classify", self.classify))
        return found

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def models(self, _: web.Request) -> web.Response:
        names = [self._served.name, *self._served.classifiers]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "failscape"} for name in names]
        return web.json_response({"object": "list", "data": data})

    async def chat(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        check_model(body.get("model"), self._served.name)
        check_chat(body)
        talk = read_conversation(body.get("messages"))
        answer = await answer_chat(self._served, talk)
        text = answer.text
        message = {"role": "assistant", "content": text}
        told = logprobs_of(answer) if body.get("logprobs") else None
        usage = {"prompt_tokens": len(talk.question) // 4, "completion_tokens": len(text) // 4}
        return web.json_response(
            {
                "id": "chat",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": str(body.get("model") or self._served.name),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": told}],
                "usage": {**usage, "total_tokens": sum(usage.values())},
            }
        )

    async def embeddings(self, request: web.Request) -> web.Response:
        body = await read_json(request)
        check_model(body.get("model"), self._served.name)
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
        if not isinstance(chosen, str) or chosen not in offered:
            raise RequestError(f"there is no classifier {chosen!r}, only: {', '.join(offered)}", status=404)
        return offered[chosen]
