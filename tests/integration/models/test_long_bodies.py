"""Bodies of megabytes over a real connection: whole in both directions, cut short they are a fault."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import tracemalloc
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from failscape.config import ModelConfig
from failscape.errors import BadReply
from failscape.models.providers import openai
from failscape.models.transport.bodies import BodyRoom, read_body
from failscape.models.transport.endpoints import Backoff
from failscape.models.transport.http import REPLY_ROOM, LargeBody
from failscape.pictures import Picture
from failscape.testing.faulty import chat_reply, scripted_picture
from failscape.trials import Check

LENGTHS = (1 << 16, 300_001, 5_000_000)


async def read_pieces(reply: aiohttp.ClientResponse, most: int) -> list[bytes]:
    body = await read_body(reply, most)
    body.close()
    return body.pieces


@pytest.fixture
async def echo() -> AsyncIterator[str]:
    """`/` gives back what it got, `/chunked` in chunks. `/cut` promises twice as much."""

    async def whole(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), headers={"X-Kind": request.headers["Content-Type"]})

    async def cut(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        reply = web.StreamResponse(headers={"Content-Length": str(2 * len(body))})
        await reply.prepare(request)
        await reply.write(body)
        assert request.transport is not None
        request.transport.close()
        return reply

    async def chunked(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        reply = web.StreamResponse()
        await reply.prepare(request)
        for start in range(0, len(body), 10_000):
            await reply.write(body[start : start + 10_000])
            await asyncio.sleep(0)
        return reply

    app = web.Application(client_max_size=1 << 26)
    app.add_routes([web.post("/", whole), web.post("/cut", cut), web.post("/chunked", chunked)])
    async with TestServer(app) as server:
        yield str(server.make_url(""))


@pytest.mark.parametrize("length", LENGTHS)
async def test_long_bodies_arrive_as_they_were(echo: str, length: int) -> None:
    body = os.urandom(length)
    async with aiohttp.ClientSession() as session:
        for _ in range(2):  # the second over the connection of the first
            sent = session.post(echo, data=LargeBody(memoryview(body)), headers={"Content-Type": "a/b"})
            async with sent as reply:
                assert b"".join(await read_pieces(reply, length)) == body
                assert reply.headers["X-Kind"] == "a/b"


async def test_chunked_bodies_arrive_whole_and_no_further_than_is_allowed(echo: str) -> None:
    body = os.urandom(300_001)
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{echo}/chunked", data=body) as reply:
            assert b"".join(await read_pieces(reply, len(body))) == body
        async with session.post(f"{echo}/chunked", data=body) as reply:
            with pytest.raises(BadReply, match="more than 200,000 bytes"):
                await read_pieces(reply, 200_000)


async def test_a_body_that_breaks_off_is_a_fault(echo: str) -> None:
    body = LargeBody(memoryview(bytes(200_000)))
    async with aiohttp.ClientSession() as session, session.post(f"{echo}/cut", data=body) as reply:
        with pytest.raises(aiohttp.ClientPayloadError):
            await read_pieces(reply, 1 << 20)


def packed(length: int, layers: int = 1) -> bytes:
    body = b"0" * length
    for _ in range(layers):
        body = gzip.compress(body)
    return body


@pytest.fixture
async def packing() -> AsyncIterator[str]:
    """All paths pack what was to be plain: `/v1` a reply, `/bomb` 400 MB, `/br` in another way."""

    async def chat(request: web.Request) -> web.Response:
        body = gzip.compress(json.dumps(chat_reply('{"answers": [true]}')).encode())
        return _packed(body, request)

    def _packed(body: bytes, request: web.Request, name: str = "gzip") -> web.Response:
        wanted.append(request.headers.get("Accept-Encoding", ""))
        return web.Response(body=body, headers={"Content-Encoding": name}, content_type="application/json")

    wanted: list[str] = []
    bomb = packed(400 << 20)

    async def explode(request: web.Request) -> web.Response:
        return _packed(bomb, request)

    async def brotli(request: web.Request) -> web.Response:
        return _packed(b"x", request, "br")

    app = web.Application()
    for path, handler in (("/v1", chat), ("/bomb", explode), ("/br", brotli)):
        app.router.add_post(f"{path}/chat/completions", handler)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")
    assert set(wanted) == {"identity"}


async def judged(base: str, count: int = 1) -> list[str]:
    config = ModelConfig(provider="openai", model="m", endpoints=(base,), patience=1, timeout=20)
    model = openai.create("judge", config, Backoff(0.01, 0.01))
    await model.start()
    try:
        picture, check = Picture(scripted_picture("p", 1)), Check("entity", "cat", "It is a cat.")
        asked = [model.judge([picture], [[check]]) for _ in range(count)]
        return [reply.invalid for (reply,) in await asyncio.gather(*asked)]
    finally:
        await model.close()


async def test_a_packed_reply_is_unpacked_although_it_was_asked_for_plain(packing: str) -> None:
    assert await judged(f"{packing}/v1") == [""]


async def test_a_small_body_that_unpacks_to_hundreds_of_megabytes_ends_at_its_bound(packing: str) -> None:
    tracemalloc.start()
    try:
        faults = await judged(f"{packing}/bomb", count=8)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(f"more than {REPLY_ROOM:,} bytes" in fault for fault in faults)
    assert peak < 80 * 2**20  # eight bodies of 4 MiB each, and what the pieces cost


async def test_a_packing_that_we_cannot_bound_is_a_bad_reply(packing: str) -> None:
    (fault,) = await judged(f"{packing}/br")
    assert "packs its reply (br)" in fault


async def test_all_bodies_together_have_a_bound_and_the_oldest_reads_on(echo: str) -> None:
    """Ten bodies of 1 MB through a room of 2 MB: all arrive, and never more than three are held."""
    room, most, body = BodyRoom(2_000_000), 0, os.urandom(1_000_000)

    async def fetch() -> None:
        nonlocal most
        async with session.post(f"{echo}/chunked", data=body) as reply:
            got = await read_body(reply, len(body), room)
            most = max(most, room.bytes)
            assert b"".join(got.pieces) == body
            await asyncio.sleep(0.01)
            got.close()

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(fetch() for _ in range(10)))
    assert room.bytes == 0
    assert most <= 3_000_000


async def test_the_body_of_an_error_is_read_from_its_start_only(echo: str) -> None:
    room = BodyRoom()
    async with aiohttp.ClientSession() as session, session.post(echo, data=b"0" * 5_000_000) as reply:
        body = await read_body(reply, 1000, room, cut=True)
        assert 1000 < sum(map(len, body.pieces)) < 2_000_000


def _endless(start: bytes, then: bytes, **headers: str) -> web.Application:
    """A server that sends `start`, and then `then` again and again for as long as anybody reads."""

    async def answer(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={**headers})
        await reply.prepare(request)
        await reply.write(start)
        while True:
            await reply.write(then)

    app = web.Application()
    app.router.add_get("/", answer)
    return app


@pytest.mark.parametrize(
    ("start", "then"),
    [
        (gzip.compress(b"[true]"), b"x" * 65_536),  # behind the end of what is packed
        (gzip.compress(b"")[:10], b"\0\0\0\xff\xff" * 10_000),  # blocks that unpack to nothing
    ],
    ids=["behind its end", "nothing"],
)
async def test_a_packed_body_without_an_end_is_given_up(start: bytes, then: bytes) -> None:
    app = _endless(start, then, **{"Content-Encoding": "gzip"})
    async with TestServer(app) as server, aiohttp.ClientSession(auto_decompress=False) as session:
        reply = await session.get(server.make_url("/"))
        with pytest.raises(BadReply, match=r"bytes follow its end|sends more than"):
            await asyncio.wait_for(read_body(reply, 1 << 20), 20)


async def test_a_body_letter_by_letter_takes_no_more_memory_than_its_bytes() -> None:
    length = 100_000

    async def answer(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        reply.enable_chunked_encoding()
        await reply.prepare(request)
        assert request.transport is not None
        request.transport.write(b"1\r\nx\r\n" * length)
        return reply

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app) as server, aiohttp.ClientSession(auto_decompress=False) as session:
        pieces = await read_pieces(await session.get(server.make_url("/")), length)

    assert b"".join(pieces) == b"x" * length
    assert len(pieces) < length / 100
