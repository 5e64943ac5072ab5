"""MP4 and WebM files, decoded by PyAV (extra `video`), one frame at a time."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any

from PIL import Image

from failscape.clips.limits import DEFAULT_CLIP_LIMITS, ClipLimits
from failscape.errors import BadReply, MissingExtra
from failscape.picture_limits import PictureLimits


def _pyav() -> Any:
    try:
        import av
    except ImportError:
        raise MissingExtra("reading mp4 and webm files", "video") from None
    return av


class VideoFile:
    """The first video stream of a file in memory. What the header says of its length is not believed."""

    def __init__(
        self, data: bytes, limits: PictureLimits, clip_limits: ClipLimits = DEFAULT_CLIP_LIMITS
    ) -> None:
        limits.check_bytes(len(data))
        self._data = data
        self._limits = limits
        self._clip_limits = clip_limits

    @contextmanager
    def _stream(self) -> Iterator[tuple[Any, Any]]:
        av = _pyav()
        try:
            # No format but these two: FFmpeg knows playlists, which open other files and addresses.
            kind = "mov,mp4" if self._data[4:8] == b"ftyp" else "matroska,webm"
            with av.open(io.BytesIO(self._data), format=kind.split(",")[0]) as container:
                if not container.streams.video:
                    raise BadReply("a video file without a video stream shows nothing")
                stream = container.streams.video[0]
                self._limits.check_size(stream.codec_context.width, stream.codec_context.height)
                yield container, stream
        except (av.FFmpegError, ValueError) as error:
            told = " ".join(str(error).split())[:100]
            raise BadReply(f"not a readable video: {len(self._data)} bytes ({told})") from error

    @cached_property
    def size(self) -> tuple[int, int]:
        with self._stream() as (_, stream):
            return stream.codec_context.width, stream.codec_context.height

    def frame_seconds(self) -> list[float]:
        """How long each frame is shown, by the times of its packets. Nothing is decoded."""
        with self._stream() as (container, stream):
            rate = float(stream.average_rate or stream.base_rate or 25)
            times: list[float] = []
            for packet in container.demux(stream):
                if packet.pts is None:
                    continue
                times.append(float(packet.pts * packet.time_base))
                self._clip_limits.check_frames(len(times))
        times.sort()
        gaps = [later - earlier for earlier, later in pairwise(times)]
        return [*gaps, 1 / rate] if times else []

    def prove(self) -> None:
        """Raise `BadReply` unless all frames that the file names can be decoded."""
        seconds = self.frame_seconds()
        self._clip_limits.check(len(seconds), sum(seconds), self.size)
        for _ in self.frames(range(len(seconds))):
            pass

    def first_frame(self) -> Image.Image:
        return next(self.frames((0,)))

    def frames(self, wanted: Collection[int]) -> Iterator[Image.Image]:
        """The frames of these numbers, in order. Raises `BadReply` where the file breaks off before."""
        left = set(wanted)
        with self._stream() as (container, stream):
            stream.thread_type = "SLICE"
            for number, frame in enumerate(container.decode(stream)):
                self._clip_limits.check_frames(number + 1)
                self._limits.check_size(frame.width, frame.height)
                if number in left:
                    left.discard(number)
                    yield frame.to_image()
                if not left:
                    return
        raise BadReply(f"a video breaks off: {len(left)} of {len(wanted)} frames cannot be decoded")
