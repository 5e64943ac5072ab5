"""Servers that break HTTP, JSON or pictures on purpose, one fault each. Part of `benchmarks.chaos`.

    python -m benchmarks.chaos --wire

Each fault is put to a real client over loopback, several requests at once. It holds when the client makes no
verdict and no picture out of it (unless the reply is right beside its oddity), raises nothing but our own
errors, and keeps within bounds of time, requests and memory. All spoilt chat replies say "false", so that a
verdict made out of one is seen.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import ModelError
from failscape.models.providers import openai
from failscape.models.transport.endpoints import Backoff
from failscape.pictures import Picture
from failscape.testing.faulty import chat_reply, scripted_picture
from failscape.trials import Check

AT_ONCE = 4
TIMEOUT, PATIENCE = 1.5, 1.0
MOST_SECONDS = 15.0
MOST_REQUESTS = 60
MOST_BYTES = 160 * 2**20

#: What a server does: bytes to send, or seconds to wait.
Act = bytes | float
CHAT, IMAGES = "judge", "target"


@dataclass(frozen=True, slots=True)
class WireFault:
    """What is sent in answer to each request. `harmless`: the reply is right, and may be used."""

    name: str
    role: str
    acts: Callable[[], Iterator[Act]]
    harmless: bool = False


@dataclass(slots=True)
class WireRow:
    """What became of one fault."""

    name: str
    role: str
    outcome: str
    requests: int
    seconds: float
    peak: int
    problems: list[str] = field(default_factory=list)


def _reply(body: bytes, status: str = "200 OK", headers: Sequence[str] = ()) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _json(data: Any, status: str = "200 OK", headers: Sequence[str] = ()) -> bytes:
    return _reply(json.dumps(data).encode(), status, ["Content-Type: application/json", *headers])


def _no(**more: Any) -> dict[str, Any]:
    """A reply that says "false"; `more` goes into its message."""
    reply = chat_reply('{"answers": [false]}')
    reply["choices"][0]["message"] |= more
    return reply


NO = json.dumps(_no()).encode()


def _once(data: bytes) -> Callable[[], Iterator[Act]]:
    return lambda: iter([data])


def _chunks(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def _drip(data: bytes, seconds: float = 0.4) -> Iterator[Act]:
    for at in range(len(data)):
        yield data[at : at + 1]
        yield seconds


def _endless() -> Iterator[Act]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + b" " * 2**16 + b"\r\n"


def _status(status: str, *headers: str) -> bytes:
    return _json({"error": {"message": "no"}}, status, headers)


def _packed(data: bytes, name: str = "gzip") -> bytes:
    return _reply(data, headers=[f"Content-Encoding: {name}"])


def _bomb(length: int) -> bytes:
    pack = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = b"0" * 2**20
    return b"".join(pack.compress(zeros) for _ in range(length >> 20)) + pack.flush()


HEADERS: dict[str, Callable[[], Iterator[Act]]] = {
    "closes without a word": lambda: iter(()),
    "bytes that are no HTTP": _once(b"\x16\x03\x01\x02\x00" * 20),
    "a body without a status line": _once(NO),
    "status 999": _once(_json(_no(), "999 What")),
    "a header of 1 MB": _once(_reply(NO, headers=["X-Long: " + "a" * 2**20])),
    "10,000 headers": _once(_reply(NO, headers=[f"X-{n}: 1" for n in range(10_000)])),
    "a negative length": _once(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + NO),
    "a length that is no number": _once(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n" + NO),
    "two lengths": _once(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\n" + NO),
    "a length longer than the body": _once(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + NO),
    "a length shorter than the body": _once(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" + NO),
    "a length of 9 GB": _once(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n" + NO),
    "a chunk of negative size": _once(_chunks(NO[:9], end=b"-5\r\n" + NO)),
    "a chunk of size zz": _once(_chunks(NO[:9], end=b"zz\r\n" + NO)),
    "600,000 chunks of one letter": _once(_chunks(NO[:9], end=b"1\r\nx\r\n" * 600_000 + b"0\r\n\r\n")),
    "chunks without an end": _once(_chunks(NO, end=b"")),
    "headers letter by letter": lambda: _drip(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
    "a body letter by letter": lambda: iter([b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", *_drip(NO)]),
    "no answer": lambda: iter([60.0]),
    "100 Continue a thousand times": _once(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
}
STATUSES: dict[str, bytes] = {
    "204 without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "301 to a link-local address": _status("301 Moved", "Location: http://169.254.169.254/latest"),
    "302 to itself": _status("302 Found", "Location: /v1/chat/completions"),
    "304": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "402": _status("402 Payment Required"),
    "418": _status("418 Teapot"),
    "429, Retry-After: 0": _status("429 Slow Down", "Retry-After: 0"),
    "429, Retry-After: -1": _status("429 Slow Down", "Retry-After: -1"),
    "429, Retry-After: nan": _status("429 Slow Down", "Retry-After: nan"),
    "429, Retry-After: 1e999": _status("429 Slow Down", "Retry-After: 1e999"),
    "429, Retry-After: a date of 1970": _status("429 x", "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT"),
    "503, Retry-After: 0": _status("503 Loading", "Retry-After: 0"),
    "500 with a body of 30 MB": _reply(b"e" * 30_000_000, "500 Broken"),
}
BODIES: dict[str, bytes] = {
    "gzip: 1 MB unpacks to 400 MB": _packed(_bomb(400 << 20)),
    "gzip in gzip": _packed(gzip.compress(gzip.compress(NO))),
    "gzip that breaks off": _packed(gzip.compress(NO)[:-20]),
    "gzip that is none": _packed(NO),
    "brotli": _packed(NO, "br"),
    "gzip, then 6 MB behind its end": _packed(gzip.compress(NO) + bytes(6 << 20)),
    "gzip: 6 MB of blocks that hold nothing": _packed(gzip.compress(NO)[:10] + b"\0\0\0\xff\xff" * (6 << 18)),
    "an unknown packing": _packed(NO, "rot13, gzip"),
    "JSON of 6 MB": _reply(b'{"choices": "' + b"a" * 6_000_000 + b'"}'),
    "100,000 brackets": _reply(b"[" * 100_000),
    "a million empty lists": _reply(b"[" + b"[]," * 1_000_000 + b"[]]"),
    "UTF-16": _reply(NO.decode().encode("utf-16")),
    "bytes that are no text": _reply(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "null": _reply(b"null"),
    "no choices": _json({"choices": []}),
    "a message of null": _json({"choices": [{"message": None}]}),
    "content is a number": _json(_no(content=7)),
    "content is an object": _json(_no(content={"answers": [False]})),
    "content is reasoning only": _json(_no(content=[{"type": "reasoning", "text": '{"answers": [false]}'}])),
    "parts that are no objects": _json(_no(content=["text"])),
    "a lone surrogate": _json(_no(content='{"answers": [false]} \ud800')),
    "two JSON documents": _reply(NO + NO),
    "a stream of events": _reply(b"data: " + NO + b"\n\ndata: [DONE]\n\n"),
    "an error beside the choices": _json({**_no(), "error": {"message": "vision tower not loaded"}}),
}
HARMLESS: dict[str, bytes] = {
    "usage of 1e30": _json({**chat_reply('{"answers": [true]}'), "usage": {"prompt_tokens": 1e30}}),
    "usage in words": _json({**chat_reply('{"answers": [true]}'), "usage": {"prompt_tokens": "many"}}),
    "usage is a list": _json({**chat_reply('{"answers": [true]}'), "usage": [1]}),
    "gzip though plain was asked for": _packed(
        gzip.compress(json.dumps(chat_reply('{"answers": [true]}')).encode())
    ),
}


def _png(width: int, height: int, packed: bytes | None, depth: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0))
    pixels = b"" if packed is None else chunk(b"IDAT", packed)
    return b"\x89PNG\r\n\x1a\n" + head + pixels + chunk(b"IEND", b"")


def _jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((256, 256), 90).convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()


def _image(data: bytes) -> bytes:
    return _json({"data": [{"b64_json": base64.b64encode(data).decode()}]})


def _address(url: str) -> bytes:
    return _json({"data": [{"url": url}]})


PICTURES: dict[str, bytes] = {
    "base64 that is none": _json({"data": [{"b64_json": "%%%"}]}),
    "no data": _json({"data": []}),
    "a page of HTML as picture": _image(b"<html>502</html>"),
    "an SVG": _image(b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"),
    "a PNG header without pixels": _image(_png(64, 64, None)),
    "a PNG with one row of 64": _image(_png(64, 64, zlib.compress(b"\0" + b"\7" * 64))),
    "half a JPEG with an end": _image(_jpeg()[:4000] + b"\xff\xd9"),
    "1 × 1": _image(_png(1, 1, zlib.compress(b"\0\7"))),
    "60,000 × 60,000 pixels": _image(_png(60_000, 60_000, zlib.compress(b"\0" * 1000))),
    "49 million empty pixels, cut off": _image(_png(7000, 7000, zlib.compress(b"\0" * 7001))),
    "a checksum that is wrong": _image(_png(64, 64, zlib.compress(b"\0" * 65 * 64))[:-20] + b"\0" * 20),
    "an address of a file": _address("file:///etc/passwd"),
    "an address that is link-local": _address("http://169.254.169.254/latest/meta-data"),
    "an address of another host": _address("http://127.0.0.2:1/a.png"),
    "an address of 1 MB": _address("http://127.0.0.1/" + "a" * 2**20),
}


def _all() -> Iterator[WireFault]:
    for name, acts in HEADERS.items():
        yield WireFault(name, CHAT, acts)
    for name, data in {**STATUSES, **BODIES}.items():
        yield WireFault(name, CHAT, _once(data))
    yield WireFault("a body without an end", CHAT, _endless)
    for name, data in HARMLESS.items():
        yield WireFault(name, CHAT, _once(data), harmless=True)
    for name, data in PICTURES.items():
        yield WireFault(name, IMAGES, _once(data))


FAULTS = tuple(_all())


class RawServer:
    """Answers every request as the fault says, byte by byte; counts requests."""

    def __init__(self, fault: WireFault) -> None:
        self._fault = fault
        self._server: asyncio.Server | None = None
        self.requests = 0
        self.url = ""

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                ),
                0,
            )
            await reader.readexactly(length)
            self.requests += 1
            for act in self._fault.acts():
                if isinstance(act, float):
                    await asyncio.sleep(act)
                else:
                    writer.write(act)
                    await writer.drain()
        except (OSError, EOFError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def meet(fault: WireFault) -> WireRow:
    """Put one fault to a client, `AT_ONCE` requests side by side."""
    tracemalloc.start()
    clock = time.monotonic()
    try:
        async with RawServer(fault) as server:
            outcomes = await asyncio.wait_for(_ask(fault, server.url), 4 * MOST_SECONDS)
            requests = server.requests
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    row = WireRow(fault.name, fault.role, _told(outcomes), requests, time.monotonic() - clock, peak)
    row.problems = list(_problems(row, fault, outcomes))
    return row


async def _ask(fault: WireFault, url: str) -> list[Any]:
    config = ModelConfig(
        provider="openai", model="m", endpoints=(f"{url}/v1",), timeout=TIMEOUT, patience=PATIENCE
    )
    role = "judge" if fault.role == CHAT else "generator"
    model: Any = openai.create(role, config, Backoff(0.05, 0.2))
    picture, check = Picture(scripted_picture("p", 1)), Check("entity", "cat", "It is a cat.")
    await model.start()
    try:
        if fault.role == CHAT:
            asked = [model.judge([picture], [[check]]) for _ in range(AT_ONCE)]
        else:
            asked = [model.generate(["p"], [number]) for number in range(AT_ONCE)]
        return await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await model.close()


def _told(outcomes: Sequence[Any]) -> str:
    kinds = {_kind(outcome): None for outcome in outcomes}
    return ", ".join(kinds)


def _kind(outcome: Any) -> str:
    if isinstance(outcome, BaseException):
        return type(outcome).__name__
    return "invalid" if outcome[0].value is None else "a value"


def _problems(row: WireRow, fault: WireFault, outcomes: Sequence[Any]) -> Iterator[str]:
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, ModelError):
            yield f"{type(outcome).__name__}: {outcome}"[:120]
    if ("a value" in row.outcome) != fault.harmless:
        yield "the right reply was not used" if fault.harmless else "a value was made up"
    if row.seconds > MOST_SECONDS:
        yield f"{row.seconds:.0f} s"
    if row.requests > MOST_REQUESTS:
        yield f"{row.requests} requests"
    if row.peak > MOST_BYTES:
        yield f"{row.peak >> 20} MiB"


def meet_all(faults: Sequence[WireFault] = FAULTS) -> list[WireRow]:
    """All faults, one after the other."""
    return [asyncio.run(meet(fault)) for fault in faults]


def table_of(rows: Sequence[WireRow]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield f"| fault ({AT_ONCE} requests at once) | of the | outcome | requests | seconds | peak MiB | held |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        told = "yes" if not row.problems else "; ".join(dict.fromkeys(row.problems))
        yield (
            f"| {row.name} | {row.role} | {row.outcome} | {row.requests} | {row.seconds:.1f} |"
            f" {row.peak / 2**20:.0f} | {told} |"
        )


if __name__ == "__main__":
    print("\n".join(table_of(meet_all())))
