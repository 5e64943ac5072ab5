"""Vision-language models of Transformers as targets: real, untrained networks of two kinds, built here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, Permanent
from failscape.models.providers.transformers_chat import TransformersAnswerer, messages_of
from failscape.models.registry import create_model
from failscape.models.roles import Conversation
from failscape.pictures import Picture

INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
needs_torch = pytest.mark.extra("torch", "transformers")


def noise(side: int, seed: int) -> Picture:
    return Picture.from_array(np.random.default_rng(seed).integers(0, 255, (side, side, 3), dtype=np.uint8))


TURN = ("what is there ?", "how many things")
TALKS = [
    Conversation((noise(56, 0),), "what colour is the picture. ?"),
    Conversation((noise(84, 1),), "how many things are there ?"),
    Conversation((noise(56, 2), noise(28, 3)), "what is one ?"),
    Conversation((noise(56, 0),), "how many ?", (TURN, TURN)),
    Conversation((noise(56, 4),), "what colour is the picture. ?"),
]


def settings(folder: Path, **params: Any) -> ModelConfig:
    return ModelConfig(provider="transformers", path=str(folder), params={"max_new_tokens": 8, **params})


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_without_the_extra_the_error_names_it() -> None:
    with pytest.raises(MissingExtra, match=r"failscape\[transformers\]"):
        create_model("answerer", ModelConfig(provider="transformers", model="some/vlm"))


def test_a_chat_has_its_pictures_in_the_first_turn() -> None:
    chat = messages_of(TALKS[2])
    assert [part["type"] for part in chat[0]["content"]] == ["image", "image", "text"]
    chat = messages_of(TALKS[3])
    assert [message["role"] for message in chat] == ["user", "assistant", "user", "assistant", "user"]
    assert [part["type"] for message in chat for part in message["content"]].count("image") == 1
    assert chat[0]["content"][-1]["text"] == TURN[0]
    assert chat[-1]["content"][0]["text"] == "how many ?"


def test_a_template_is_known_by_its_text_and_not_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "mine.jinja").write_text("{{ messages }}")
    with_file = TransformersAnswerer(settings(tmp_path, chat_template=str(tmp_path / "mine.jinja")))
    with_text = TransformersAnswerer(settings(tmp_path, chat_template="{{ messages }}"))
    without = TransformersAnswerer(settings(tmp_path))
    assert with_text.identity == with_file.identity
    assert with_text.identity.digest != without.identity.digest
    with pytest.raises(ConfigError, match="cannot be read"):
        TransformersAnswerer(settings(tmp_path, chat_template="nowhere.jinja"))
    with pytest.raises(ConfigError, match="num_return_sequences"):
        TransformersAnswerer(settings(tmp_path, num_return_sequences=2))


async def qwen(folder: Path) -> TransformersAnswerer:
    from tests.integration.rl.tiny_llava import livelier
    from tests.integration.rl.tiny_qwen import build

    model = TransformersAnswerer(settings(folder), build(folder))
    await model.start()
    livelier(model.model)
    return model


async def llava(folder: Path) -> Any:
    from tests.integration.rl.tiny_llava import build

    build(folder)
    model = create_model("answerer", settings(folder))
    await model.start()
    return model


@needs_torch
@pytest.mark.parametrize("make", [qwen, llava])
async def test_a_batch_answers_as_one_by_one(tmp_path: Path, make: Any) -> None:
    model = await make(tmp_path)
    try:
        batched = await model.answer(TALKS)
        single = [(await model.answer([talk]))[0] for talk in TALKS]
        assert [reply.raw for reply in batched] == [reply.raw for reply in single]
        assert [reply.raw for reply in batched] == [reply.raw for reply in await model.answer(TALKS)]
        assert len({reply.raw for reply in batched}) > 2, "answers depend on what is shown and said"
        assert batched[0].raw != batched[4].raw, "the same question about another picture"
        assert [reply.usage.tokens_in for reply in batched] == [reply.usage.tokens_in for reply in single]
        assert all(0 < reply.usage.tokens_out <= 8 for reply in batched)
    finally:
        await model.close()


@needs_torch
async def test_pictures_and_earlier_turns_reach_the_model(tmp_path: Path) -> None:
    model = await qwen(tmp_path)
    image = model.processor.image_token_id
    one, two, three, late, _ = (model.inputs([talk])["input_ids"][0] for talk in TALKS)
    assert int((one == image).sum()) == 4
    assert int((two == image).sum()) == 9
    assert int((three == image).sum()) == 4 + 1
    text = model.processor.tokenizer.decode(late)
    assert text.count("how many things") == 2
    assert text.rstrip().endswith("assistant")
    plain = await model.answer([Conversation((), "what is there ?"), TALKS[0]])
    assert plain[1].raw == (await model.answer([TALKS[0]]))[0].raw
    await model.close()


@needs_torch
async def test_one_bad_item_spoils_only_itself(tmp_path: Path) -> None:
    model = await qwen(tmp_path)
    broken = Conversation((Picture(b"no picture"),), "what is there ?")
    replies = await model.answer([broken, TALKS[0]])
    assert "failed" in replies[0].invalid
    assert replies[1].raw == (await model.answer([TALKS[0]]))[0].raw
    with pytest.raises(Permanent, match="failed"):
        await model.answer([broken] * 5)
    await model.close()


@needs_torch
async def test_a_wrong_param_stops_the_run(tmp_path: Path) -> None:
    from tests.integration.rl.tiny_qwen import build

    model = TransformersAnswerer(settings(tmp_path, no_such_setting=1), build(tmp_path))
    await model.start()
    with pytest.raises(Permanent, match="no_such_setting"):
        await model.answer(TALKS[:2])
    await model.close()


@needs_torch
async def test_a_model_that_cannot_chat_says_how_to_mend_it(tmp_path: Path) -> None:
    from tests.integration.rl.tiny_llava import TEMPLATE, build
    from tests.integration.rl.tiny_qwen import build as build_qwen

    build(tmp_path / "base", template="")
    with pytest.raises(ConfigError, match="chat_template"):
        await create_model("answerer", settings(tmp_path / "base")).start()
    (tmp_path / "mine.jinja").write_text(TEMPLATE)
    mended: Any = create_model(
        "answerer", settings(tmp_path / "base", chat_template=str(tmp_path / "mine.jinja"))
    )
    await mended.start()
    assert (await mended.answer(TALKS[:1]))[0].usage.tokens_out
    await mended.close()
    build_qwen(tmp_path / "deaf")  # saved with a tokenizer, without an image processor
    with pytest.raises(ConfigError, match=r"image processor|cannot be loaded"):
        await create_model("answerer", settings(tmp_path / "deaf")).start()
