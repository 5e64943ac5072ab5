"""The judge that reads, with the real networks of RapidOCR."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from failscape.config import ModelConfig
from failscape.config.files import load_config
from failscape.models.providers.ocr import OcrJudge
from failscape.pictures import Picture
from failscape.spaces.written_text import reading_in
from failscape.trials import Check

pytestmark = pytest.mark.extra("rapidocr")

ROOT = Path(__file__).parents[3]


def sign(*lines: str) -> Picture:
    image = Image.new("RGB", (320, 240), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((160, 70 + 90 * number), line, "black", ImageFont.load_default(48), anchor="mm")
    return Picture.from_image(image)


def said(text: str) -> Check:
    return Check("Text: says", text, f'The text "{text}" is written on the sign.')


async def test_it_decides_what_is_written_and_nothing_else() -> None:
    judge = OcrJudge(ModelConfig(provider="ocr"))
    await judge.start()
    try:
        checks = [said("OPEN"), said("OPNE"), said("Привет"), Check("entity", "sign", "It shows a sign.")]
        [reply] = await judge.judge([sign("OPEN", "Bakery")], [checks])
        assert reply.value == [True, False, None, None]
        assert reading_in([reply.raw]) == ("OPEN", "Bakery")
        [misspelt] = await judge.judge([sign("OPNE")], [[said("OPEN")]])
        assert misspelt.value == [False]
        [empty] = await judge.judge([sign()], [[said("OPEN")]])
        assert empty.value == [False]
    finally:
        await judge.close()


def test_its_errors_on_clean_text_ship_with_it() -> None:
    known = OcrJudge(ModelConfig(provider="ocr")).accuracy.of("Text: says")
    assert known.sensitivity.rate > 0.9
    assert known.specificity.rate > 0.9


def test_the_example_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert load_config(ROOT / "examples/signs/hunt.yaml").models()["judge"].provider == "by_family"
