"""Requests for pictures are honoured in full or refused; the server says when it is not ready, and counts."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from PIL import Image

from failscape.pictures import Picture
from failscape.servers.app import build_app
from failscape.servers.backends import ImageBackend, Served


class Painter(ImageBackend):
    """Takes size, steps and a negative prompt, but no guidance. Its colour is the seed."""

    name = "painter"
    batch = 4
    fields = frozenset(("width", "height", "steps", "negative_prompt"))

    def __init__(self) -> None:
        self.may_load = threading.Event()
        self.seen: list[Any] = []

    def load(self) -> None:
        assert self.may_load.wait(120)

    def draw(self, prompts: Sequence[str], seeds: Sequence[int], settings: Any) -> list[Picture]:
        self.seen.append(dict(settings))
        size = (settings.get("width", 8), settings.get("height", 8))
        return [Picture.from_image(Image.new("RGB", size, (seed % 256, 0, 0))) for seed in seeds]


@asynccontextmanager
async def client(painter: Painter, ready: bool = True, **settings: Any) -> AsyncIterator[Any]:
    if ready:
        painter.may_load.set()
    app = build_app(Served(backend=painter, name=painter.name, **settings), wait=ready)
    async with TestClient(TestServer(app)) as found:
        yield found
        painter.may_load.set()


async def ask(browser: Any, path: str = "/v1/images/generations", **body: Any) -> tuple[int, Any]:
    reply = await browser.post(path, json=body)
    return reply.status, await reply.json()


def picture(item: dict[str, str]) -> Image.Image:
    return Picture(base64.b64decode(item["b64_json"])).image


async def test_what_is_asked_for_is_what_is_drawn() -> None:
    painter = Painter()
    async with client(painter) as browser:
        status, body = await ask(
            browser,
            model="painter",
            prompt="a cat",
            n=2,
            seed=7,
            size="32x16",
            num_inference_steps=3,
            negative_prompt="dog",
            user="me",
        )
        assert status == 200
        pictures = [picture(item) for item in body["data"]]
        assert [image.size for image in pictures] == [(32, 16)] * 2
        assert [image.getpixel((0, 0)) for image in pictures] == [(7, 0, 0), (8, 0, 0)]
        assert painter.seen == [{"width": 32, "height": 16, "steps": 3, "negative_prompt": "dog"}]
        status, body = await ask(browser, "/generate", prompts=["a", "b"], seeds=[1, 2], steps=5)
        assert (status, len(body["images"])) == (200, 2)
        assert painter.seen[-1] == {"steps": 5}


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"model": "nope"}, 404, "only: painter"),
        ({"guidance_scale": 3}, 400, "leave `guidance` out"),
        ({"quality": "hd"}, 400, "`quality` is not supported"),
        ({"size": "large"}, 400, '"512x512"'),
        ({"size": "99999x8"}, 400, "from 1 to 4096"),
        ({"width": 64}, 400, "belong together"),
        ({"steps": 0}, 400, "whole number from 1"),
        ({"steps": "many"}, 400, "must be a number"),
        ({"n": 65}, 400, "from 1 to 64"),
        ({"seed": -1}, 400, "seed must be"),
        ({"seed": "x"}, 400, "seed must be"),
        ({"response_format": "png"}, 400, "b64_json or url"),
        ({"prompt": ""}, 400, "non-empty"),
        ({"negative_prompt": 3}, 400, "must be a text"),
    ],
)
async def test_what_cannot_be_honoured_is_refused(body: dict[str, Any], status: int, told: str) -> None:
    painter = Painter()
    async with client(painter) as browser:
        got, reply = await ask(browser, **{"prompt": "a cat", **body})
    assert got == status
    assert told in reply["error"]["message"]
    assert painter.seen == []


async def test_pictures_by_address() -> None:
    async with client(Painter()) as browser:
        _, body = await ask(browser, prompt="a cat", seed=9, response_format="url")
        url = body["data"][0]["url"]
        reply = await browser.get(url[url.index("/files/") :])
        assert reply.content_type == "image/png"
        assert Picture(await reply.read()).image.getpixel((0, 0)) == (9, 0, 0)
        assert (await browser.get("/files/gone.png")).status == 404


async def test_a_server_that_loads_says_so() -> None:
    painter = Painter()
    async with client(painter, ready=False) as browser:
        assert (await browser.get("/health")).status == 503
        reply = await browser.post("/v1/images/generations", json={"prompt": "a cat"})
        assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
        assert (await browser.get("/metrics")).status == 200
        painter.may_load.set()
        for _ in range(12_000):
            if (await browser.get("/health")).status == 200:
                break
            await asyncio.sleep(0.01)
        assert (await ask(browser, prompt="a cat"))[0] == 200


async def test_a_burst_is_drawn_in_batches_and_counted() -> None:
    painter = Painter()
    async with client(painter, linger=1.0) as browser:
        replies = await asyncio.gather(*(ask(browser, prompt="a cat", seed=n) for n in range(8)))
        assert all(status == 200 for status, _ in replies)
        assert len(painter.seen) <= 4
        page = await (await browser.get("/metrics")).text()
    assert "failscape_pictures_total 8" in page
    assert 'failscape_requests_total{path="/v1/images/generations",status="200"} 8' in page
    assert "failscape_batch_limit 4" in page


async def test_a_full_queue_answers_429() -> None:
    painter = Painter()
    async with client(painter, queue=1, linger=1.0) as browser:
        replies = await asyncio.gather(
            *(browser.post("/v1/images/generations", json={"prompt": "a"}) for _ in range(6))
        )
    statuses = sorted(reply.status for reply in replies)
    assert statuses[0] == 200
    assert statuses[-1] == 429
    refused = next(reply for reply in replies if reply.status == 429)
    assert int(refused.headers["Retry-After"]) >= 1
