"""How large a picture may be: checked before anything is decoded. Imports nothing slow: configs use it."""

from dataclasses import dataclass

from failscape.errors import BadReply


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """How large a picture may be. A pixel costs 3 to 8 bytes of memory once it is decoded."""

    bytes: int = 64 * 2**20
    pixels: int = 50_000_000

    def check_bytes(self, length: int) -> None:
        if length > self.bytes:
            raise BadReply(
                f"a picture of {length:,} bytes is too large: at most {self.bytes:,} are taken",
                "raise `image_max_bytes` if you trust its source",
            )

    def check_size(self, width: int, height: int) -> None:
        if not width * height:
            raise BadReply(f"a picture of {width} × {height} pixels shows nothing")
        if width * height > self.pixels:
            raise BadReply(
                f"a picture of {width:,} × {height:,} pixels is too large: at most {self.pixels:,} are taken",
                "raise `image_max_pixels` if you trust its source",
            )


DEFAULT_LIMITS = PictureLimits()
