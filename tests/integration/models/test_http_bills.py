"""What a call cost: every request is counted, and every one that the server answered is paid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from failscape.models.providers import http, openai
from failscape.models.roles import Reply, Usage
from failscape.testing.faulty import Fault, FaultyServer, scripted_answer
from tests.integration.models.started import CAT, PICTURE, opened, says


def total(replies: list[Reply[Any]]) -> tuple[int, float]:
    return sum(reply.usage.requests for reply in replies), sum(reply.usage.cost for reply in replies)


@pytest.mark.parametrize(
    ("faults", "requests", "cost"),
    [
        (["non-json"] * 3, 3, 3.0),  # out of form, but answered
        (["wrong-image"] * 2, 3, 3.0),
        (["truncated"] * 3, 3, 3.0),
        (["error", "non-json", "error"], 4, 2.0),  # a 500 is no answer
        (["rate-limit"], 2, 1.0),
        (["refuse"], 1, 0.0),  # nor is a 400
    ],
)
async def test_answered_requests_are_paid(faults: list[Fault | str], requests: int, cost: float) -> None:
    with FaultyServer(faults) as server:
        async with opened(openai, "generator", server, price=1.0) as model:
            replies = await model.generate(["a"], [1])
    assert total(replies) == (requests, cost)


async def test_an_image_that_cannot_be_fetched_was_paid_for() -> None:
    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        return b"no picture" if path.endswith(".png") else {"data": [{"url": "/files/1.png"}]}

    with FaultyServer(answer=answer) as server:
        async with opened(openai, "generator", server, price=1.0) as model:
            (reply,) = await model.generate(["a"], [1])
    assert reply.value is None
    assert (reply.usage.requests, reply.usage.cost) == (1, 1.0)


def bad_in_batches(path: str, payload: Mapping[str, Any]) -> Any:
    """Out of form for more than one item a request."""
    items = payload.get("prompts") or payload.get("images") or payload.get("input")
    return {} if len(items) > 1 else scripted_answer(path, payload)


@pytest.mark.parametrize(
    ("provider", "role", "arguments"),
    [
        (http, "generator", (["a", "b"], [1, 2])),
        (http, "classifier", ([PICTURE, PICTURE],)),
        (openai, "embedder", (["a", "b"],)),
    ],
)
async def test_a_batch_that_failed_is_on_the_bill(provider: Any, role: str, arguments: Any) -> None:
    methods = {"generator": "generate", "classifier": "classify", "embedder": "embed"}
    with FaultyServer(answer=bad_in_batches) as server:
        async with opened(provider, role, server, batch=2, price=1.0) as model:
            replies = await getattr(model, methods[role])(*arguments)
    assert all(reply.value is not None for reply in replies)
    assert server.requests == 3 + 2  # three tries together, then one each
    assert total(replies) == (5, 5.0)


async def test_an_embedder_shares_one_bill() -> None:
    with FaultyServer() as server:
        async with opened(openai, "embedder", server, price=1.0) as model:
            replies = await model.embed(["a", "b"])
    assert total(replies) == (1, 1.0)


async def test_a_judge_out_of_form_twice_is_paid_twice() -> None:
    with FaultyServer(answer=says("I think so")) as server:
        async with opened(openai, "judge", server, price=1.0) as model:
            replies = await model.judge([PICTURE], [[CAT]])
    assert total(replies) == (2, 2.0)


def test_usage_adds_up() -> None:
    assert Usage(1, 2.0, 3, 4, 5.0) + Usage(10, 20.0, 30, 40, 50.0) == Usage(11, 22.0, 33, 44, 55.0)
