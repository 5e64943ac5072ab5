"""What runs in a process of Ray, without Ray: a model is loaded before its first call, whoever is first."""

from __future__ import annotations

import asyncio

import pytest

from failscape.engines.ray_models import ActorDescription, Failure, RoleActor
from failscape.toybox.provider import Painter

SETTINGS = {"provider": "toybox"}


async def test_a_call_to_a_process_that_was_started_anew_loads_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads = 0
    start = Painter.start

    async def counted(self: Painter) -> None:
        nonlocal loads
        loads += 1
        await start(self)

    monkeypatch.setattr(Painter, "start", counted)
    actor = RoleActor("generator", SETTINGS)
    calls = (actor.call("generate", (["a cow"], [seed])) for seed in (1, 1))
    (one,), (two,), described = await asyncio.gather(*calls, actor.ready())
    assert one.value.data == two.value.data
    assert isinstance(described, ActorDescription)
    assert loads == 1


async def test_a_model_that_cannot_be_made_is_said_in_words() -> None:
    said = await RoleActor("generator", {"provider": "nobody"}).call("generate", ([], []))
    assert isinstance(said, Failure)
    assert said.fix
