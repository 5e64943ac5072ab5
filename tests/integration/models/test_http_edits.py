"""The editor of provider `openai` against a real server on loopback; editors in Python and in the toybox."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from PIL import Image, ImageOps

from failscape.config import ModelConfig
from failscape.models.registry import create_model
from failscape.pictures import Picture
from failscape.toybox import world

PHOTO = Picture.from_array(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))


@pytest.fixture
async def server() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Inverts what it gets and notes the form."""
    forms: list[dict[str, Any]] = []

    async def edits(request: web.Request) -> web.Response:
        form = await request.post()
        sent = form["image"]
        assert isinstance(sent, web.FileField)
        forms.append({name: value for name, value in form.items() if name != "image"})
        if form["prompt"] == "refuse":
            return web.json_response({"data": []})
        inverted = ImageOps.invert(Image.open(io.BytesIO(sent.file.read())).convert("RGB"))
        buffer = io.BytesIO()
        inverted.save(buffer, "PNG")
        return web.json_response({"data": [{"b64_json": base64.b64encode(buffer.getvalue()).decode()}]})

    app = web.Application()
    app.router.add_post("/v1/images/edits", edits)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    yield f"http://127.0.0.1:{port}", forms
    await runner.cleanup()


async def edit(config: ModelConfig, photo: Picture, text: str, seed: int = 5) -> Any:
    model: Any = create_model("editor", config)
    await model.start()
    try:
        return (await model.edit([photo], [text], [seed]))[0]
    finally:
        await model.close()


async def test_image_and_instruction_arrive_and_the_changed_image_comes_back(server: Any) -> None:
    address, forms = server
    config = ModelConfig(provider="openai", model="painter", endpoints=(address,), params={"size": "64x64"})
    reply = await edit(config, PHOTO, "make it “blue”")
    assert (np.asarray(reply.value.image) == 255 - np.asarray(PHOTO.image)).all()
    (form,) = forms
    assert form["prompt"] == "make it “blue”"
    assert (form["seed"], form["size"], form["model"]) == ("5", "64x64", "painter")


async def test_a_reply_without_an_image_is_invalid(server: Any) -> None:
    address, _ = server
    reply = await edit(ModelConfig(provider="openai", model="painter", endpoints=(address,)), PHOTO, "refuse")
    assert reply.value is None
    assert reply.invalid


async def test_an_editor_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from PIL import ImageOps\n"
        "def edit(image, instruction, seed):\n"
        "    return ImageOps.invert(image.convert('RGB'))\n"
    )
    reply = await edit(ModelConfig(provider="python", path=f"{tmp_path}/mine.py:edit"), PHOTO, "invert it")
    assert (np.asarray(reply.value.image) == 255 - np.asarray(PHOTO.image)).all()


async def test_the_toybox_editor_changes_what_is_mentioned_and_keeps_the_rest() -> None:
    from failscape.toybox.eyes import Eyes

    before = world.render_attributes(world.Attributes("penguin", place="snow", colour="red"))
    config = ModelConfig(provider="toybox")
    reply = await edit(
        config, Picture.from_array(before), "Change the picture so that it shows a penguin in a meadow."
    )
    seen = Eyes().look(np.asarray(reply.value.image.convert("RGB"))[None]).labels
    assert (seen["entity"], seen["place"], seen["colour"]) == (["penguin"], ["meadow"], ["red"])
