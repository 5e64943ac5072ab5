"""Who is let in: token, host, origin; what a page may do."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer

from failscape.views.viewer.server import TOKEN, Guard, build_app


@pytest.fixture
async def stranger(library):
    guard = Guard()
    async with TestClient(TestServer(build_app(library, guard))) as browser:
        browser.guard = guard
        yield browser


async def test_nothing_is_shown_without_the_token(stranger) -> None:
    for path in ("/", "/api/library", "/static/style.css", "/api/news", "/pictures/atlas/" + "0" * 32):
        assert (await stranger.get(path)).status == 403, path
    assert (await stranger.get("/", params={TOKEN: "wrong"})).status == 403


async def test_the_token_opens_once_and_leaves_the_address(stranger) -> None:
    reply = await stranger.get(
        "/atlas/1/findings", params={TOKEN: stranger.guard.token, "text": "red"}, allow_redirects=False
    )
    assert reply.status == 303
    assert reply.headers["Location"] == "/atlas/1/findings?text=red"
    cookie = reply.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert (await stranger.get("/api/library")).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8317",
        "127.0.0.1.evil.example",
        "192.168.1.4",
        "",
        "localhost.evil",
        "[::1",
    ],
)
async def test_other_names_are_refused_even_with_the_token(client, host) -> None:
    assert (await client.get("/api/library", headers={"Host": host})).status == 403


@pytest.mark.parametrize("host", ["localhost:99", "127.0.0.1", "[::1]:4", "127.0.0.2:80"])
def test_loopback_is_known_by_all_its_names(host) -> None:
    assert Guard().knows_host(host)


def test_beyond_this_machine_numbers_are_allowed_and_names_are_not() -> None:
    guard = Guard(any_address=True)
    assert guard.knows_host("192.168.1.4:8317")
    assert not guard.knows_host("evil.example")


async def test_other_sites_are_refused(client) -> None:
    for origin in ("http://evil.example", "null", "https://127.0.0.1:1", "http://[x"):
        assert (await client.get("/api/library", headers={"Origin": origin})).status == 403, origin


async def test_only_the_page_itself_may_post(client) -> None:
    own = f"http://{client.host}:{client.port}"
    plain = {"Content-Type": "text/plain", "Origin": own}
    assert (await client.post("/api/library", data="{}", headers=plain)).status == 403
    assert (await client.post("/api/library", json={})).status == 403, "no origin"
    assert (await client.post("/api/library", json={}, headers={"Origin": own})).status == 405
    assert (await client.delete("/api/library", headers={"Origin": own})).status == 403


async def test_every_answer_forbids_what_is_inline_and_foreign(client) -> None:
    for path in ("/", "/api/library", "/static/js/app.js", "/nowhere"):
        headers = (await client.get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_tokens_differ() -> None:
    assert Guard().token != Guard().token
    assert len(Guard().token) >= 32


async def test_a_number_beyond_all_is_one_error(client) -> None:
    reply = await client.get("/api/atlas/1/trial", params={"id": "9" * 20})
    assert "not understood" in (await reply.json())["error"]
