"""How long a clip may be. Checked on the file's headers, before any frame is decoded."""

from dataclasses import dataclass

from failscape.errors import BadReply


@dataclass(frozen=True, slots=True)
class ClipLimits:
    """Most frames, seconds and pixels over all frames. Its bytes and the size of one frame are bounded as
    for pictures.

    Frames are decoded one after the other, so these bound time, not memory: 8 billion pixels are two minutes
    of 1080p at 30 frames a second.
    """

    frames: int = 10_000
    seconds: float = 3600.0
    pixels: int = 8_000_000_000

    def check_frames(self, frames: int) -> None:
        if frames > self.frames:
            raise BadReply(
                f"a clip of more than {self.frames:,} frames is too long", "cut it into shorter clips"
            )

    def check(self, frames: int, seconds: float, size: tuple[int, int]) -> None:
        """Raises `BadReply` beyond a limit, and for a clip without frames."""
        if not frames:
            raise BadReply("a clip without frames shows nothing")
        self.check_frames(frames)
        if seconds > self.seconds:
            raise BadReply(
                f"a clip of {seconds:,.0f} seconds is too long: at most {self.seconds:,.0f} are taken",
                "cut it into shorter clips",
            )
        width, height = size
        if frames * width * height > self.pixels:
            raise BadReply(
                f"a clip of {frames:,} frames of {width} × {height} pixels is too large: at most "
                f"{self.pixels:,} pixels over all frames are taken",
                "cut it into shorter clips, or scale it down",
            )


DEFAULT_CLIP_LIMITS = ClipLimits()
