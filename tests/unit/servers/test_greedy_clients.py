"""Clients that ask for too much, leave, dawdle or are pages of other sites: others must not notice them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from failscape.pictures import Picture
from failscape.servers.app import build_app
from failscape.servers.backends import ImageBackend, Served
from failscape.servers.running import GuardedRunner
from failscape.testing.faulty import scripted_picture


class Slow(ImageBackend):
    """Draws one picture in a hundredth of a second, and remembers how many it drew."""

    name = "slow"

    def __init__(self) -> None:
        self.drawn = 0
        self.began = threading.Event()

    def draw(self, prompts: Sequence[str], seeds: Sequence[int], settings: Any) -> list[Any]:
        self.began.set()
        time.sleep(0.01)
        self.drawn += len(prompts)
        return [Picture(scripted_picture(*row)) for row in zip(prompts, seeds, strict=True)]


@asynccontextmanager
async def serving(backend: ImageBackend, **more: Any) -> AsyncIterator[str]:
    runner = GuardedRunner(build_app(Served(backend=backend, **more)), "127.0.0.1", cancel=True)
    await runner.setup()
    try:
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("count", [513, 100_000])
async def test_more_prompts_than_the_queue_holds_are_refused_at_once(count: int) -> None:
    backend = Slow()
    async with serving(backend) as url, aiohttp.ClientSession() as session:
        async with session.post(f"{url}/generate", json={"prompts": ["p"] * count}) as reply:
            assert reply.status == 413
        assert backend.drawn == 0


async def test_a_client_that_left_holds_nobody_up() -> None:
    backend = Slow()
    async with serving(backend) as url, aiohttp.ClientSession() as session:
        leaving = asyncio.create_task(session.post(f"{url}/generate", json={"prompts": ["p"] * 500}))
        assert await asyncio.to_thread(backend.began.wait, 120)
        leaving.cancel()
        async with session.post(f"{url}/generate", json={"prompts": ["mine"] * 50}) as reply:
            assert reply.status == 200
        assert backend.drawn < 500, "those of the one that left are not drawn"


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with serving(Slow(), body_seconds=0.3) as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = "POST /generate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: 58000000\r\n\r\n{{".encode())
        assert await asyncio.wait_for(reader.read(), 120) == b""
        writer.close()


async def until_status(session: aiohttp.ClientSession, url: str, body: Any, status: int) -> None:
    """Ask until the server has noticed what another client did."""
    async with asyncio.timeout(120):
        while True:
            async with session.post(url, json=body) as reply:
                if reply.status == status:
                    return


async def test_bodies_that_are_being_received_have_a_bound_together() -> None:
    async with serving(Slow(), bodies_at_once=100_000, body_seconds=600) as url:
        port = int(url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = "POST /generate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: 90000\r\n\r\n{{".encode())
        await writer.drain()
        async with aiohttp.ClientSession() as session:
            long = {"prompts": ["p" * 15_000]}
            await until_status(session, f"{url}/generate", long, 503)
            async with session.post(f"{url}/generate", json={"prompts": ["p"]}) as reply:
                assert reply.status == 200
            writer.close()
            await until_status(session, f"{url}/generate", long, 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({}, 200),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
async def test_pages_of_other_sites_cannot_use_the_models(headers: dict[str, str], status: int) -> None:
    backend = Slow()
    async with serving(backend) as url, aiohttp.ClientSession() as session:
        sent = {"Content-Type": "application/json", **headers}
        body = json.dumps({"prompts": ["p"]}).encode()
        async with session.post(f"{url}/generate", data=body, headers=sent) as reply:
            assert reply.status == status
            assert "Access-Control-Allow-Origin" not in reply.headers
        assert backend.drawn == (status == 200)
