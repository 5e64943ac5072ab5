"""HTTP providers and servers that misbehave, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.errors import Permanent, Transient
from failscape.models.providers import http, openai
from failscape.testing.faulty import Fault, FaultyServer, scripted_picture
from tests.integration.models.started import QUICK, opened


@pytest.mark.parametrize("provider", [openai, http])
@pytest.mark.parametrize(
    "fault",
    ["rate-limit", Fault("rate-limit", retry_after="0.05"), "error", "truncated", "non-json", "wrong-image",
     "reset", "unavailable"],
)  # fmt: skip
async def test_one_fault_costs_one_more_request(provider: Any, fault: Fault | str) -> None:
    with FaultyServer([fault]) as server:
        async with opened(provider, "generator", server) as model:
            (reply,) = await model.generate(["a cat"], [7])
    assert reply.value.data == scripted_picture("a cat", 7)
    assert reply.usage.requests == 2


@pytest.mark.parametrize("kind", ["truncated", "non-json", "wrong-image"])
async def test_bad_replies_in_a_row_make_the_reply_invalid(kind: str) -> None:
    with FaultyServer([kind] * 3) as server:
        async with opened(openai, "generator", server) as model:
            bad, good = await model.generate(["a", "b"], [1, 2])
    assert bad.value is None
    assert bad.invalid
    assert bad.usage.requests == 3
    assert good.value is not None


async def test_a_stall_is_cut_by_the_time_out() -> None:
    with FaultyServer([Fault("stall", seconds=300)]) as server:
        async with opened(openai, "generator", server, timeout=3.0) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [1]), 120)
            assert model.stats()[0].transient == 1
    assert reply.usage.requests == 2


async def test_a_refusal_is_invalid_and_not_retried() -> None:
    with FaultyServer(["refuse"]) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await model.generate(["a"], [1])
    assert reply.value is None
    assert "not this" in reply.invalid
    assert reply.usage.requests == 1


async def test_wrong_settings_stop_at_once_with_the_servers_words() -> None:
    with FaultyServer(["invalid"]) as server:
        async with opened(openai, "generator", server) as model:
            with pytest.raises(Permanent, match="no such field") as caught:
                await model.generate(["a"], [1])
    assert server.url in str(caught.value)


async def test_a_wrong_key_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with FaultyServer(["unauthorised"]) as server:
        async with opened(openai, "generator", server, api_key_env="MY_KEY") as model:
            with pytest.raises(Permanent) as caught:
                await model.generate(["a"], [1])
            shown = f"{caught.value!s} {caught.value!r} {model!r} {model.identity} {vars(model.pool)}"
    assert "sk-very-secret" not in shown
    assert "api_key_env" in str(caught.value)


async def test_a_restarted_server_just_continues() -> None:
    server = FaultyServer()
    server.start()
    async with opened(openai, "generator", server, patience=120.0) as model:
        await model.generate(["a"], [0])
        server.stop()
        running = asyncio.gather(*(model.generate([f"p{i}"], [i]) for i in range(12)))
        async with asyncio.timeout(120):
            while model.stats()[0].state != "ejected":  # noqa: ASYNC110 - it gives no other sign
                await asyncio.sleep(0.01)
        await asyncio.to_thread(server.start)
        replies = await asyncio.wait_for(running, 120)
    server.stop()
    assert all(reply.value is not None for (reply,) in replies)


async def test_a_server_that_still_loads_is_waited_for() -> None:
    with FaultyServer(slow_start=0.5) as server:
        async with opened(openai, "generator", server) as model:
            (reply,) = await asyncio.wait_for(model.generate(["a"], [0]), 120)
    assert reply.value is not None


async def test_patience_runs_out() -> None:
    config = ModelConfig(provider="openai", model="m", endpoints=("http://127.0.0.1:9",), patience=0.3)
    model = openai.create("generator", config, QUICK)
    await model.start()
    with pytest.raises(Transient, match=r"127\.0\.0\.1:9"):
        await asyncio.wait_for(model.generate(["a"], [0]), 120)  # type: ignore[attr-defined]
    await model.close()


async def test_everything_arrives_through_a_storm_of_faults() -> None:
    rates: dict[str | Fault, float] = {
        "rate-limit": 0.1, "error": 0.1, "truncated": 0.03, "reset": 0.05, "non-json": 0.03,
    }  # fmt: skip
    with FaultyServer(rates=rates, seed=3) as server, FaultyServer(rates={"error": 0.2}) as other:
        both = (server.url, other.url)
        async with opened(openai, "generator", server, endpoints=both, patience=120.0) as model:
            replies = await asyncio.wait_for(
                asyncio.gather(*(model.generate([f"p{i}"], [i]) for i in range(200))), 120
            )
            used = [stats.ok for stats in model.stats()]
            attempts = model.pool.requests
    got = [reply for (reply,) in replies if reply.value is not None]
    assert all(reply.value.data == scripted_picture(f"p{i}", i) for i, (reply,) in enumerate(replies)
               if reply.value is not None)  # fmt: skip
    assert len(got) >= 198  # three bad replies in a row are rare
    assert min(used) > 0
    assert sum(reply.usage.requests for (reply,) in replies) == attempts


async def test_concurrency_is_bounded_and_grows_to_the_bound() -> None:
    """An answer takes longer than it takes to send as many requests as may be on their way."""
    with FaultyServer(latency=0.5) as server:
        async with opened(openai, "generator", server, concurrency=24) as model:
            await asyncio.gather(*(model.generate(["p"], [i]) for i in range(100)))
    assert 20 <= server.most_at_once <= 24
