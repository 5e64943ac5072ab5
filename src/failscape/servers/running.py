"""Runs a server until it is told to stop, says when its port cannot be had, and keeps strangers from it.

A page that makes its own name point at this machine (DNS rebinding) names itself as `Host`; a server on
loopback answers to loopback's own names only. Connections that send no request are cut after a while, and the
oldest of them when there are too many.
"""

import asyncio
import errno
import ipaddress
import signal
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from failscape.errors import ConfigError
from failscape.servers.app import LOADING, build_app
from failscape.servers.backends import Served

#: How long a connection may take until its first request is there.
HEADER_SECONDS = 20.0

#: Connections without a request at one time. Honest clients send on each at once, however many they open.
MOST_SILENT = 1024


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def known_names(host: str) -> Middleware:
    """On loopback, requests that name another host are refused. Elsewhere a server may have any name."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = urlsplit(f"//{request.host}").hostname or ""
        if is_loopback(host) and name != host and not is_loopback(name):
            text = f"this server listens on {host} and does not answer to the name {request.host!r}"
            error = {"message": text, "type": "invalid_request_error", "code": None}
            return web.json_response({"error": error}, status=421)
        return await handler(request)

    return check


class Silent:
    """The connections that have not asked anything yet, oldest first."""

    def __init__(self, seconds: float = HEADER_SECONDS, most: int = MOST_SILENT) -> None:
        self._seconds = seconds
        self._most = most
        self._waiting: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, transport: asyncio.BaseTransport) -> None:
        loop = asyncio.get_running_loop()
        self._waiting[transport] = loop.call_later(self._seconds, self._cut, transport)
        if len(self._waiting) > self._most:
            self._cut(next(iter(self._waiting)))

    def forget(self, transport: asyncio.BaseTransport | None) -> None:
        timer = self._waiting.pop(transport, None) if transport is not None else None
        if timer is not None:
            timer.cancel()

    def _cut(self, transport: asyncio.BaseTransport) -> None:
        self.forget(transport)
        if isinstance(transport, asyncio.Transport):
            transport.abort()

    @property
    def heard(self) -> Middleware:
        """Notes that a connection has asked something."""

        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.forget(request.transport)
            return await handler(request)

        return note


class GuardedRunner(web.AppRunner):
    """Runs an application whose silent connections are watched and whose `Host` is checked."""

    def __init__(
        self, app: web.Application, host: str, silent: Silent | None = None, shutdown_timeout: float = 60.0
    ) -> None:
        self.silent = Silent() if silent is None else silent
        app.middlewares.insert(0, self.silent.heard)
        app.middlewares.insert(1, known_names(host))
        super().__init__(app, access_log=None, shutdown_timeout=shutdown_timeout)

    @property
    def server(self) -> web.Server | None:
        """What makes a protocol for each new connection."""
        inner = super().server
        if inner is None:
            return None
        return lambda: _Connection(inner(), self.silent)  # type: ignore[return-value]


class _Connection(asyncio.Protocol):
    """Passes everything on to the real protocol, and tells when the connection begins and ends."""

    def __init__(self, inner: asyncio.Protocol, silent: Silent) -> None:
        self._silent = silent
        self._transport: asyncio.BaseTransport | None = None
        self._inner = inner
        self.data_received = inner.data_received  # type: ignore[method-assign]
        self.eof_received = inner.eof_received  # type: ignore[method-assign]
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._silent.add(transport)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._silent.forget(self._transport)
        self._inner.connection_lost(exc)  # type: ignore[arg-type]


#: Connections that are still open then are cut: a page that follows news would hold the server for ever.
SHUTDOWN_SECONDS = 3.0


async def serve(served: Served, host: str, port: int, announce: Callable[[str], object]) -> None:
    """Serve models until SIGTERM or Ctrl-C. `announce` gets the address once requests are answered."""
    await serve_app(build_app(served, wait=False), host, port, announce)


async def serve_app(app: web.Application, host: str, port: int, announce: Callable[[str], object]) -> None:
    """The same for any application."""
    runner = GuardedRunner(app, host, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await _listen(runner, host, port)
        if LOADING in app:
            await app[LOADING].wait()
        announce(f"http://{f'[{host}]' if ':' in host else host}:{runner.addresses[0][1]}")
        await stop_signal().wait()
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        told = f"cannot listen on port {port} of {host!r} ({error.strerror or error})"
        fix = "choose others with --host and --port"
        if error.errno == errno.EADDRINUSE:
            told = f"port {port} of {host} is already in use"
            fix = "choose another with --port; 0 takes a free one"
        raise ConfigError(told, fix) from error


def stop_signal() -> asyncio.Event:
    """Set at SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
