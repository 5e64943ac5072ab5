"""The doctor of vlm configs: good models are well, and every fault that it looks for is found."""

from __future__ import annotations

import random
from typing import Any

import pytest
from PIL import ImageColor

from failscape.config import ModelConfig
from failscape.errors import Transient
from failscape.kinds.vlm.doctor import COLOURS, VAGUE, examine_answerer, examine_questioner, examine_verifier
from failscape.models.registry import create_model


def colour_of(images: list[Any], question: str) -> str:
    pixel = images[0].convert("RGB").getpixel((0, 0))
    return next(name for name in COLOURS if ImageColor.getrgb(name) == pixel)


def same(images: list[Any], question: str) -> str:
    return "grey"


def down(images: list[Any], question: str) -> str:
    raise Transient("it is down")


def knows(images: list[Any], question: str, answer: str) -> tuple[bool | None, bool | None]:
    return (False, None) if question == VAGUE else (True, answer == colour_of(images, ""))


def nods(images: list[Any], question: str, answer: str) -> tuple[bool, bool]:
    return True, True


def lenient(images: list[Any], question: str, answer: str) -> tuple[bool, bool]:
    return True, answer == colour_of(images, "")


LUCK = random.Random(5)


def often(images: list[Any], question: str, answer: str) -> tuple[bool, bool]:
    return True, LUCK.random() < 0.97


def writes(images: list[Any], guidance: str, n: int) -> list[str]:
    return [f"{number}?" for number in range(n)]


def stuck(images: list[Any], guidance: str, n: int) -> list[str]:
    return ["what?"] * n


EXAMINE: dict[str, Any] = {
    "answerer": examine_answerer,
    "verifier": lambda model: examine_verifier(model, False),
    "questioner": examine_questioner,
}


@pytest.mark.parametrize(
    ("role", "name", "expected"),
    [
        ("answerer", "colour_of", {"answers": "ok", "sees": "ok", "answerer-latency": "ok"}),
        ("answerer", "same", {"answers": "ok", "sees": "warn", "answerer-latency": "ok"}),
        ("answerer", "down", {"answerer-answers": "fail"}),
        ("verifier", "knows", {"verifies": "ok", "rejects": "ok", "verifier-latency": "ok"}),
        ("verifier", "lenient", {"verifies": "ok", "rejects": "warn", "verifier-latency": "ok"}),
        ("verifier", "nods", {"verifies": "fail", "verifier-latency": "ok"}),
        ("verifier", "often", {"verifies": "fail", "verifier-latency": "ok"}),
        ("questioner", "writes", {"writes": "ok", "questioner-latency": "ok"}),
        ("questioner", "stuck", {"writes": "warn"}),
    ],
)
async def test_faults_are_found(role: str, name: str, expected: dict[str, str]) -> None:
    model = create_model(role, ModelConfig(provider="python", path=f"{__name__}:{name}", patience=0))
    await model.start()
    found = await EXAMINE[role](model)
    await model.close()
    assert {one.name: one.status for one in found} == expected


async def test_the_exact_verifier_is_well() -> None:
    (found,) = await examine_verifier(create_model("verifier", ModelConfig(provider="exact")), True)  # type: ignore[arg-type]
    assert found.status == "ok"
