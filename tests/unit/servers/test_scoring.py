"""A judge for trainers: scores by prompt or by statement, nothing guessed, odd requests named."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer

from failscape.errors import ConfigError
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.servers.scoring import read_prompts, scoring_app, share_held
from failscape.trials import Check

IMAGE = base64.b64encode(Picture.from_array(np.zeros((8, 8, 3), np.uint8)).data).decode()
PROMPTS = {"a red cat": (Check("entity", "cat", "It is a cat."), Check("Base: Colour", "red", "It is red."))}


class FakeJudge:
    """Cats are seen, colours are not, nobody knows about dogs."""

    batch = parallel = 1
    identity = Identity("judge", "test", "fake")
    started = closed = False

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.closed = True

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [Reply([None if "dog" in one.value else "cat" in one.value for one in row]) for row in checks]


async def post(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    judge = FakeJudge()
    async with TestClient(TestServer(scoring_app(judge, PROMPTS))) as client:
        assert judge.started
        reply = await client.post("/v1/score", json=body)
        found = reply.status, await reply.json()
    assert judge.closed
    return found


async def test_a_known_prompt_is_scored_by_its_checks() -> None:
    status, found = await post({"images": [IMAGE], "prompts": ["a red cat"]})
    assert status == 200
    assert found["scores"] == [0.5]
    assert found["checks"] == [
        [{"statement": "It is a cat.", "holds": True}, {"statement": "It is red.", "holds": False}]
    ]


async def test_statements_are_scored_and_what_is_open_stays_open() -> None:
    _, found = await post({"images": [IMAGE, IMAGE], "statements": [["a cat"], ["a cat", "a dog"]]})
    assert found["scores"] == [1.0, None]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"images": [IMAGE], "prompts": ["a blue cat"]}, "no checks are known for the prompt 'a blue cat'"),
        ({"images": [IMAGE]}, "either `prompts` or `statements`"),
        ({"images": [IMAGE], "statements": [["a"], ["b"]]}, "1 images, but prompts or statements for 2"),
        ({"images": ["???"], "prompts": ["a red cat"]}, "not base64"),
        ({"images": [IMAGE], "statements": [[]]}, "one list of texts"),
    ],
)
async def test_odd_requests_are_named(body: dict[str, Any], words: str) -> None:
    status, found = await post(body)
    assert 400 <= status < 500
    assert words in found["error"]["message"]


def test_prompts_come_from_a_dataset(tmp_path: Path) -> None:
    row = {
        "prompt": "a cat",
        "checks": [{"kind": "entity", "value": "cat", "statement": "A cat.", "holds": True}],
    }
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row) + "\n")
    assert read_prompts(tmp_path) == {"a cat": (Check("entity", "cat", "A cat."),)}
    (tmp_path / "metadata.jsonl").write_text('{"label": "cat"}\n')
    with pytest.raises(ConfigError, match="no prompts with checks"):
        read_prompts(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prompts(tmp_path / "nowhere")


def test_scores() -> None:
    assert share_held([True, False]) == 0.5
    assert share_held([True, None]) is None
    assert share_held([]) is None
