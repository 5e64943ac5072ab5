"""The batcher: what shares a batch, what is refused, what happens when memory runs out or a client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from failscape.pictures import Picture
from failscape.servers.backends import ImageBackend, RequestError
from failscape.servers.images import Batcher, Busy


class Recorder(ImageBackend):
    """Draws when it is let; remembers what was drawn together."""

    batch = 4

    def __init__(self, room: int = 100, broken: bool = False) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []
        self.room = room
        self.broken = broken

    def draw(self, prompts: Sequence[str], seeds: Sequence[int], settings: Any) -> list[Any]:
        self.calls.append((list(prompts), dict(settings)))
        if self.broken:
            raise ValueError("the network is broken")
        if len(prompts) > self.room:
            raise RuntimeError("CUDA out of memory")
        return [
            RequestError("blacked out") if prompt == "bad" else Picture(f"{prompt}/{seed}".encode())
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]


@asynccontextmanager
async def running(backend: ImageBackend, queue: int = 100) -> AsyncIterator[Batcher]:
    batcher = Batcher(backend, queue, linger=0.01)
    await backend.start()
    batcher.start()
    try:
        yield batcher
    finally:
        await batcher.close()
        await backend.close()


async def test_only_equal_settings_share_a_batch_and_order_is_kept() -> None:
    backend = Recorder()
    async with running(backend) as batcher:
        small, large = {"width": 64}, {"width": 128}
        asked = [batcher.submit([name], [1], small if name in "ace" else large) for name in "abcde"]
        pictures = [row[0].data for row in await asyncio.gather(*asked)]
    assert pictures == [f"{name}/1".encode() for name in "abcde"]
    assert backend.calls == [(["a", "c", "e"], {"width": 64}), (["b", "d"], {"width": 128})]
    assert (batcher.counts.pictures, batcher.counts.batches) == (5, 2)


async def test_a_full_queue_refuses_with_a_time_to_come_back() -> None:
    async with running(Recorder(), queue=3) as batcher:
        batcher._pace = 2.0
        first = asyncio.create_task(batcher.submit(["a"] * 3, [1, 2, 3], {}))
        await asyncio.sleep(0)
        with pytest.raises(Busy) as busy:
            await batcher.submit(["b"], [1], {})
        assert busy.value.retry_after == 6
        assert len(await first) == 3
        with pytest.raises(RequestError, match="9 pictures are asked for at once, at most 3 are") as never:
            await batcher.submit(["c"] * 9, list(range(9)), {})
        assert never.value.status == 413, "it would never fit: to come back is no use"
    assert batcher.counts.refused == 2


async def test_memory_that_runs_out_halves_the_batch_for_good() -> None:
    backend = Recorder(room=1)
    async with running(backend) as batcher:
        assert len(await batcher.submit(["a", "b", "c", "d"], [1, 2, 3, 4], {})) == 4
        assert [len(prompts) for prompts, _ in backend.calls] == [4, 2, 1, 1, 1, 1]
        await batcher.submit(["a", "b"], [1, 2], {})
    assert [len(prompts) for prompts, _ in backend.calls[6:]] == [1, 1]
    assert (backend.limit.most, backend.limit.halved) == (1, 2)


async def test_one_refused_picture_spoils_only_its_request() -> None:
    async with running(Recorder()) as batcher:
        bad, good = await asyncio.gather(
            batcher.submit(["bad"], [1], {}), batcher.submit(["good"], [1], {}), return_exceptions=True
        )
    assert isinstance(bad, RequestError)
    assert isinstance(good, list)
    assert batcher.counts.failed == 1


async def test_an_error_of_the_model_reaches_everybody_and_the_server_goes_on() -> None:
    backend = Recorder(broken=True)
    async with running(backend) as batcher:
        with pytest.raises(ValueError, match="the network is broken"):
            await batcher.submit(["a"], [1], {})
        backend.broken = False
        assert await batcher.submit(["a"], [1], {})


async def test_what_nobody_waits_for_is_not_drawn() -> None:
    backend = Recorder()
    async with running(backend) as batcher:
        left = asyncio.create_task(batcher.submit(["left"], [1], {}))
        await asyncio.sleep(0)
        left.cancel()
        await batcher.submit(["stayed"], [1], {})
    assert backend.calls == [(["stayed"], {})]
