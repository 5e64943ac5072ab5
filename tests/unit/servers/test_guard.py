"""Odd and hostile requests get a 4xx in words; silent connections are cut. Real sockets on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web

from failscape.models.roles import Identity, Ranking, Reply
from failscape.pictures import Picture
from failscape.servers.app import build_app
from failscape.servers.backends import LONGEST_TEXT, RequestError, Served, check_length, read_conversation
from failscape.servers.running import GuardedRunner, Silent
from tests.unit.core.test_pictures_odd import bare_png


class Namer:
    """A classifier that looks at the size."""

    batch, parallel = 8, 1
    identity = Identity("classifier", "test", "namer")

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        return [Reply([(f"{image.image.size}", 1.0)]) for image in images]


@asynccontextmanager
async def serving(silent: Silent | None = None, host: str = "127.0.0.1") -> AsyncIterator[tuple[str, int]]:
    app = build_app(Served(classifiers={"namer": Namer()}))
    runner = GuardedRunner(app, host, silent, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}", port
    finally:
        await runner.cleanup()


async def ask(url: str, body: bytes, **headers: str) -> tuple[int, str]:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    sent = {"Content-Type": "application/json", **named}
    async with ClientSession(headers=sent) as session, session.post(f"{url}/v1/classify", data=body) as reply:
        return reply.status, await reply.text()


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        (json.dumps({"images": [], "model": {"name": "namer"}}).encode(), 404, "no classifier"),
        (json.dumps({"images": [], "model": ["namer"]}).encode(), 404, "no classifier"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not text"),
        (b"[]", 400, "JSON object"),
        (json.dumps({"images": [5]}).encode(), 400, "list of texts"),
        (json.dumps({"images": ["!"]}).encode(), 400, "base64"),
    ],
)
async def test_odd_requests_are_the_clients_fault(body: bytes, status: int, part: str) -> None:
    async with serving() as (url, _):
        got, text = await ask(url, body)
    assert (got, part in text) == (status, True), text


async def test_an_unknown_charset_is_said() -> None:
    async with serving() as (url, _):
        got, text = await ask(url, b"{}", Content_Type="application/json; charset=klingon")
    assert got == 415
    assert "klingon" in text


async def test_a_huge_picture_is_refused_before_it_is_decoded() -> None:
    huge = base64.b64encode(bare_png(13_000, 13_000, pixels=b"\0")).decode()
    async with serving() as (url, _):
        got, text = await ask(url, json.dumps({"images": [huge]}).encode())
    assert got == 400
    assert "too large" in text


async def test_long_prompts_are_refused() -> None:
    check_length("a" * LONGEST_TEXT, "prompt")
    with pytest.raises(RequestError, match="characters") as caught:
        check_length("a" * (LONGEST_TEXT + 1), "prompt")
    assert caught.value.status == 413
    with pytest.raises(RequestError, match="characters"):
        read_conversation([{"role": "user", "content": "a" * (LONGEST_TEXT + 1)}])


@pytest.mark.parametrize(
    ("name", "status"),
    [("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost", 200), ("127.0.0.1:9", 200)],
)
async def test_a_server_on_loopback_answers_to_its_own_names(name: str, status: int) -> None:
    async with serving() as (url, _):
        got, _ = await ask(url, b'{"images": []}', Host=name)
    assert got == status


async def test_a_server_for_others_answers_to_any_name() -> None:
    async with serving(host="0.0.0.0") as (url, _):
        got, _ = await ask(url, b'{"images": []}', Host="gpu1.lab.org")
    assert got == 200


async def test_connections_that_ask_nothing_are_cut() -> None:
    async with serving(Silent(seconds=1.0)) as (url, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/classify HTTP/1.1\r\nHost: local")  # a header without end
        await writer.drain()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1), 120)
        assert (await ask(url, b'{"images": []}'))[0] == 200


async def test_of_too_many_silent_connections_the_oldest_goes() -> None:
    silent = Silent(seconds=60, most=3)
    async with serving(silent) as (url, port):
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, _ in opened[:2]:
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readexactly(1), 120)
        assert len(silent) == 3
        assert (await ask(url, b'{"images": []}'))[0] == 200, "who asks is served"
        for _, writer in opened:
            writer.close()
