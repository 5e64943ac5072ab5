"""A clip beside a picture: an encoded file with frames and times, named by its content.

A clip is stored, shown and exported as the file it came as. Frames are decoded one after the other, and only
those that somebody wants are kept: however long a clip is, one decoded frame is in memory at a time.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import ceil, sqrt

from PIL import Image

from failscape.clips.animations import frame_seconds
from failscape.clips.limits import DEFAULT_CLIP_LIMITS, ClipLimits
from failscape.clips.sampling import Sampling, sample_times
from failscape.clips.video import VideoFile
from failscape.errors import BadReply
from failscape.picture_limits import DEFAULT_LIMITS, PictureLimits
from failscape.pictures import VIDEO_FORMATS, Picture

ANIMATIONS = ("GIF", "WEBP")


@dataclass(frozen=True, slots=True)
class ClipFrame:
    """One frame: its number in the clip, when it begins in seconds, and its pixels (RGB)."""

    number: int
    time: float
    image: Image.Image


class Clip(Picture):
    """An encoded clip: GIF, WebP, MP4 or WebM. `digest` is its name everywhere.

    As a `Picture` it is its first frame: a model that was not told how to take clips sees that.
    """

    def __init__(
        self,
        data: bytes,
        digest: str = "",
        limits: PictureLimits = DEFAULT_LIMITS,
        clip_limits: ClipLimits = DEFAULT_CLIP_LIMITS,
    ) -> None:
        super().__init__(data, digest, limits)
        self.clip_limits = clip_limits

    @cached_property
    def frame_seconds(self) -> tuple[float, ...]:
        """How long each frame is shown. Raises `BadReply` for a broken file, or one beyond the limits."""
        self.limits.check_bytes(len(self.data))
        if self.format in VIDEO_FORMATS:
            found = self._file.frame_seconds()
        elif self.format in ANIMATIONS:
            found = frame_seconds(self.data, self.format, self.clip_limits)
        else:
            raise BadReply(f"{self.format or 'unknown'} files are no clips: GIF, WebP, MP4 and WebM are")
        self.clip_limits.check(len(found), sum(found), self.size)
        return tuple(found)

    @property
    def seconds(self) -> float:
        return sum(self.frame_seconds)

    @property
    def times(self) -> list[float]:
        """When each frame begins, in seconds."""
        return [0.0, *accumulate(self.frame_seconds[:-1])]

    @property
    def _file(self) -> VideoFile:
        return VideoFile(self.data, self.limits, self.clip_limits)

    def sampled(
        self, most: int, fps: float | None = None, sampling: Sampling = "ends"
    ) -> Iterator[ClipFrame]:
        """At most so many frames, in order; see `sample_times`."""
        return self.frames(sample_times(self.times, self.seconds, most, fps, sampling))

    def frames(self, numbers: Collection[int] | None = None) -> Iterator[ClipFrame]:
        """The frames of these numbers, or all, in order, decoded one after the other."""
        times = self.times
        wanted = sorted(range(len(times)) if numbers is None else set(numbers))
        pixels = self._file.frames(wanted) if self.format in VIDEO_FORMATS else self._animated(wanted)
        for number, image in zip(wanted, pixels, strict=True):
            yield ClipFrame(number, times[number], image)

    def _animated(self, wanted: Collection[int]) -> Iterator[Image.Image]:
        image = self._opened()
        try:
            for number in wanted:
                image.seek(number)
                yield image.convert("RGB")
        except (OSError, EOFError, ValueError, SyntaxError) as error:
            told = " ".join(str(error).split())[:100]
            raise BadReply(f"a {self.format} clip cannot be decoded as a whole ({told})") from error

    def prove(self) -> None:
        """Raise `BadReply` unless every frame can be decoded. Call it off the event loop."""
        self.limits.check_least(*self.size)
        for _ in self.frames():
            pass

    def strip(self, most: int = 4) -> Image.Image:
        """Frames side by side in rows, in reading order: a still view of what happens."""
        frames = [frame.image for frame in self.sampled(most)]
        columns = ceil(sqrt(len(frames)))
        rows = ceil(len(frames) / columns)
        width, height = frames[0].size
        gap = max(1, width // 32)
        sheet = Image.new("RGB", (columns * (width + gap) - gap, rows * (height + gap) - gap), "white")
        for at, frame in enumerate(frames):
            row, column = divmod(at, columns)
            sheet.paste(frame, (column * (width + gap), row * (height + gap)))
        return sheet

    @classmethod
    def from_frames(cls, frames: Iterable[Image.Image], fps: float = 8.0, note: str = "") -> Clip:
        """A lossless WebP of these frames, which may come one at a time. `note` is kept in its EXIF data."""
        images = iter(frames)
        first = next(images, None)
        if first is None:
            raise BadReply("a clip without frames shows nothing")
        buffer = io.BytesIO()
        exif = Image.Exif()
        if note:
            exif[_NOTE] = note
        first.save(
            buffer,
            "WEBP",
            save_all=True,
            append_images=images,
            duration=round(1000 / fps),
            lossless=True,
            method=0,
            quality=0,
            minimize_size=False,
            allow_mixed=False,
            kmin=0,
            kmax=1,
            exif=exif,
        )
        return cls(buffer.getvalue())

    @property
    def note(self) -> str:
        """What `from_frames` was told to keep with it."""
        if self.format not in ANIMATIONS:
            return ""
        return str(self._opened().getexif().get(_NOTE, ""))


#: EXIF's ImageDescription.
_NOTE = 0x010E


def as_clip(picture: Picture) -> Clip | None:
    """The picture as a clip, if its file is a video or has more than one frame."""
    if isinstance(picture, Clip):
        return picture
    moves = picture.format in VIDEO_FORMATS or (
        (picture.format == "WEBP" and b"ANMF" in picture.data) or picture.format == "GIF"
    )
    if not moves:
        return None
    clip = Clip(picture.data, picture.digest, picture.limits)
    return clip if picture.format in VIDEO_FORMATS or len(clip.frame_seconds) > 1 else None
