"""What a model is shown of a clip: sampled frames with times, or the file itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

from PIL import Image

from failscape.clips import Clip, ClipFrame, as_clip
from failscape.config.base import VideoConfig
from failscape.errors import BadReply, ConfigError
from failscape.models.roles import AnswerToVerify, Conversation, Identity, Model, Reply
from failscape.models.transport.encoding import base64_of, data_uri, off_loop
from failscape.pictures import SHRINKING, UPLOAD_OPTIONS, VIDEO_FORMATS, Picture

Shown = TypeVar("Shown", Conversation, AnswerToVerify)
Part = dict[str, Any]

#: Frames go as JPEG unless `image_format` says otherwise: PNG takes ten times as long.
FRAME_FORMAT = "jpeg"


def sampled_frames(clip: Clip, video: VideoConfig) -> Iterator[ClipFrame]:
    return clip.sampled(video.frames, video.fps, video.sampling)


def clip_parts(clip: Clip, video: VideoConfig, side: int | None, format: str | None) -> list[Part]:
    """The clip as parts of a chat message. Decodes frames: call it off the event loop."""
    if video.form == "file":
        return [_video_url(_file_uri(clip))]
    chosen = format if format and video.form == "images" else FRAME_FORMAT
    frames = _encoded(clip, video, side, chosen)
    if video.form == "video_url":
        # vLLM reads several JPEGs of one data URI, set apart by commas, as the frames of a video.
        uris = ",".join(base64_of(data.data) for _, data in frames)
        return [_video_url(f"data:video/jpeg;base64,{uris}")]
    parts: list[Part] = []
    for time, picture in frames:
        if video.timestamps:
            parts.append({"type": "text", "text": f"Frame at {time:.2f} s:"})
        parts.append({"type": "image_url", "image_url": {"url": data_uri(picture)}})
    return parts


def _video_url(uri: str) -> Part:
    return {"type": "video_url", "video_url": {"url": uri}}


def _file_uri(clip: Clip) -> str:
    if clip.format not in VIDEO_FORMATS:
        raise BadReply(
            f"`video.form: file` sends MP4 and WebM files, but this clip is {clip.format}",
            "use `video.form: images` or `video_url`",
        )
    clip.clip_limits.check(len(clip.frame_seconds), clip.seconds, clip.size)
    return f"data:{clip.media_type};base64,{base64_of(clip.data)}"


def _encoded(clip: Clip, video: VideoConfig, side: int | None, format: str) -> list[tuple[float, Picture]]:
    found = []
    for frame in sampled_frames(clip, video):
        image = frame.image
        if side and max(image.size) > side:
            image.thumbnail((side, side), SHRINKING)
        found.append((frame.time, Picture.from_image(image, format.upper(), **UPLOAD_OPTIONS[format])))
    return found


class FramePicture(Picture):
    """A frame that is decoded already; it is encoded only if somebody wants its bytes."""

    def __init__(self, image: Image.Image) -> None:
        self._pixels = image

    @cached_property
    def data(self) -> bytes:  # type: ignore[override]
        return Picture.from_image(self._pixels).data

    @property
    def size(self) -> tuple[int, int]:
        return self._pixels.size

    @property
    def image(self) -> Image.Image:
        return self._pixels.copy()


def shown_frames(item: Shown, video: VideoConfig) -> Shown:
    """The same question with frames in place of clips, and a line that tells when they are."""
    images: list[Picture] = []
    lines: list[str] = []
    for picture in item.images:
        clip = as_clip(picture)
        if clip is None:
            images.append(picture)
            continue
        frames = list(sampled_frames(clip, video))
        images += [FramePicture(frame.image) for frame in frames]
        times = ", ".join(f"{frame.time:.2f}" for frame in frames)
        lines.append(f"The pictures are frames of a clip, at {times} seconds.")
    said: list[str] = lines if video.timestamps else []
    return replace(item, images=tuple(images), question="\n".join([*said, item.question]))


class FramesShown:
    """An answerer or verifier that is given frames in place of clips."""

    def __init__(self, model: Any, video: VideoConfig) -> None:
        own = model.identity
        settings = {**own.settings, "video": video.model_dump(mode="json")}
        self.identity = Identity(own.role, own.provider, own.model, settings)
        self._model = model
        self._video = video

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        return await self._each(conversations, self._model.answer)

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Any]]:
        return await self._each(answers, self._model.verify)

    async def _each(self, items: Sequence[Any], call: Callable[..., Any]) -> list[Any]:
        """A clip that cannot be read makes its own question invalid, and no other of the batch."""
        shown, replies = [], dict[int, Any]()
        for at, item in enumerate(items):
            try:
                shown.append((at, await off_loop(True, partial(shown_frames, item, self._video))))
            except BadReply as error:
                replies[at] = Reply(None, error.message)
        if shown:
            answered = await call([item for _, item in shown])
            replies |= {at: reply for (at, _), reply in zip(shown, answered, strict=True)}
        return [replies[at] for at in range(len(items))]


def with_frames(role: str, model: Model, video: VideoConfig) -> Model:
    """The model with clips shown as frames. Raises `ConfigError` where it cannot be."""
    if role not in ("answerer", "verifier"):
        raise ConfigError(
            f"`video` is for models that answer or verify questions, but got it for the {role}",
            "remove `video`: this role sees the first frame of a clip",
        )
    if video.form != "images":
        raise ConfigError(
            f"`video.form: {video.form}` goes with `provider: openai`", "use `video.form: images` here"
        )
    shown: Model = FramesShown(model, video)
    return shown
