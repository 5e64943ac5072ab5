"""Provider `http`: classifiers behind POST /v1/classify, on real sockets."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.providers.http import HttpClassifier
from failscape.models.registry import create_model
from failscape.models.transport.endpoints import Backoff
from failscape.testing.faulty import FaultyServer, scripted_answer
from failscape.testing.model_suite import plain_pictures

PICTURES = plain_pictures("red", "lime", "blue")
QUICK = Backoff(first=0.01, longest=0.05)


@asynccontextmanager
async def opened(server: FaultyServer, **settings: Any) -> AsyncIterator[HttpClassifier]:
    values: dict[str, Any] = {"model": "m", "endpoints": (server.url,), "timeout": 60.0, "patience": 60.0}
    model = HttpClassifier(ModelConfig(provider="http", **{**values, **settings}), QUICK)
    await model.start()
    try:
        yield model
    finally:
        await model.close()


def saying(*rows: Any) -> FaultyServer:
    """A server that gives these rows whatever it is shown."""
    return FaultyServer(answer=lambda path, payload: {"labels": list(rows)})


async def test_the_request_and_its_bill() -> None:
    with FaultyServer() as server:
        async with opened(server, params={"top": 5}, batch=2, price=0.5) as model:
            replies = await model.classify(PICTURES)
        first, second = server.payloads
    images = [base64.b64encode(picture.data).decode() for picture in PICTURES]
    assert first == {"images": images[:2], "model": "m", "top": 5}
    assert second["images"] == images[2:]
    assert [reply.usage.requests for reply in replies] == [1, 0, 1]
    assert [reply.usage.cost for reply in replies] == [0.25, 0.25, 0.5]


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/", "/v1/classify"])
async def test_the_address_may_have_any_of_these_endings(ending: str) -> None:
    paths: list[str] = []

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        paths.append(path)
        return scripted_answer(path, payload)

    with FaultyServer(answer=answer) as server:
        async with opened(server, endpoints=(server.url + ending,)) as model:
            await model.classify(PICTURES[:1])
    assert paths == ["/v1/classify"]


async def test_labels_are_ranked() -> None:
    with saying([["cat", 0], ["dog", 0.7], ["cow", 0.3]]) as server:
        async with opened(server) as model:
            (reply,) = await model.classify(PICTURES[:1])
    assert reply.value == [("dog", 0.7), ("cow", 0.3), ("cat", 0.0)]


@pytest.mark.parametrize(
    "row",
    [[], "cat", [["cat"]], [["cat", "high"]], [["cat", True]], [["cat", float("nan")]], [[1, 0.5]], None],
)
async def test_labels_out_of_form_make_the_reply_invalid(row: Any) -> None:
    with saying(row) as server:
        async with opened(server) as model:
            (reply,) = await model.classify(PICTURES[:1])
    assert reply.value is None
    assert reply.invalid
    assert reply.usage.requests == 3


async def test_a_wrong_number_of_rows_is_out_of_form() -> None:
    with saying([["cat", 1.0]], [["cat", 1.0]]) as server:
        async with opened(server) as model:
            (reply,) = await model.classify(PICTURES[:1])
    assert "1 images" in reply.invalid


async def test_one_refused_image_does_not_spoil_its_batch() -> None:
    with FaultyServer(["ok", "refuse", "ok", "refuse"]) as server:
        async with opened(server) as model:
            await model.classify(PICTURES[:1])
            replies = await model.classify(PICTURES)
    assert [reply.value is not None for reply in replies] == [True, False, True]


async def test_one_fault_costs_one_more_request() -> None:
    with FaultyServer(["error"]) as server:
        async with opened(server) as model:
            (reply,) = await model.classify(PICTURES[:1])
    assert reply.value is not None
    assert reply.usage.requests == 2


async def test_a_wrong_key_stops_at_once() -> None:
    with FaultyServer(["unauthorised"]) as server:
        async with opened(server) as model:
            with pytest.raises(Permanent):
                await model.classify(PICTURES[:1])


async def test_a_pool_shares_the_work() -> None:
    with FaultyServer() as one, FaultyServer() as other:
        async with opened(one, endpoints=(one.url, other.url), batch=1) as model:
            assert model.parallel == 64
            replies = await model.classify(PICTURES * 2)
            assert sum(stats.requests for stats in model.stats()) == 6
        assert one.requests + other.requests == 6
    served = [reply.usage.endpoint for reply in replies]
    shares = [sum(base.startswith(url) for base in served) for url in (one.url, other.url)]
    assert shares == [one.requests, other.requests]


async def test_large_images_are_shrunk_before_upload() -> None:
    with FaultyServer() as server:
        async with opened(server, image_max_side=16) as model:
            await model.classify(PICTURES[:1])
            assert model.identity.settings["image_max_side"] == 16
        sent = server.payloads[0]["images"][0]
    assert base64.b64decode(sent) == PICTURES[0].shrunk(16).data


def test_it_is_a_classifier_only() -> None:
    with pytest.raises(ConfigError, match="http cannot play the role judge"):
        create_model("judge", ModelConfig(provider="http", endpoints=("http://h",)))
