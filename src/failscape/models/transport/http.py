"""What all models behind HTTP share: the session, the key, the pool, the bill of each reply, and pictures
fetched from addresses that a reply names.

Only addresses and headers live here; what is sent and what comes back is the business of providers. A reply
is not to be trusted with where we go: its own endpoint is asked, other hosts only where the config names
them in `image_hosts`, link-local addresses (where clouds keep their secrets) never. Redirects are checked
again.
"""

import ipaddress
import json
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

import aiohttp
import orjson
from aiohttp.abc import AbstractResolver, AbstractStreamWriter, ResolveResult

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError, ModelError, Refused
from failscape.models.roles import Identity, Reply, Usage
from failscape.models.transport.bodies import ERROR_BYTES, PLAIN_ONLY, read_body
from failscape.models.transport.encoding import LARGE, Finishing, picture_from_bytes, read_off_loop
from failscape.models.transport.endpoints import Backoff, Endpoint, EndpointStats
from failscape.models.transport.faults import NETWORK_FAULTS, Redactor, shown_url
from failscape.models.transport.pool import EndpointPool, PoolReply, Response
from failscape.picture_limits import PictureLimits
from failscape.pictures import SHRINKING, UPLOAD_OPTIONS, Picture
from failscape.secrets import remember

TRIES = 3
MOST_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)


class _Forbidden(BadReply):
    """An address that may not be asked: another try would not change that."""


@dataclass(repr=False, eq=False)  # its headers hold the key
class PictureFetcher:
    """One for each model. `pause` is the wait after so many failures in a row."""

    hosts: Sequence[str]
    limits: PictureLimits
    access: Mapping[str, str]
    timeout: float
    redactor: Redactor
    pause: Callable[[int], Awaitable[None]]
    _session: aiohttp.ClientSession | None = None

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
                fault = self.redactor.clean(str(error)) or type(error).__name__
            if attempt + 1 < TRIES:
                await self.pause(attempt + 1)
        raise BadReply(f"{shown_url(urljoin(base + '/', url))} {fault}: the image could not be fetched")

    async def _follow(self, url: str, home: SplitResult) -> tuple[int, bytes]:
        for _ in range(MOST_REDIRECTS):
            headers = self.access if self._check(url, home) else {}
            async with self._live_session().get(url, headers=headers, allow_redirects=False) as response:
                if response.status not in _REDIRECTS or "Location" not in response.headers:
                    if response.status != 200:
                        return response.status, b""
                    body = await read_body(response, self.limits.bytes)
                    try:
                        return response.status, b"".join(body.pieces)
                    finally:
                        body.close()
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
        if not own and not any(_fits(host, port, pattern.strip().lower()) for pattern in self.hosts):
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
                headers={"User-Agent": "failscape", **PLAIN_ONLY},
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=self.timeout),
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
    return bool((getattr(address, "ipv4_mapped", None) or address).is_link_local)


def _fits(host: str, port: int | None, pattern: str) -> bool:
    """`host`, `host:port` or `*.host`."""
    name, colon, number = pattern.rpartition(":")
    if colon and number.isdecimal() and not pattern.endswith("]"):
        return port == int(number) and _fits(host, port, name)
    name = pattern.strip("[]")
    return host == name or (name.startswith("*.") and host.endswith(name[1:]))


Item = TypeVar("Item")
T = TypeVar("T")

CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 60.0
#: The longest reply of a chat, and what may stand around pictures and numbers, in bytes.
REPLY_ROOM = 4 * 2**20
NOTHING = Usage(requests=0)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def read_key(config: ModelConfig) -> str:
    """The key from the environment; `""` when the config names no variable."""
    name = config.api_key_env
    if not name:
        return ""
    if not _VARIABLE.match(name) or name.startswith(("sk_", "hf_")):
        # The value is not shown: it may be a key pasted by mistake.
        raise ConfigError(
            "`api_key_env` must be the name of an environment variable, not a key",
            "export the key as OPENAI_API_KEY and write `api_key_env: OPENAI_API_KEY`",
        )
    key = os.environ.get(name, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {name} (`api_key_env`) is not set", f"export {name}=…")
    remember(key)
    return key


def read_endpoints(config: ModelConfig, normal: Callable[[str], str]) -> list[Endpoint]:
    """The pool's endpoints, their addresses checked and brought to one form."""
    if not config.endpoints:
        raise ConfigError(
            f"provider {config.provider} needs at least one address, but `endpoints` is empty",
            'add `endpoints: ["http://host:8000/v1"]`',
        )
    bases: dict[str, None] = {}
    for address in config.endpoints:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"`endpoints` must be http or https URLs, but got {shown_url(address)!r}",
                "write it as http://host:port/v1",
            )
        bases[normal(address.strip().rstrip("/"))] = None
    return [Endpoint(base, config.concurrency) for base in bases]


