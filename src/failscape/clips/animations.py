"""Animated GIF and WebP: when each frame is shown, read from the file's blocks without decoding a pixel."""

from collections.abc import Iterator

from failscape.clips.limits import ClipLimits
from failscape.errors import BadReply

#: Browsers show frames that name no duration, or hardly any, for a tenth of a second.
UNNAMED_SECONDS = 0.1
_LEAST_SECONDS = 0.011


def frame_seconds(data: bytes, format: str, limits: ClipLimits) -> list[float]:
    """How long each frame is shown. A still picture has one frame. Raises `BadReply` for a broken file."""
    read = {"GIF": _gif_delays, "WEBP": _webp_delays}[format]
    found: list[float] = []
    try:
        for seconds in read(data):
            found.append(seconds if seconds >= _LEAST_SECONDS else UNNAMED_SECONDS)
            limits.check_frames(len(found))
    except IndexError:
        raise BadReply(f"a {format} clip breaks off after {len(data)} bytes") from None
    return found


def _webp_delays(data: bytes) -> Iterator[float]:
    position, animated = 12, False
    end = 8 + int.from_bytes(data[4:8], "little")
    if len(data) < end:
        raise IndexError
    while position + 8 <= end:
        kind = data[position : position + 4]
        length = int.from_bytes(data[position + 4 : position + 8], "little")
        if position + 8 + length > end:
            raise IndexError
        if kind == b"ANMF":
            animated = True
            yield int.from_bytes(data[position + 20 : position + 23], "little") / 1000
        position += 8 + length + length % 2
    if not animated:
        yield 0.0


def _gif_delays(data: bytes) -> Iterator[float]:
    position = 13 + _colour_table(data[10])
    delay = 0.0
    while (kind := data[position]) != 0x3B:
        if kind == 0x21:
            if data[position + 1] == 0xF9:
                delay = int.from_bytes(data[position + 4 : position + 6], "little") / 100
            position = _after_blocks(data, position + 2)
        elif kind == 0x2C:
            position = _after_blocks(data, position + 11 + _colour_table(data[position + 9]))
            yield delay
            delay = 0.0
        else:
            raise BadReply(f"a GIF clip is damaged at byte {position}")


def _colour_table(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, position: int) -> int:
    while length := data[position]:
        position += 1 + length
    return position + 1
