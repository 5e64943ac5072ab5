"""A model server that misbehaves on purpose, on loopback: for tests of clients, ours and plugin authors'.

It runs in a thread (`with FaultyServer(...) as server`) or by itself (`python -m failscape.testing.faulty`).
When it behaves it is a scripted model behind the wire formats that we speak: it always answers well, and
always the same. It sees nothing and knows nothing: use a planted world for search quality.
"""

import argparse
import asyncio
import hashlib
import json
import random
import threading
import time
from base64 import b64encode
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from aiohttp import web

from failscape.pictures import Picture

Payload = Mapping[str, Any]


@lru_cache(maxsize=4096)
def scripted_picture(prompt: str, seed: int, side: int = 16) -> bytes:
    """A small PNG that only depends on prompt and seed."""
    digest = hashlib.blake2b(f"{prompt}/{seed}".encode(), digest_size=48).digest()
    blocks = np.frombuffer(digest, np.uint8).reshape(4, 4, 3)
    return Picture.from_array(blocks.repeat(side // 4, axis=0).repeat(side // 4, axis=1)).data


def scripted_answer(path: str, payload: Payload) -> Any:
    """The good reply, as JSON data, to a request at `path`."""
    if path.endswith("/images/generations"):
        image = scripted_picture(str(payload["prompt"]), int(payload.get("seed", 0)))
        return {"created": 0, "data": [{"b64_json": b64encode(image).decode()}]}
    if path.endswith("/generate"):
        pairs = zip(payload["prompts"], payload["seeds"], strict=True)
        return {"images": [b64encode(scripted_picture(prompt, seed)).decode() for prompt, seed in pairs]}
    if path.endswith("/embeddings"):
        rows = [{"index": i, "embedding": _vector(text)} for i, text in enumerate(payload["input"])]
        return {"data": rows, "usage": {"prompt_tokens": len(rows)}}
    if path.endswith("/classify"):
        vectors = [_vector(image) for image in payload["images"]]
        return {"labels": [[["cat", first], ["dog", second]] for first, second, *_ in vectors]}
    return chat_reply(scripted_text(payload)) if path.endswith("/chat/completions") else {}


def chat_reply(text: str) -> dict[str, Any]:
    """A chat completion that says `text`."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 3}}


def scripted_text(payload: Payload) -> str:
    """Text in the form that the request asks for: the first thing that its JSON schema allows."""
    form = payload.get("response_format") or {}
    if form.get("type") != "json_schema":
        return "A plain answer. It has two sentences."
    return json.dumps(_fill(form["json_schema"]["schema"]))


def _fill(schema: Payload) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: _fill(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        items = [_fill(schema["items"]) for _ in range(schema.get("minItems", 1))]
        return [f"{item} {number}" if isinstance(item, str) else item for number, item in enumerate(items, 1)]
    return {"boolean": True, "string": "because", "integer": 1, "number": 1.0}[schema["type"]]


def _vector(text: str) -> list[float]:
    return [byte / 255 for byte in hashlib.blake2b(text.encode(), digest_size=8).digest()]


KINDS = {
    "ok": "a good answer",
    "rate-limit": "429, with `Retry-After` when `retry_after` is set",
    "error": "500",
    "unavailable": "503",
    "refuse": "400 with a content-policy code",
    "invalid": "400 without one",
    "unauthorised": "401 that echoes the key it got",
    "stall": "no answer for `seconds`",
    "truncated": "a body that breaks off",
    "non-json": "200 with a page of HTML",
    "wrong-image": "200 with images that are no images",
    "ignored-seed": "the image of seed 0, whatever was asked for",
    "reset": "the connection is cut before any answer",
}
_NOT_AN_IMAGE = "bm90IGFuIGltYWdlIGF0IGFsbA=="


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to answer. `kind` is a key of `KINDS`."""

    kind: str = "ok"
    seconds: float = 3600.0
    retry_after: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no fault {self.kind!r}; known: {', '.join(KINDS)}")

    @classmethod
    def of(cls, entry: "Fault | str") -> "Fault":
        return cls(entry) if isinstance(entry, str) else entry


class FaultyServer:
    """Answers request number i as `schedule[i]` says, later ones by `rates` (kind → share), else well.

    `slow_start` seconds long it answers 503, as a server that still loads its weights. `latency` is added to
    every answer. `stop()` and `start()` again is a restart on the same port. `seen` counts what was done.
    """

    def __init__(
        self,
        schedule: Iterable[Fault | str] = (),
        rates: Mapping[str | Fault, float] | None = None,
        answer: Callable[[str, Mapping[str, Any]], Any] = scripted_answer,
        latency: float = 0.0,
        slow_start: float = 0.0,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.port = port
        self.seen: Counter[str] = Counter()
        self.payloads: deque[Mapping[str, Any]] = deque(maxlen=1000)
        self.most_at_once = 0
        self._schedule = [Fault.of(entry) for entry in schedule]
        self._rates = [(Fault.of(entry), share) for entry, share in (rates or {}).items()]
        self._answer = answer
        self._latency = latency
        self._slow_start = slow_start
        self._random = random.Random(seed)
        self._count = 0
        self._at_once = 0
        self._opened = 0.0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halt: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> int:
        return self._count

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        ready = threading.Event()
        failure: list[BaseException] = []

        def work() -> None:
            try:
                asyncio.run(self.serve(ready.set))
            except BaseException as error:
                failure.append(error)
                ready.set()

        self._thread = threading.Thread(target=work, daemon=True, name="faulty-server")
        self._thread.start()
        if not ready.wait(60) or failure:
            raise RuntimeError(f"the faulty server did not start: {failure}")

    def stop(self) -> None:
        """As a killed server: connections are cut, nothing is finished."""
        if self._thread is None or self._loop is None or self._halt is None:
            return
        self._loop.call_soon_threadsafe(self._halt.set)
        self._thread.join(60)
        self._thread = None

    async def serve(self, ready: Callable[[], object]) -> None:
        """Serve until `stop()`; `ready` is called once the port is open."""
        self._loop, self._halt = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        server = site._server
        assert isinstance(server, asyncio.Server)
        self.port = server.sockets[0].getsockname()[1]
        self._opened = time.monotonic()
        try:
            ready()
            await self._halt.wait()
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            fault = self._next_fault()
            self.seen[fault.kind] += 1
            payload = json.loads(await request.read() or b"{}")
            self.payloads.append(payload)
            if self._latency:
                await asyncio.sleep(self._latency)
            return await self._misbehave(fault, request, payload)
        finally:
            self._at_once -= 1

    def _next_fault(self) -> Fault:
        if time.monotonic() - self._opened < self._slow_start:
            return Fault("unavailable")
        number, self._count = self._count, self._count + 1
        if number < len(self._schedule):
            return self._schedule[number]
        chance = self._random.random()
        for fault, share in self._rates:
            chance -= share
            if chance < 0:
                return fault
        return Fault()

    async def _misbehave(
        self, fault: Fault, request: web.Request, payload: Mapping[str, Any]
    ) -> web.StreamResponse:
        kind = fault.kind
        if kind == "stall":
            await asyncio.sleep(fault.seconds)
        if kind == "reset":
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if kind == "ignored-seed":
            payload = {**payload, "seed": 0, "seeds": [0] * len(payload.get("prompts", []))}
        body = _spoilt(kind, self._answer(request.path, payload))
        if kind == "truncated":
            return await _broken_off(request, body)
        return _error(fault, request) or web.Response(body=body, content_type="application/json")


def _spoilt(kind: str, answer: Any) -> bytes:
    if kind == "non-json":
        return b"<html><body>It works!</body></html>"
    if kind == "wrong-image" and "images" in answer:
        answer = {"images": [_NOT_AN_IMAGE for _ in answer["images"]]}
    elif kind == "wrong-image" and "data" in answer:
        answer = {"data": [{"b64_json": _NOT_AN_IMAGE}]}
    return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def _error(fault: Fault, request: web.Request) -> web.Response | None:
    replies = {
        "rate-limit": (429, "rate_limit_exceeded", "too many requests"),
        "error": (500, "server_error", "something broke"),
        "unavailable": (503, "loading", "still loading"),
        "refuse": (400, "content_policy_violation", "not this"),
        "invalid": (400, "invalid_request", "no such field"),
        "unauthorised": (401, "invalid_api_key", f"wrong key: {request.headers.get('Authorization', '')}"),
    }
    if fault.kind not in replies:
        return None
    status, code, message = replies[fault.kind]
    headers = {"Retry-After": fault.retry_after} if fault.retry_after is not None else {}
    return web.json_response({"error": {"code": code, "message": message}}, status=status, headers=headers)


async def _broken_off(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": str(len(body) + 1000)})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


def main(arguments: Sequence[str] | None = None) -> None:
    """A faulty server by itself; prints its address and serves until it is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rates", type=json.loads, default={}, help='such as {"error": 0.1}')
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--slow-start", type=float, default=0.0)
    options = parser.parse_args(arguments)
    server = FaultyServer(
        rates=options.rates, latency=options.latency, slow_start=options.slow_start, port=options.port
    )
    asyncio.run(server.serve(lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
