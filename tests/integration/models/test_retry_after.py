"""A server that says 429 with `Retry-After: 0` for ever is not flooded."""

from __future__ import annotations

import asyncio

import pytest

from failscape.config import ModelConfig
from failscape.errors import ModelError
from failscape.models.providers import openai
from failscape.testing.faulty import Fault, FaultyServer


@pytest.mark.parametrize("asked", ["0", "0.0001"])
async def test_few_requests_are_sent_to_a_server_that_asks_for_no_pause(asked: str) -> None:
    with FaultyServer(rates={Fault("rate-limit", retry_after=asked): 1.0}) as server:
        config = ModelConfig(provider="openai", model="m", endpoints=(server.url,), patience=2)
        model = openai.create("generator", config)
        await model.start()
        try:
            asking = [model.generate(["p"], [number]) for number in range(64)]
            outcomes = await asyncio.gather(*asking, return_exceptions=True)
        finally:
            await model.close()
        assert all(isinstance(outcome, ModelError) for outcome in outcomes)
        # 16 at the start, then at most four a second while patience lasts.
        assert server.requests <= 16 + 16 + 4 * 4
