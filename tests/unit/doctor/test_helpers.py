"""Captioners, embedders, editors and language models: dead, stuck or blind ones are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.doctor.experiments import (
    examine_captioner,
    examine_editor,
    examine_embedder,
    examine_llm,
    examine_polish,
)
from failscape.doctor.samples import known_pictures
from failscape.errors import Transient
from failscape.models.registry import create_model

KNOWN = {one.picture.image.tobytes(): one.thing for one in known_pictures()}


def sees(image: Any) -> list[str]:
    return [f"there is a {KNOWN[image.convert('RGB').tobytes()]}."]


def same(image: Any) -> list[str]:
    return ["a photo of something nice"]


def vague(image: Any) -> list[str]:
    return [f"a scene with a brightness of {np.asarray(image).mean():.4f}"]


def down(*_: Any) -> Any:
    raise Transient("it is down")


def pixels(items: list[Any]) -> list[list[float]]:
    return [[1.0, *np.asarray(item.resize((4, 4)), dtype=float).ravel().tolist()] for item in items]


def constant(items: list[Any]) -> list[list[float]]:
    return [[1.0, 2.0] for _ in items]


def holes(items: list[Any]) -> list[list[float]]:
    return [[float("nan"), float(np.asarray(item).mean())] for item in items]


def darker(image: Any, instruction: str, seed: int) -> Any:
    return image.point(lambda level: level // 2)


def unchanged(image: Any, instruction: str, seed: int) -> Any:
    return image


EXAMINE: dict[str, Any] = {
    "captioner": examine_captioner,
    "embedder": lambda model: examine_embedder(model, True, False),
    "editor": examine_editor,
}


@pytest.mark.parametrize(
    ("role", "name", "observed", "status"),
    [
        ("captioner", "sees", "captioner-names", "ok"),
        ("captioner", "same", "captioner-writes", "fail"),
        ("captioner", "vague", "captioner-names", "fail"),
        ("captioner", "down", "captioner-answers", "fail"),
        ("embedder", "pixels", "embedder-vectors", "ok"),
        ("embedder", "constant", "embedder-vectors", "fail"),
        ("embedder", "holes", "embedder-vectors", "fail"),
        ("embedder", "down", "embedder-answers", "fail"),
        ("editor", "darker", "editor-edits", "ok"),
        ("editor", "unchanged", "editor-edits", "fail"),
        ("editor", "down", "editor-answers", "fail"),
    ],
)
async def test_helpers_are_examined(role: str, name: str, observed: str, status: str) -> None:
    model = create_model(role, ModelConfig(provider="python", path=f"{__name__}:{name}", patience=0))
    await model.start()
    found = {one.name: one for one in await EXAMINE[role](model)}
    await model.close()
    assert found[observed].status == status
    assert found[observed].n or status == "fail"


@pytest.mark.parametrize(("said", "status"), [("echo", "ok"), ("Sure!", "fail")])
async def test_polish_must_keep_what_a_prompt_asks_for(said: str, status: str) -> None:
    def chat(messages: list[dict[str, Any]]) -> str:
        text = str(messages[-1]["content"])
        return text.partition("Prompt: ")[2].partition("\n")[0] if said == "echo" else said

    model = create_model("llm", ModelConfig.model_validate({"path": chat, "provider": "python"}))
    await model.start()
    (found,) = await examine_polish(model, ["An image of a red cat.", "An image of two dogs."])
    assert (found.status, found.n) == (status, 2)


@pytest.mark.parametrize(
    ("replies", "status"),
    [(["a b\nc d", "e f\ng h"], "ok"), (["a b", "a b"], "fail"), (["", ""], "fail"), (["a b", ""], "warn")],
)
async def test_a_language_model_must_bring_something(replies: list[str], status: str) -> None:
    waiting = iter(replies)

    async def ask(question: str) -> str:
        return next(waiting)

    (found,) = await examine_llm(ask, ["one?", "two?"], lambda text: len(text.split()), "words")
    assert found.status == status
