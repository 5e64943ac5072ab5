"""Micro-batching: items that wait together travel together, and one bad item spoils nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from failscape.errors import BadReply, ModelError, Permanent
from failscape.models.roles import Reply
from failscape.pictures import Picture
from failscape.runtime.walk import Stage, Team

from .fakes import FakeGenerator, FakeJudge, picture_of


async def test_items_are_gathered_into_batches() -> None:
    model = FakeGenerator(batch=8)
    stage = Stage("generator", model)
    replies = await asyncio.gather(*(stage.call(("a cat", seed)) for seed in range(20)))
    assert model.calls == [8, 8, 4]
    assert [reply.value.digest for reply in replies] == [picture_of("a cat", s).digest for s in range(20)]


async def test_what_a_model_in_this_process_takes_is_time() -> None:
    model = FakeGenerator(batch=4, wait=0.02)
    stage = Stage("generator", model)
    replies = await asyncio.gather(*(stage.call(("a cat", seed)) for seed in range(4)))
    assert sum(reply.usage.seconds for reply in replies) > 0.01
    assert len({reply.usage.seconds for reply in replies}) == 1, "a batch is shared out"
    assert [reply.usage.requests for reply in replies] == [1] * 4


async def test_a_model_that_takes_one_item_gets_calls_side_by_side() -> None:
    model = FakeGenerator(batch=1, wait=0.05)
    stage = Stage("generator", model)
    await asyncio.gather(*(stage.call(("a cat", seed)) for seed in range(50)))
    assert model.calls == [1] * 50
    assert model.most_at_once == 50


async def test_a_pool_of_servers_gets_several_batches_at_once() -> None:
    model = FakeGenerator(batch=4, wait=0.05)
    model.parallel = 5
    stage = Stage("generator", model)
    await asyncio.gather(*(stage.call(("a cat", seed)) for seed in range(20)))
    assert model.calls == [4] * 5
    assert model.most_at_once == 5


async def test_an_item_that_follows_the_last_one_at_once_is_not_forgotten() -> None:
    """It comes when the worker has looked for the last time but has not ended yet."""
    stage = Stage("generator", FakeGenerator(batch=4))
    async with asyncio.timeout(120):
        for seed in range(3):
            await stage.call(("a cat", seed))


async def test_what_is_shared_is_made_once() -> None:
    stage, made = Stage("generator", FakeGenerator()), []

    async def make() -> int:
        made.append(1)
        await asyncio.sleep(0)  # the others come meanwhile
        return len(made)

    assert sorted(await asyncio.gather(*(stage.once(b"k", make) for _ in range(5)))) == [
        *[(1, False)] * 4,
        (1, True),
    ]
    assert await stage.once(b"k", make) == (1, False)
    assert await stage.once(b"other", make) == (2, True)


async def test_what_is_shared_outlives_the_one_who_asked_first() -> None:
    stage = Stage("generator", FakeGenerator())
    may_end = asyncio.Event()

    async def make() -> str:
        await may_end.wait()
        return "made"

    first = asyncio.create_task(stage.once(b"k", make))
    await asyncio.sleep(0)
    second = asyncio.create_task(stage.once(b"k", make))
    await asyncio.sleep(0)
    first.cancel()
    may_end.set()
    assert await second == ("made", True), "it is the first to get it"


async def test_what_fails_is_tried_anew_by_the_next() -> None:
    stage, errors = Stage("generator", FakeGenerator()), [ModelError("down")]

    async def make() -> str:
        if errors:
            raise errors.pop()
        return "made"

    with pytest.raises(ModelError):
        await stage.once(b"k", make)
    assert await stage.once(b"k", make) == ("made", True)


class Picky(FakeGenerator):
    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        if 3 in seeds:
            raise BadReply("not a picture")
        return await super().generate(prompts, seeds)


async def test_one_bad_item_does_not_spoil_its_batch() -> None:
    stage = Stage("generator", Picky(batch=8))
    results = await asyncio.gather(*(stage.call(("x", s)) for s in range(8)), return_exceptions=True)
    assert [isinstance(result, BadReply) for result in results] == [s == 3 for s in range(8)]


async def test_a_permanent_error_reaches_every_waiting_item() -> None:
    stage = Stage("generator", FakeGenerator(batch=8, errors=[Permanent("wrong key")]))
    results = await asyncio.gather(*(stage.call(("x", s)) for s in range(8)), return_exceptions=True)
    assert all(isinstance(result, Permanent) for result in results)


class Short(FakeGenerator):
    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return (await super().generate(prompts, seeds))[:-1]


async def test_a_missing_reply_is_noticed() -> None:
    with pytest.raises(BadReply, match="0 replies to 1 items"):
        await Stage("generator", Short()).call(("x", 1))


async def test_a_team_closes_what_it_started_and_names_a_missing_role() -> None:
    generator, judge = FakeGenerator(), FakeJudge()
    async with Team({"generator": generator, "judge": judge}) as team:
        assert generator.started
        assert judge.started
        with pytest.raises(ModelError, match="needs a captioner"):
            team.stage("captioner")
    assert generator.closed
    assert judge.closed
