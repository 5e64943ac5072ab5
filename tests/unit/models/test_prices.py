"""Models in process cost what their config says, like those behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Reply, Usage
from failscape.testing.model_suite import plain_pictures
from tests.unit.models.test_onnx_provider import build
from tests.unit.models.test_python_provider import RED

USER_CODE = "tests.unit.models.test_python_provider"
PICTURES = plain_pictures("red", "lime")


def says_what_it_cost(prompt: str, seeds: list[int]) -> list[Reply[Any]]:
    return [Reply(RED, usage=Usage(cost=7.0)), Reply(RED, usage=Usage(requests=3))]


async def costs(role: str, method: str, *arguments: Any, **settings: Any) -> list[float]:
    model: Any = create_model(role, ModelConfig(**settings))
    await model.start()
    try:
        replies = await getattr(model, method)(*arguments)
    finally:
        await model.close()
    return [reply.usage.cost for reply in (replies if isinstance(replies, list) else [replies])]


@pytest.mark.parametrize("name", ["draw", "draw_batch", "WholeModel"])
async def test_python(name: str) -> None:
    settings = {"provider": "python", "path": f"{USER_CODE}:{name}"}
    assert await costs("generator", "generate", ["a", "b"], [1, 2], price=0.5, **settings) == [0.5, 0.5]
    assert await costs("generator", "generate", ["a", "b"], [1, 2], **settings) == [0.0, 0.0]


async def test_a_chat_in_python() -> None:
    settings = {"provider": "python", "path": f"{USER_CODE}:chat", "price": 0.5}
    assert await costs("llm", "chat", [{"role": "user", "content": "hi"}], **settings) == [0.5]


async def test_code_that_says_itself_what_it_cost() -> None:
    settings = {"provider": "python", "path": f"{__name__}:says_what_it_cost", "price": 0.5}
    assert await costs("generator", "generate", ["a", "a"], [1, 2], **settings) == [7.0, 1.5]


async def test_onnx(tmp_path: Path) -> None:
    path = build(tmp_path / "colours.onnx", labels=["red", "green", "blue"])
    settings = {"provider": "onnx", "path": path, "params": {"threads": 1}, "price": 0.5}
    assert await costs("classifier", "classify", PICTURES, **settings) == [0.5, 0.5]
    assert await costs("embedder", "embed", PICTURES, **settings) == [0.5, 0.5]


async def test_toybox() -> None:
    claim = AnswerToVerify((), "how many cows are there?", "2", truth="two")
    assert await costs("verifier", "verify", [claim], provider="toybox", price=0.5) == [0.5]
    assert await costs("classifier", "classify", PICTURES, provider="toybox", price=0.5) == [0.5, 0.5]
