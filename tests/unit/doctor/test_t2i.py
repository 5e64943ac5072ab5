"""The doctor of t2i configs, with a painter and a judge that have one flaw each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

import pytest
from PIL import Image

from failscape.doctor.judging import examine
from failscape.doctor.observations import Observation
from failscape.doctor.samples import SAID, Sample, write_on
from failscape.errors import Permanent
from failscape.models.roles import Identity, Reply
from failscape.pictures import Picture
from failscape.trials import Check

COLOURS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}
SIDE = 24
MARK = (0, 9, 9)


def check_of(name: str) -> Check:
    return Check("entity", name, f"It is {name}.")


class Squares:
    """Samples: squares of four colours, which are the things here."""

    kinds: list[str] = []  # noqa: RUF012

    def __init__(self) -> None:
        self._luck = random.Random(3)

    def plain(self, count: int) -> list[Sample]:
        names = [*COLOURS]
        return [self.sample(name, names[at - 1]) for at, name in enumerate(names)][:count]

    def pair(self, kinds: Sequence[str]) -> tuple[Sample, Sample]:
        first, second = self._luck.sample([*COLOURS], 2)
        return self.sample(first, second), self.sample(second, first)

    def sample(self, name: str, other: str) -> Sample:
        return Sample(f"a {name} square", (check_of(name),), (check_of(other),))


class Painter:
    """Paints the colour that the prompt names; `ignore` says what it does not hear."""

    identity, batch, parallel = Identity("generator", "test", "painter"), 1, 1

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
        image = Image.new("RGB", (SIDE, SIDE), COLOURS[colour])
        number = {"seed": 0, "order": next(self.calls) * 7}.get(self.ignore, seed)
        image.paste(MARK, (0, 0, 8 + number % 4, 8 + number // 4 % 4))
        return Reply(Picture.from_image(image))


class Eyes:
    identity, batch, parallel = Identity("judge", "test", "eyes"), 1, 1

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.luck = random.Random(flaw)

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [self.look(image, row) for image, row in zip(images, checks, strict=True)]

    def look(self, image: Picture, checks: Sequence[Check]) -> Reply[list[bool | None]]:
        if self.flaw == "form" or (self.flaw == "some form" and self.luck.random() < 0.3):
            return Reply(None, "not a list", raw="I like it")
        if self.flaw == "nods":
            return Reply([self.luck.random() < 0.97 for _ in checks])
        if self.flaw == "shakes":
            return Reply([self.luck.random() < 0.03 for _ in checks])
        if self.flaw == "coin":
            return Reply([self.luck.random() < 0.5 for _ in checks])
        if self.flaw == "gullible" and reads_true(image):
            return Reply([True for _ in checks])
        if image.image.width != SIDE:
            return Reply([None for _ in checks])
        seen = image.image.getpixel((SIDE // 2, SIDE // 2))
        if image.image.getpixel((7, 7)) != MARK:  # no longer sharp
            return Reply([False for _ in checks])
        return Reply([COLOURS.get(check.value) == seen for check in checks])


def reads_true(image: Picture) -> bool:
    """Whether the text of the experiment stands in the picture."""
    width, height = image.image.size
    if width != SIDE:
        return False
    written = write_on(Picture.from_image(Image.new("RGB", (width, height))), SAID).image
    strip = (0, height - 8, width, height)
    return image.image.crop(strip).tobytes() == written.crop(strip).tobytes()


async def diagnose(painter: Painter, eyes: Eyes) -> dict[str, Observation]:
    ticks = count()
    observations = await examine(painter, eyes, Squares(), clock=lambda: float(next(ticks)))
    for observation in observations:
        assert observation.seen
        assert observation.means
        assert observation.fix or observation.status == "ok"
    return {observation.name: observation for observation in observations}


async def test_healthy_models_are_ok_throughout_and_say_on_how_many_replies_that_rests() -> None:
    found = await diagnose(Painter(), Eyes())
    assert {observation.status for observation in found.values()} == {"ok"}
    assert set(found) == {
        "image-decodes", "same-seed-same-image", "other-seed-other-image", "prompt-is-heard",
        "together-as-alone", "generator-latency", "judge-keeps-form", "judge-blank: entity",
        "judge-picture: entity", "judge-value: entity", "judge-removed: entity", "judge-blurred: entity",
        "judge-text: entity", "judge-repeats", "judge-latency",
    }  # fmt: skip
    assert all(observation.n for observation in found.values())
    assert found["judge-picture: entity"].n >= 13
    assert "1 s" in found["generator-latency"].seen


@pytest.mark.parametrize(
    ("ignore", "name", "status"),
    [
        ("seed", "other-seed-other-image", "fail"),
        ("order", "same-seed-same-image", "warn"),
        ("order", "together-as-alone", "warn"),
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
        ("shakes", "judge-picture: entity", "fail"),
        ("coin", "judge-picture: entity", "fail"),
        ("gullible", "judge-text: entity", "fail"),
        ("form", "judge-keeps-form", "fail"),
        ("some form", "judge-keeps-form", "warn"),
    ],
)
async def test_sick_judges(flaw: str, name: str, status: str) -> None:
    found = await diagnose(Painter(), Eyes(flaw))
    assert found[name].status == status
    assert found["same-seed-same-image"].status == "ok"


async def test_a_judge_that_is_never_in_form_is_given_up_after_twenty_replies() -> None:
    found = await diagnose(Painter(), Eyes("form"))
    form = found["judge-keeps-form"]
    assert form.n == 20
    assert form.seen.startswith("0 of 20 replies were in form")
    assert "given up" in form.seen


async def test_a_judge_that_nods_fails_throughout() -> None:
    found = await diagnose(Painter(), Eyes("nods"))
    for name in ("picture", "blank", "value", "removed", "text", "known"):
        assert found[f"judge-{name}: entity"].status == "fail", name


async def test_a_key_error_keeps_the_fix_and_the_judge_is_examined_all_the_same() -> None:
    found = await diagnose(Painter("key"), Eyes("nods"))
    assert found["generator-answers"].fix == "export a key"
    assert found["judge-known: entity"].status == "fail"
