"""Runs a server until it is told to stop, says when its port cannot be had, and keeps strangers from it; or
runs one server process per GPU: waits until they are healthy, restarts what ends, keeps a log of each.

A page that makes its own name point at this machine (DNS rebinding) names itself as `Host`; a server on
loopback answers to the names of loopback only. Connections that send no request are cut after a while, and
the oldest of them when there are too many.
"""

import asyncio
import errno
import ipaddress
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from failscape.errors import ConfigError, ModelError
from failscape.servers.app import LOADING, build_app
from failscape.servers.backends import Served
from failscape.servers.explaining import json_error

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
            return json_error(421, text, "invalid_request_error")
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
    """Runs an application whose silent connections are watched and whose `Host` is checked.

    With `cancel`, a client that leaves takes its request along: what nobody waits for is not done.
    """

    def __init__(
        self,
        app: web.Application,
        host: str,
        silent: Silent | None = None,
        shutdown_timeout: float = 60.0,
        cancel: bool = False,
    ) -> None:
        self.silent = Silent() if silent is None else silent
        app.middlewares.insert(0, self.silent.heard)
        app.middlewares.insert(1, known_names(host))
        super().__init__(app, access_log=None, shutdown_timeout=shutdown_timeout, handler_cancellation=cancel)

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
    await serve_app(build_app(served, wait=False), host, port, announce, cancel=True)


async def serve_app(
    app: web.Application,
    host: str,
    port: int,
    announce: Callable[[str], object],
    cancel: bool = False,
) -> None:
    """The same for any application; `cancel` as in `GuardedRunner`."""
    runner = GuardedRunner(app, host, shutdown_timeout=SHUTDOWN_SECONDS, cancel=cancel)
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


#: Seconds before a process that ended is started again: doubled each time, until it was healthy once more.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

#: Starts in a row without ever being healthy, after which all is given up: it is the settings.
TRIES = 4

HEALTH_SECONDS = 0.5
STOP_SECONDS = 15.0
LAST_LINES = 12


@dataclass(slots=True)
class Child:
    """One server: its command, where it listens, where its log is."""

    words: list[str]
    url: str
    #: Its address as others reach it.
    shown: str
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    restarts: int = 0


def read_gpus(gpus: str | None, copies: int | None) -> list[str | None]:
    """`0-3` or `0,2`, one entry for each process; `copies` processes are not bound to a GPU."""
    if gpus and copies:
        raise ConfigError("--gpus and --copies exclude each other", "give one of them")
    if not gpus:
        return [None] * (copies or 1)
    found: list[str | None] = []
    for part in gpus.split(","):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if ends is None or int(ends[2] or ends[1]) < int(ends[1]):
            raise ConfigError(f"--gpus takes numbers such as 0-3 or 0,2, but got {gpus!r}", "write it so")
        found += [str(number) for number in range(int(ends[1]), int(ends[2] or ends[1]) + 1)]
    if len(set(found)) != len(found):
        raise ConfigError(f"--gpus names a GPU twice: {gpus}", "name each once")
    return found


def children_of(
    words: Sequence[str], gpus: Sequence[str | None], start_port: int, host: str, logs: Path
) -> list[Child]:
    """One child per GPU, on ports from `start_port` on."""
    everywhere = host in ("0.0.0.0", "::")
    reached, shown = ("127.0.0.1", socket.gethostname()) if everywhere else (host, host)
    return [
        Child(
            [*words, "--port", str(port)],
            f"http://{reached}:{port}",
            f"http://{shown}:{port}",
            logs / f"{port}.log",
            {"CUDA_VISIBLE_DEVICES": gpu} if gpu is not None else {},
        )
        for port, gpu in enumerate(gpus, start_port)
    ]


def account(role: str, model: str, children: Sequence[Child], suffix: str = "") -> str:
    """What to write into a config."""
    listed = ", ".join(f'"{child.shown}{suffix}"' for child in children)
    return (
        f"{model}: {len(children)} servers are ready. Ctrl-C stops them. In a config:\n"
        f"  {role}: {{provider: openai, model: {model}, endpoints: [{listed}]}}\nendpoints: [{listed}]"
    )


async def supervise(children: Sequence[Child], announce: Callable[[list[Child]], object]) -> None:
    """Run all until SIGTERM or Ctrl-C. `announce` is called once, when all are healthy."""
    ready = [asyncio.Event() for _ in children]
    keepers = [asyncio.create_task(_keep(child, event)) for child, event in zip(children, ready, strict=True)]
    stopping = asyncio.create_task(stop_signal().wait())
    waiting = asyncio.gather(*(event.wait() for event in ready))
    ending: list[asyncio.Task[Any]] = [stopping, *keepers]
    try:
        await asyncio.wait([waiting, *ending], return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            announce(list(children))
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        stopping.cancel()
        ended = [keeper for keeper in keepers if keeper.done()]
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(waiting, stopping, *keepers, return_exceptions=True)
    for keeper in ended:
        keeper.result()


async def _keep(child: Child, ready: asyncio.Event) -> None:
    """Start it again whenever it ends, later each time; give up when it has never been healthy."""
    wait, failures = FIRST_WAIT, 0
    while True:
        if await _live(child, ready):
            wait, failures = FIRST_WAIT, 0
        failures += 1
        if failures >= TRIES:
            last = child.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            raise ModelError(
                f"{child.url} ended {failures} times before it was ready; the end of {child.log}:\n"
                + "\n".join(last),
                "mend what the log says, then start again",
            )
        with child.log.open("a", encoding="utf-8") as log:
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            log.write(f"{now} supervisor: {child.url} ended; starts again in {wait:g} s\n")

        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)
        child.restarts += 1


async def _live(child: Child, ready: asyncio.Event) -> bool:
    """One life of a process; whether it was healthy at any time."""
    child.log.parent.mkdir(parents=True, exist_ok=True)
    with child.log.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *child.words,
            stdout=log,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **child.environment},
            start_new_session=True,  # Ctrl-C goes to us; we stop them in order
        )
    watching = asyncio.create_task(_healthy(child.url))
    ending = asyncio.create_task(process.wait())
    try:
        await asyncio.wait([watching, ending], return_when=asyncio.FIRST_COMPLETED)
        was_healthy = watching.done()
        if was_healthy and not ending.done():
            ready.set()
        await ending
        return was_healthy
    finally:
        watching.cancel()
        ending.cancel()
        await _stop(process)


async def _healthy(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"{url}/health", timeout=aiohttp.ClientTimeout(5)) as reply:
                    if reply.status == 200:
                        return
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(HEALTH_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
