"""A server that ignores `response_format`, and a judge that does not see, are named before a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.doctor.judging import examine_schema
from failscape.errors import Permanent
from failscape.models.roles import Reply
from failscape.starting.endpoints import trouble_with_eyes
from failscape.testing.faulty import FaultyServer, chat_reply


class Chat:
    def __init__(self, said: str | None) -> None:
        self.said = said

    async def chat(self, dialogue: Any, schema: Any) -> Reply[str]:
        if self.said is None:
            raise Permanent("no such thing")
        return Reply(self.said)


@pytest.mark.parametrize(
    ("said", "statuses"),
    [('{"number": 3}', ["ok"]), ("banana", ["warn"]), ('{"number": "banana"}', ["warn"]), (None, [])],
)
async def test_a_server_that_ignores_the_schema_is_named(said: str | None, statuses: list[str]) -> None:
    found = await examine_schema("judge", Chat(said))
    assert [one.status for one in found] == statuses
    assert all("response_format" in one.means for one in found if one.status == "warn")
    assert await examine_schema("judge", object()) == [], "there is no chat to ask"


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        (json.dumps({"answers": [True, False]}), ""),
        (json.dumps({"answers": [True, True]}), "it says the same about"),
        ("I cannot see pictures.", "reply"),
    ],
)
async def test_a_judge_without_eyes_is_noticed_by_one_picture(said: str, trouble: str) -> None:
    with FaultyServer(answer=lambda path, payload: chat_reply(said)) as server:
        config = ModelConfig(provider="openai", model="judge", endpoints=(server.url,))
        found = await trouble_with_eyes(config)
    assert trouble in found
    assert bool(found) == bool(trouble)
