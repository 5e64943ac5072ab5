"""Bodies of replies, read with bounds: on one body, however it is packed, and on all that are under way.

Replies are asked for unpacked (`Accept-Encoding: identity`). A server that packs them all the same is
unpacked here piece by piece, so that a small body which unpacks to gigabytes ends at its bound. aiohttp's own
unpacking has no such bound for all of a body.
"""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Callable

import aiohttp

from failscape.errors import BadReply
from failscape.models.transport.faults import shown_url

#: Bytes of bodies under way at one time, over all models. One body alone may be longer, up to its own bound.
ROOM = 256 * 2**20

#: Of an error's body, this much is read: its message is at the start.
ERROR_BYTES = 2**18

#: For every request: nothing is to be packed.
PLAIN_ONLY = {"Accept-Encoding": "identity"}

_PACKED = ("gzip", "x-gzip", "deflate")
_PIECE = 2**18

#: So many pieces that are smaller than `_SMALL` are joined to one: each takes some 40 bytes beside its own.
_FEW, _SMALL = 256, 4096


class BodyRoom:
    """Counts the bytes of all bodies under way. When they are too many, only the oldest reads on.

    So there is always one that gets to its end, and all together never hold more than the room and one body.
    The others do not read from their sockets meanwhile; their own time-out still runs.
    """

    def __init__(self, most: int = ROOM) -> None:
        self._most = most
        self._held: OrderedDict[int, int] = OrderedDict()
        self._number = 0
        self._changed: asyncio.Event | None = None
        self.bytes = 0

    def enter(self) -> int:
        self._number += 1
        self._held[self._number] = 0
        return self._number

    def add(self, ticket: int, length: int) -> None:
        self._held[ticket] += length
        self.bytes += length

    def leave(self, ticket: int) -> None:
        self.bytes -= self._held.pop(ticket, 0)
        if self._changed is not None:
            self._changed.set()

    async def wait(self, ticket: int) -> None:
        """Return when this body may read on."""
        while self.bytes >= self._most and next(iter(self._held)) != ticket:
            if self._changed is None or self._changed.is_set():
                self._changed = asyncio.Event()
            await self._changed.wait()


#: One for all models of this process.
EVERYBODY = BodyRoom()


class Body:
    """The pieces of one body; `close` gives its room back."""

    def __init__(self, pieces: list[bytes], close: Callable[[], None]) -> None:
        self.pieces = pieces
        self.close = close


async def read_body(
    response: aiohttp.ClientResponse, most: int, room: BodyRoom = EVERYBODY, cut: bool = False
) -> Body:
    """The body as it comes, unless it is longer than `most` bytes: then it is given up as soon as that shows.

    With `cut`, what is longer is left unread. To join the pieces of a picture takes as long as to read them:
    that is left to who is off the event loop.
    """
    ticket = room.enter()
    try:
        pieces = await _read_pieces(response, most, room, ticket, cut)
    except BaseException:
        room.leave(ticket)
        raise
    return Body(pieces, lambda: room.leave(ticket))


async def _read_pieces(
    response: aiohttp.ClientResponse, most: int, room: BodyRoom, ticket: int, cut: bool
) -> list[bytes]:
    unpack = _unpacker(response)
    pieces = _Pieces()
    length = sent = 0
    said = 0 if unpack or cut else response.content_length or 0
    while max(said, length, sent) <= most and not response.content.at_eof():
        await room.wait(ticket)
        piece, _ = await response.content.readchunk()  # may be empty between the chunks of a chunked body
        sent += len(piece)  # a packed body may go on for ever and unpack to nothing
        for part in _unpacked(piece, unpack, most + 1 - length) if unpack else [piece]:
            pieces.add(part)
            length += len(part)
            room.add(ticket, len(part))
    if max(said, length, sent) > most:
        response.close()
        if not cut:
            pieces.drop()  # the error's traceback would keep them as long as the error lives
            raise BadReply(
                f"{shown_url(str(response.url))} sends more than {most:,} bytes",
                "raise `image_max_bytes` if you trust it",
            )
    return pieces.all()


class _Pieces:
    """The pieces of a body as they come. A server may send it letter by letter: small ones are joined."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._small: list[bytes] = []

    def add(self, piece: bytes) -> None:
        if len(piece) < _SMALL:
            if piece:
                self._small.append(piece)
        else:
            self._join()
            self._pieces.append(piece)
        if len(self._small) >= _FEW:
            self._join()

    def all(self) -> list[bytes]:
        self._join()
        return self._pieces

    def drop(self) -> None:
        self._pieces.clear()
        self._small.clear()

    def _join(self) -> None:
        if self._small:
            self._pieces.append(b"".join(self._small))
            self._small.clear()


def _unpacker(response: aiohttp.ClientResponse) -> "zlib._Decompress | None":
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed in ("", "identity"):
        return None
    if packed not in _PACKED:
        response.close()
        raise BadReply(
            f"{shown_url(str(response.url))} packs its reply ({packed[:40]}), though it was asked not to",
            "switch compression off in the server or the proxy before it",
        )
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, as its head says


def _unpacked(piece: bytes, unpack: "zlib._Decompress", most: int) -> list[bytes]:
    """What a piece unpacks to, at most `most` bytes of it."""
    parts: list[bytes] = []
    length = 0
    try:
        while piece and length < most:
            if unpack.eof:
                raise BadReply("the reply cannot be unpacked: bytes follow its end")
            part = unpack.decompress(piece, min(_PIECE, most - length))
            parts.append(part)
            length += len(part)
            piece = unpack.unconsumed_tail
    except zlib.error as error:
        raise BadReply(f"the reply cannot be unpacked: {error}") from error
    return parts
