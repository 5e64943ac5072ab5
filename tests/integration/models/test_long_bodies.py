"""Bodies of megabytes over a real connection: whole in both directions, cut short they are a fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from failscape.errors import BadReply
from failscape.models.transport.http import LargeBody, read_pieces

LENGTHS = (1 << 16, 300_001, 5_000_000)


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
