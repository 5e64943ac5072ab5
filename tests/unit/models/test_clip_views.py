"""What models are shown of a clip, and that it is part of their identity."""

import asyncio
import io
from typing import Any

import pybase64
import pytest
from PIL import Image

from failscape.clips import Clip
from failscape.config.base import ModelConfig, VideoConfig
from failscape.errors import BadReply, ConfigError
from failscape.models.clip_views import clip_parts
from failscape.models.registry import create_model
from failscape.models.roles import Conversation
from failscape.pictures import Picture

GREYS = [10, 60, 110, 160, 210, 250]


@pytest.fixture
def clip() -> Clip:
    return Clip.from_frames((Image.new("RGB", (64, 32), (grey,) * 3) for grey in GREYS), fps=4)


def _grey(data: bytes) -> int:
    return int(Image.open(io.BytesIO(data)).convert("L").getpixel((3, 3)))  # type: ignore[arg-type]


def test_images_come_in_order_each_after_its_time(clip: Clip) -> None:
    parts = clip_parts(clip, VideoConfig(frames=3), None, None)
    assert [part["text"] for part in parts[::2]] == [
        "Frame at 0.00 s:",
        "Frame at 0.50 s:",
        "Frame at 1.25 s:",
    ]
    shown = [pybase64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts[1::2]]
    assert [_grey(data) for data in shown] == pytest.approx([10, 110, 250], abs=2)


def test_time_stamps_can_be_left_out(clip: Clip) -> None:
    parts = clip_parts(clip, VideoConfig(frames=3, timestamps=False), None, None)
    assert [part["type"] for part in parts] == ["image_url"] * 3


def test_a_video_url_holds_all_frames_as_jpegs_set_apart_by_commas(clip: Clip) -> None:
    (part,) = clip_parts(clip, VideoConfig(form="video_url", frames=6), 32, "png")
    head, *frames = part["video_url"]["url"].split(",")
    assert head == "data:video/jpeg;base64"
    decoded = [pybase64.b64decode(frame) for frame in frames]
    assert [_grey(data) for data in decoded] == pytest.approx(GREYS, abs=2)
    assert Image.open(io.BytesIO(decoded[0])).size == (32, 16)


def test_only_video_files_are_sent_as_they_are(clip: Clip) -> None:
    with pytest.raises(BadReply, match="MP4 and WebM"):
        clip_parts(clip, VideoConfig(form="file"), None, None)


def _answers(config: ModelConfig, *images: Picture) -> list[str]:
    async def ask() -> list[str]:
        model = create_model("answerer", config)
        await model.start()
        try:
            replies = await model.answer([Conversation((one,), "what?") for one in images])  # type: ignore[attr-defined]
            return [reply.value or f"invalid: {reply.invalid}" for reply in replies]
        finally:
            await model.close()

    return asyncio.run(ask())


def _look(images: list[Image.Image], question: str) -> str:
    return f"{[image.getpixel((0, 0))[0] for image in images]} {question}"  # type: ignore[index]


def test_python_code_gets_frames_and_their_times(clip: Clip) -> None:
    config = ModelConfig(provider="python", path=_look, video=VideoConfig(frames=3))  # type: ignore[arg-type]
    (said,) = _answers(config, Picture(clip.data))
    assert said.startswith(
        "[10, 110, 250] The pictures are frames of a clip, at 0.00, 0.50, 1.25 seconds.\nwhat?"
    )


def test_without_video_it_sees_the_first_frame(clip: Clip) -> None:
    config = ModelConfig(provider="python", path=_look)  # type: ignore[arg-type]
    assert _answers(config, Picture(clip.data)) == ["[10] what?"]


def test_a_broken_clip_spoils_only_its_own_question(clip: Clip) -> None:
    config = ModelConfig(provider="python", path=_look, video=VideoConfig(frames=1))  # type: ignore[arg-type]
    broken = Picture(clip.data[: len(clip.data) // 2])
    bad, good = _answers(config, broken, Picture(clip.data))
    assert bad.startswith("invalid:")
    assert "breaks off" in bad
    assert good.startswith("[160]")


@pytest.mark.parametrize(
    "change", [{"frames": 4}, {"fps": 2.0}, {"sampling": "middles"}, {"timestamps": False}]
)
@pytest.mark.parametrize("provider", ["python", "openai"])
def test_every_setting_is_part_of_the_identity(provider: str, change: dict[str, object]) -> None:
    def digest(**video: object) -> str:
        more = (
            {"path": _look}
            if provider == "python"
            else {"model": "m", "endpoints": ["http://127.0.0.1:9/v1"]}
        )
        config = ModelConfig.model_validate({"provider": provider, "video": video, **more})
        return create_model("answerer", config).identity.digest

    assert digest() != digest(**change)


def _caption(image: Any) -> str:
    return "a cow"


def test_forms_and_roles_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="provider: openai"):
        create_model("answerer", ModelConfig(provider="python", path=_look, video=VideoConfig(form="file")))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="answer or verify"):
        create_model("captioner", ModelConfig(provider="python", path=_caption, video=VideoConfig()))  # type: ignore[arg-type]
