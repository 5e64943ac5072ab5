from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest
from PIL import Image

from failscape.doctor.t2i import Observation, Sample, examine
from failscape.errors import Permanent
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.trials import Check

COLOURS = ("red", "lime", "blue")
SAMPLES = [Sample(f"a {name} square", (Check("entity", name, f"It is {name}."),)) for name in COLOURS]


class Painter:
    """Paints the colour that the prompt names; `ignore` says what it does not hear."""

    identity, batch = Identity("generator", "test", "painter"), 1

    def __init__(self, ignore: str = "") -> None:
        self.ignore = ignore
        self.calls = count()

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [self.paint(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def paint(self, prompt: str, seed: int) -> Reply[Picture]:
        if self.ignore == "form":
            return Reply(Picture(b"\x89PNG\r\n\x1a\n rubbish IEND"))
        if self.ignore == "key":
            raise Permanent("wrong key", "export a key")
        colour = "red" if self.ignore == "prompt" else next(name for name in COLOURS if name in prompt)
        image = Image.new("RGB", (16, 16), colour)
        number = {"seed": 0, "order": next(self.calls) * 7}.get(self.ignore, seed)
        image.paste("white" if self.ignore == "order" and number % 2 else "black", (0, 0, 1 + number % 15, 9))
        return Reply(Picture.from_image(image))


class Eyes:
    identity, batch = Identity("judge", "test", "eyes"), 1

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.calls = count()

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [self.look(image, row) for image, row in zip(images, checks, strict=True)]

    def look(self, image: Picture, checks: Sequence[Check]) -> Reply[list[bool | None]]:
        number = next(self.calls)
        if self.flaw == "form" or (self.flaw == "often form" and number % 2):
            return Reply(None, "not a list", raw="I like it")
        if self.flaw == "blind":
            return Reply([True for _ in checks])
        if self.flaw == "fickle" and number == 6:
            return Reply([False for _ in checks])
        seen = {(255, 0, 0): "red", (0, 255, 0): "lime", (0, 0, 255): "blue"}.get(
            image.image.getpixel((15, 15))
        )
        return Reply([check.value == seen for check in checks])


async def diagnose(painter: Painter, eyes: Eyes) -> dict[str, Observation]:
    ticks = count()
    observations = await examine(painter, eyes, SAMPLES, clock=lambda: float(next(ticks)))
    for observation in observations:
        assert observation.seen
        assert observation.means
        assert observation.fix or observation.status == "ok"
    return {observation.name: observation for observation in observations}


async def test_healthy_models_are_ok_throughout() -> None:
    found = await diagnose(Painter(), Eyes())
    assert {observation.status for observation in found.values()} == {"ok"}
    assert set(found) == {
        "image-decodes", "same-seed-same-image", "other-seed-other-image", "prompt-is-heard",
        "generator-latency", "judge-keeps-form", "judge-sees-image", "judge-repeats", "judge-latency",
    }  # fmt: skip
    assert "1 s" in found["generator-latency"].seen


@pytest.mark.parametrize(
    ("ignore", "name", "status"),
    [
        ("seed", "other-seed-other-image", "fail"),
        ("order", "same-seed-same-image", "warn"),
        ("prompt", "prompt-is-heard", "fail"),
        ("form", "image-decodes", "fail"),
        ("key", "generator-answers", "fail"),
    ],
)
async def test_sick_generators(ignore: str, name: str, status: str) -> None:
    found = await diagnose(Painter(ignore), Eyes())
    assert found[name].status == status


@pytest.mark.parametrize(
    ("flaw", "name", "status"),
    [
        ("blind", "judge-sees-image", "fail"),
        ("form", "judge-keeps-form", "fail"),
        ("often form", "judge-keeps-form", "warn"),
        ("fickle", "judge-repeats", "warn"),
    ],
)
async def test_sick_judges(flaw: str, name: str, status: str) -> None:
    found = await diagnose(Painter(), Eyes(flaw))
    assert found[name].status == status
    assert found["same-seed-same-image"].status == "ok"


async def test_a_key_error_keeps_the_fix_and_skips_the_judge() -> None:
    found = await diagnose(Painter("key"), Eyes())
    assert list(found) == ["generator-answers"]
    assert found["generator-answers"].fix == "export a key"
