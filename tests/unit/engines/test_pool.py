"""The pool of replicas, with replicas that are no processes: who is called, who rests, when it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from failscape.engines.pool import Lost, ReplicaPool
from failscape.errors import BadReply, ConfigError, ModelError, Permanent


class Fake:
    """A replica that answers its own name. `down` is gone; `poison` ends it; `slow` never answers."""

    def __init__(self, name: str, down: bool = False) -> None:
        self.name = name
        self.down = down
        self.busy = self.most = self.calls = self.killed = 0
        self.asked_at: list[float] = []
        self.never: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def ready(self) -> None:
        self.asked_at.append(asyncio.get_running_loop().time())
        if self.never is not None:
            raise self.never
        if self.down:
            raise Lost("still gone")

    async def call(self, method: str, arguments: tuple[Any, ...]) -> str:
        self.calls += 1
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(0.001)
            await self.gate.wait()
            if arguments == ("slow",):
                await asyncio.sleep(100)
            if arguments == ("wrong",):
                raise BadReply("cannot do this one")
            if self.down or arguments == ("poison",):
                raise Lost("the actor died")
            return self.name
        finally:
            self.busy -= 1

    async def kill(self) -> None:
        self.killed += 1


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110 - any condition, without a sign of its own
            await asyncio.sleep(0.005)


@asynccontextmanager
async def pooled(*replicas: Fake, **settings: Any) -> AsyncIterator[ReplicaPool]:
    pool = ReplicaPool("judge", replicas, **{"first_wait": 0.01, "patience": 120.0, **settings})
    await pool.start()
    await until(lambda: pool.up == sum(not replica.down for replica in replicas))
    try:
        yield pool
    finally:
        await pool.close()


async def test_the_least_busy_is_next_and_nobody_gets_too_much() -> None:
    replicas = [Fake(str(number)) for number in range(4)]
    async with pooled(*replicas, per_replica=2) as pool:
        await asyncio.gather(*(pool.call("judge", number) for number in range(80)))
    assert [replica.most for replica in replicas] == [2, 2, 2, 2]
    assert all(15 <= replica.calls <= 25 for replica in replicas)
    assert pool.counts.calls == 80


async def test_a_lost_replica_rests_and_its_calls_go_elsewhere() -> None:
    good, bad = Fake("good"), Fake("bad")
    async with pooled(good, bad, per_replica=4) as pool:
        bad.down = True
        replies = await asyncio.gather(*(pool.call("judge", number) for number in range(20)))
        assert set(replies) == {"good"}
        assert (pool.counts.lost, pool.up) == (1, 1), "four calls failed, it was lost once"
        seen = bad.calls
        await asyncio.gather(*(pool.call("judge", number) for number in range(20)))
        assert bad.calls == seen, "it is left alone while it rests"
        bad.down = False
        await until(lambda: pool.up == 2)
        replies = await asyncio.gather(*(pool.call("judge", number) for number in range(4)))
        assert set(replies) == {"good", "bad"}


async def test_questions_whether_it_is_back_come_ever_later() -> None:
    good, bad = Fake("good"), Fake("bad", down=True)
    async with pooled(good, bad, first_wait=0.01):
        await until(lambda: len(bad.asked_at) >= 6)
    pauses = [later - earlier for earlier, later in pairwise(bad.asked_at[:6])]
    assert all(pause >= 0.009 * 2**number for number, pause in enumerate(pauses)), pauses


async def test_a_call_without_a_reply_ends_the_replica_and_is_made_elsewhere() -> None:
    stuck, good = Fake("stuck"), Fake("good")
    stuck.gate.clear()
    async with pooled(stuck, good, timeout=2.0) as pool:
        replies = await asyncio.gather(*(pool.call("judge", number) for number in range(4)))
        assert set(replies) == {"good"}
        assert stuck.killed == 1
        assert pool.counts.timeouts == 1


async def test_a_call_that_ends_every_replica_is_the_cause_itself() -> None:
    replicas = [Fake(str(number)) for number in range(3)]
    async with pooled(*replicas) as pool:
        poison = asyncio.create_task(pool.call("judge", "poison"))
        while not poison.done():
            await pool.call("judge", 1)
        with pytest.raises(BadReply, match=r"ended . replicas"):
            await poison


async def test_a_call_that_ends_every_replica_is_given_up_even_if_nothing_else_runs() -> None:
    async with pooled(Fake("one"), Fake("other"), first_wait=0.001) as pool:
        with pytest.raises(BadReply, match=r"ended . replicas"):
            await pool.call("judge", "poison")


async def test_what_the_model_says_is_not_a_loss() -> None:
    one = Fake("one")
    async with pooled(one) as pool:
        with pytest.raises(BadReply, match="cannot do this one"):
            await pool.call("judge", "wrong")
        assert await pool.call("judge", 1) == "one"
        assert pool.counts.lost == 0


async def test_all_gone_is_an_error_after_some_patience() -> None:
    one = Fake("one")
    async with pooled(one) as pool:
        one.down, pool.patience = True, 0.2
        with pytest.raises(ModelError, match=r"no replica of the judge has been up for 0\.2 s") as told:
            await pool.call("judge", 1)
        assert told.value.exit_code == 3
        with pytest.raises(ModelError):
            await pool.call("judge", 2)


async def test_all_gone_for_a_while_is_no_error() -> None:
    one = Fake("one")
    async with pooled(one) as pool:
        one.down = True
        looks = len(one.asked_at)
        waiting = asyncio.create_task(pool.call("judge", 1))
        await until(lambda: len(one.asked_at) >= looks + 2)  # it was looked for in vain
        one.down = False
        assert await waiting == "one"


async def test_a_replica_that_can_never_load_stops_the_run() -> None:
    one = Fake("one")
    one.never = ConfigError("no such weights")
    pool = ReplicaPool("judge", [one], patience=120.0)
    with pytest.raises(ConfigError, match="no such weights"):
        await pool.start()
    await pool.close()


async def test_another_model_on_one_replica_stops_the_run() -> None:
    good, other = Fake("good"), Fake("other", down=True)
    async with pooled(good, other) as pool:
        assert await pool.call("judge", 1) == "good"
        other.never = Permanent("is another model than the first")
        await until(lambda: pool._error is not None)
        with pytest.raises(Permanent):
            await pool.call("judge", 2)


async def test_a_call_that_is_given_up_leaves_its_place() -> None:
    one = Fake("one")
    async with pooled(one) as pool:
        one.gate.clear()
        first, second = (asyncio.create_task(pool.call("judge", number)) for number in range(2))
        await until(lambda: one.busy > 0)
        for task in (first, second):
            task.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        one.gate.set()
        assert await pool.call("judge", 3) == "one"
