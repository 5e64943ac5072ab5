"""Pictures behind addresses that a reply names: only where we may go, and never without end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from aiohttp import web

from failscape.models.providers import openai
from failscape.models.transport.http import _fits, _is_link_local
from failscape.testing.faulty import FaultyServer, scripted_picture
from tests.integration.models.started import opened

PICTURE = scripted_picture("far", 1)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextmanager
def standing_in(handle: Handler) -> Iterator[tuple[str, list[web.Request]]]:
    """Another host: a server on a port of its own. Gives its address and the requests it got."""
    seen: list[web.Request] = []
    address: list[str] = []
    ready, halt = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def noting(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        return await handle(request)

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        app = web.Application()
        app.router.add_get("/{path:.*}", noting)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.append(f"127.0.0.1:{runner.addresses[0][1]}")
        ready.set()
        await halt.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(120)
    try:
        yield address[0], seen
    finally:
        loops[0].call_soon_threadsafe(halt.set)
        thread.join(120)


async def picture(request: web.Request) -> web.Response:
    return web.Response(body=PICTURE, content_type="image/png")


def names(url: str) -> FaultyServer:
    return FaultyServer(answer=lambda path, payload: {"data": [{"url": url}]})


async def test_another_host_is_not_asked_unless_it_is_named() -> None:
    with standing_in(picture) as (host, seen), names(f"http://{host}/1.png") as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [5])
        assert reply.value is None
        assert "another host" in reply.invalid
        assert not seen
        async with opened(openai, "generator", server, image_hosts=(host,)) as model:
            (reply,) = await model.generate(["a"], [5])
        assert reply.value.data == PICTURE


async def test_a_private_host_may_be_named_without_its_port() -> None:
    with standing_in(picture) as (host, _), names(f"http://{host}/1.png") as server:
        async with opened(openai, "generator", server, image_hosts=("127.0.0.1",)) as model:
            (reply,) = await model.generate(["a"], [5])
    assert reply.value.data == PICTURE


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/meta-data", "http://[fe80::1]/", "http://[::ffff:169.254.1.1]/a.png"],
)
async def test_link_local_addresses_are_never_asked(url: str) -> None:
    with names(url) as server:
        hosts = ("169.254.169.254", "fe80::1", "[fe80::1]", "::ffff:169.254.1.1", "*")
        async with opened(openai, "generator", server, image_hosts=hosts) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [5]), 120)
    assert "link-local" in reply.invalid


async def test_redirects_are_checked_again() -> None:
    async def elsewhere(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("http://169.254.169.254/secret")

    with standing_in(elsewhere) as (host, _), names(f"http://{host}/1.png") as server:
        async with opened(openai, "generator", server, image_hosts=(host,)) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [5]), 120)
    assert "link-local" in reply.invalid


async def test_a_redirect_to_a_named_host_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "very-secret")
    with standing_in(picture) as (second, got_second):

        async def moved(request: web.Request) -> web.StreamResponse:
            raise web.HTTPFound(f"http://{second}/2.png")

        with standing_in(moved) as (first, got_first), names(f"http://{first}/1.png") as server:
            settings = {"image_hosts": (first, second), "api_key_env": "SOME_KEY"}
            async with opened(openai, "generator", server, **settings) as model:
                (reply,) = await model.generate(["a"], [5])
    assert reply.value.data == PICTURE
    assert not any("Authorization" in request.headers for request in [*got_first, *got_second])


async def test_redirects_in_a_circle_end() -> None:
    async def again(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/1.png")

    with standing_in(again) as (host, seen), names(f"http://{host}/1.png") as server:
        async with opened(openai, "generator", server, image_hosts=(host,)) as model:
            (reply,) = await model.generate(["a"], [5])
    assert "redirects" in reply.invalid
    assert len(seen) <= 6


async def endless(request: web.Request) -> web.StreamResponse:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"\0" * 65536

    return web.Response(body=body())


async def test_an_endless_body_is_given_up() -> None:
    with standing_in(endless) as (host, _), names(f"http://{host}/1.png") as server:
        settings = {"image_hosts": (host,), "image_max_bytes": 200_000}
        async with opened(openai, "generator", server, **settings) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [5]), 120)
    assert "more than 200,000 bytes" in reply.invalid


async def test_an_endless_reply_of_an_endpoint_is_given_up() -> None:
    async def posted(request: web.Request) -> web.StreamResponse:
        return await endless(request)

    app = web.Application(client_max_size=2**20)
    app.router.add_post("/{path:.*}", posted)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with FaultyServer() as unused:
            address = f"http://127.0.0.1:{runner.addresses[0][1]}"
            settings = {"endpoints": (address,), "image_max_bytes": 1024}
            async with opened(openai, "generator", unused, **settings) as model:
                (reply,) = await asyncio.wait_for(model.generate(["a"], [5]), 120)
    finally:
        await runner.cleanup()
    assert "sends more than" in reply.invalid


def test_patterns_of_hosts() -> None:
    assert _fits("cdn.lab.org", 443, "cdn.lab.org")
    assert _fits("a.lab.org", 443, "*.lab.org")
    assert not _fits("lab.org.evil.net", 443, "*.lab.org")
    assert not _fits("evillab.org", 443, "*.lab.org")
    assert _fits("10.0.0.7", 8080, "10.0.0.7:8080")
    assert not _fits("10.0.0.7", 8081, "10.0.0.7:8080")
    assert _is_link_local("169.254.0.1")
    assert not _is_link_local("10.0.0.7")
