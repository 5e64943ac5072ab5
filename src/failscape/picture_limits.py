"""How large a picture may be: checked before anything is decoded. Imports nothing slow: configs use it."""

from dataclasses import dataclass

from failscape.errors import BadReply


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """How large a picture may be, and how small. A pixel costs 3 to 8 bytes of memory once it is decoded.

    `least_side` is that of one block of a JPEG, and of the smallest pictures that people classify (8 × 8
    digits). A picture below it, such as 1 × 1, is what broken servers send in place of one.
    """

    bytes: int = 64 * 2**20
    pixels: int = 50_000_000
    least_side: int = 8

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

    def check_least(self, width: int, height: int) -> None:
        if min(width, height) < self.least_side:
            raise BadReply(
                f"a picture of {width} × {height} pixels shows nothing: the least side is {self.least_side}",
                "lower `image_min_side` if such pictures are meant",
            )


DEFAULT_LIMITS = PictureLimits()
