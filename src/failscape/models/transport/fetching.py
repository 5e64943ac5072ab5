"""Fetches pictures from addresses that a model's reply names: from hosts that may be asked, and not too much.

A reply is not to be trusted with where we go: its own endpoint is asked, other hosts only where the config
names them in `image_hosts`, link-local addresses (where clouds keep their secrets) never. Redirects are
checked again.
"""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from failscape.errors import BadReply
from failscape.models.transport.faults import NETWORK_FAULTS, Redactor, shown_url
from failscape.picture_limits import PictureLimits

TRIES = 3
MOST_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)


class _Forbidden(BadReply):
    """An address that may not be asked: another try would not change that."""


async def read_pieces(response: aiohttp.ClientResponse, most: int) -> list[bytes]:
    """The body as it comes, unless it is longer than `most` bytes: then it is given up as soon as that shows.

    To join the pieces of a picture takes as long as to read them: that is left to who is off the event loop.
    """
    pieces: list[bytes] = []
    said, length = response.content_length or 0, 0
    while max(said, length) <= most and not response.content.at_eof():
        piece, _ = await response.content.readchunk()  # may be empty between the chunks of a chunked body
        pieces.append(piece)
        length += len(piece)
    if max(said, length) > most:
        response.close()
        raise BadReply(
            f"{shown_url(str(response.url))} sends more than {most:,} bytes",
            "raise `image_max_bytes` if you trust it",
        )
    return pieces


class PictureFetcher:
    """One for each model. `pause` is the wait after so many failures in a row."""

    def __init__(
        self,
        hosts: Sequence[str],
        limits: PictureLimits,
        access: Mapping[str, str],
        timeout: float,
        redactor: Redactor,
        pause: Callable[[int], Awaitable[None]],
    ) -> None:
        self._hosts = tuple(host.strip().lower() for host in hosts)
        self._limits = limits
        self._access = access
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._redactor = redactor
        self._pause = pause
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def fetch(self, url: str, base: str) -> bytes:
        """The bytes behind `url`, which the endpoint at `base` named. The key goes to that endpoint only."""
        fault = ""
        for attempt in range(TRIES):
            try:
                status, body = await self._follow(urljoin(base + "/", url), urlsplit(base))
                if status == 200:
                    return body
                fault = f"answered {status}"
            except NETWORK_FAULTS as error:
                fault = self._redactor.clean(str(error)) or type(error).__name__
            if attempt + 1 < TRIES:
                await self._pause(attempt + 1)
        raise BadReply(f"{shown_url(urljoin(base + '/', url))} {fault}: the image could not be fetched")

    async def _follow(self, url: str, home: SplitResult) -> tuple[int, bytes]:
        for _ in range(MOST_REDIRECTS):
            own = self._check(url, home)
            headers = self._access if own else {}
            async with self._live_session().get(url, headers=headers, allow_redirects=False) as response:
                if response.status not in _REDIRECTS or "Location" not in response.headers:
                    whole = response.status == 200
                    pieces = await read_pieces(response, self._limits.bytes) if whole else []
                    return response.status, b"".join(pieces)
                url = urljoin(url, response.headers["Location"])
        raise _Forbidden(f"{shown_url(url)} redirects more than {MOST_REDIRECTS} times")

    def _check(self, url: str, home: SplitResult) -> bool:
        """Raise unless the address may be asked; whether it is the endpoint's own."""
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), _port(parts)
        if parts.scheme not in _PORTS or not host:
            raise _Forbidden(f"the reply names an image at {shown_url(url)!r}, which is no web address")
        if _is_link_local(host):
            raise _Forbidden(
                f"the reply names an image at {shown_url(url)}: link-local addresses are never asked"
            )
        own = (host, port) == ((home.hostname or "").lower(), _port(home))
        if not own and not any(_fits(host, port, pattern) for pattern in self._hosts):
            raise _Forbidden(
                f"the reply names an image at {shown_url(url)}, which is another host than the endpoint's",
                f"if it may be asked, add `image_hosts: [{parts.netloc.rpartition('@')[2]}]` to this model",
            )
        return own and parts.scheme == home.scheme

    def _live_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=_Resolver()),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "failscape"},
                timeout=self._timeout,
            )
        return self._session


class _Resolver(AbstractResolver):
    """Names that lead to link-local addresses lead nowhere. Checked where the address is used, not before."""

    def __init__(self) -> None:
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if any(_is_link_local(one["host"]) for one in found):
            raise OSError(f"{host} is a link-local address, which is never asked")
        return found

    async def close(self) -> None:
        await self._inner.close()


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None


def _is_link_local(host: str) -> bool:
    try:
        address: Any = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_link_local)


def _fits(host: str, port: int | None, pattern: str) -> bool:
    """`host`, `host:port` or `*.host`."""
    name, colon, number = pattern.rpartition(":")
    if colon and number.isdecimal() and not pattern.endswith("]"):
        return port == int(number) and _fits(host, port, name)
    name = pattern.strip("[]")
    return host == name or (name.startswith("*.") and host.endswith(name[1:]))