def openai_base(address: str) -> str:
    """Base URLs are given with and without `/v1`; a path of its own (a gateway's) is kept as it is."""
    _, _, rest = address.partition("://")
    return address if "/" in rest else f"{address}/v1"


def encode(payload: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(payload)
    except TypeError:  # numbers beyond 64 bit, keys that are no text: slower, but they go through
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def decode(body: bytes) -> Any:
    """JSON data of a reply."""
    try:
        return orjson.loads(body)
    except ValueError:  # NaN and the like, which strict JSON does not have
        return json.loads(body.decode())


def with_params(defaults: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """`params` win over `defaults`; a param of `null` takes the field out of the request."""
    return {name: value for name, value in {**defaults, **params}.items() if value is not None}


#: What is done to every picture before upload; raised when that changes. 2: flat on white, never transparent.
IMAGE_RULES = 2


def preprocessing_of(config: ModelConfig) -> dict[str, Any]:
    """What is done to pictures before upload, for the identity. Settings that are not set are left out."""
    side, format = config.image_max_side, config.image_format
    chosen: dict[str, Any] = {"image_rules": IMAGE_RULES, "image_max_side": side, "image_format": format}
    if side:
        chosen["image_shrunk_by"] = SHRINKING.name.lower()
    encoded = format or ("jpeg" if side else "")
    if encoded == "jpeg":
        options = UPLOAD_OPTIONS["jpeg"]
        chosen["image_encoded"] = f"jpeg, quality {options['quality']}, {options['subsampling']}"
    if config.video:
        chosen["video"] = config.video.model_dump(mode="json")
    return {name: value for name, value in chosen.items() if value}


class LargeBody(aiohttp.BytesPayload):
    """A request's body that goes out as it is: aiohttp would join headers and body to one copy of both."""

    async def write(self, writer: AbstractStreamWriter) -> None:
        _send_headers(writer)
        await super().write(writer)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        _send_headers(writer)
        await super().write_with_length(writer, content_length)


def _send_headers(writer: AbstractStreamWriter) -> None:
    """Earlier versions of aiohttp have sent them by now."""
    if hasattr(writer, "send_headers"):
        writer.send_headers()


class HttpModel:
    """A model behind one or more endpoints. Roles are sub-classes with one method more."""

    role = ""
    provider = "openai"
    batch = 1
    #: Items of one request, unless the config says another number; 0: always one.
    items = 0

    def __init__(self, config: ModelConfig, backoff: Backoff | None = None) -> None:
        # Endpoints may change between sessions; only this name tells one model's results from another's.
        if not config.model.strip():
            raise ConfigError(
                f"provider {config.provider} needs `model`: it is the name under which results are kept",
                "add `model: name`; a server that must not be sent it: `params: {model: null}`",
            )
        settings = {"params": config.params, **self.more_settings(config)}
        self.identity = Identity(self.role, self.provider, config.model, settings)
        self.config = config
        if self.items:
            self.batch = config.batch or self.items
        self.parallel = config.concurrency * max(1, len(config.endpoints))
        self._key = read_key(config)
        self._session: aiohttp.ClientSession | None = None
        self._redactor = Redactor(self._key, variable=config.api_key_env)
        self._access = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._headers = {"Content-Type": "application/json", **self._access}
        self.limits = config.picture_limits
        self._longest_reply = REPLY_ROOM + (config.batch or max(1, self.items)) * self.longest_item()
        self.pool = EndpointPool(
            read_endpoints(config, self.base_of), self._send, config.patience, backoff, self._redactor
        )

        self._fetcher = PictureFetcher(
            config.image_hosts, self.limits, self._access, config.timeout, self._redactor, self.pool.pause
        )

    def more_settings(self, config: ModelConfig) -> dict[str, Any]:
        """What else makes the model what it is, beside its params."""
        return {}

    def longest_item(self) -> int:
        """How much longer a reply may be for every item, in bytes."""
        return 0

    def longest_picture(self) -> int:
        """Of a picture in base64, which is a third longer than the picture."""
        return self.limits.bytes * 4 // 3

    def base_of(self, address: str) -> str:
        return openai_base(address)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identity.model!r})"

    async def start(self) -> None:
        if self._session is not None:
            return
        self._session = aiohttp.ClientSession(
            headers={"User-Agent": "failscape", **PLAIN_ONLY},
            auto_decompress=False,  # without a bound; see bodies.py
            # The pool limits what is in flight, so the connector need not; cookies would only cost time.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=self.config.timeout, sock_connect=min(self.config.timeout, CONNECT_SECONDS)
            ),
            read_bufsize=2**18,
        )

    async def close(self) -> None:
        self.pool.close()
        await self._fetcher.close()
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def stats(self) -> list[EndpointStats]:
        """What became of each endpoint, for health checks and reports."""
        return self.pool.stats()

    async def _send(self, url: str, body: bytes) -> Response:
        data = body if len(body) < LARGE else LargeBody(memoryview(body))
        post = self._live_session().post(url, data=data, headers=self._headers, allow_redirects=False)
        async with post as response:
            is_error = not 200 <= response.status < 300
            most = ERROR_BYTES if is_error else self._longest_reply
            reply = await read_body(response, most, cut=is_error)
            return Response(response.status, response.headers, reply.pieces, reply.close)

    def _live_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise ModelError(f"{self!r} is not started", "call `await model.start()` first")
        return self._session

    def is_work(self, images: Sequence[Picture]) -> bool:
        """Whether making these pictures ready for a request would hold the event loop up."""
        side, format = self.config.image_max_side, self.config.image_format
        return (
            (bool(images) and self.config.video is not None)
            or any(format and image.format != format.upper() for image in images)
            or sum(len(image.data) for image in images) >= LARGE
            or any(side and max(image.size) > side for image in images)
        )

    def ask(
        self,
        path: str,
        payload: dict[str, Any],
        read: Callable[[bytes], T],
        finishing: Finishing | None = None,
    ) -> Awaitable[PoolReply[T]]:
        return self.pool.post(path, encode(payload), read, finishing)

    async def download(self, url: str, base: str) -> Picture:
        """The picture behind an address that the endpoint at `base` named in its reply."""
        data = await self._fetcher.fetch(url, base)
        return await read_off_loop(lambda: picture_from_bytes(data, self.limits))

    def bill(self, answer: PoolReply[Any], tokens: tuple[int, int] = (0, 0)) -> Usage:
        cost = self.config.price * answer.answered
        return Usage(answer.requests, answer.seconds, *tokens, cost, shown_url(answer.base))

    def invalid(self, error: ModelError, spent: Usage = NOTHING) -> Reply[Any]:
        """The reply when this one request cannot be served; what was spent on it, also before, is kept."""
        usage = Usage(error.requests, cost=self.config.price * error.answered)
        return Reply(None, error.message, usage=spent + usage)

    async def together(
        self, items: Sequence[Item], request: Callable[[Sequence[Item]], Awaitable[tuple[list[T], Usage]]]
    ) -> list[Reply[T]]:
        """One request for each `batch` of items."""
        parts = [items[start : start + self.batch] for start in range(0, len(items), self.batch)]
        return [reply for part in parts for reply in await self.at_once(part, request)]

    async def at_once(
        self, items: Sequence[Item], request: Callable[[Sequence[Item]], Awaitable[tuple[list[T], Usage]]]
    ) -> list[Reply[T]]:
        """One request for all items. Where it fails, one for each: a bad item must not spoil the others."""
        try:
            values, usage = await request(items)
        except (BadReply, Refused) as error:
            failed = self.invalid(error)
            if len(items) == 1:
                return [failed]
            replies = [reply for item in items for reply in await self.at_once([item], request)]
            return [replace(replies[0], usage=failed.usage + replies[0].usage), *replies[1:]]
        # The first reply carries the attempts; all share time and cost.
        first = replace(usage, seconds=usage.seconds / len(values), cost=usage.cost / len(values))
        share = replace(first, requests=0, tokens_in=0, tokens_out=0)
        return [Reply(value, usage=share if row else first) for row, value in enumerate(values)]
