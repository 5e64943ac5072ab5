"""Runs a server until it is told to stop, and says in words when its port cannot be had."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable

from aiohttp import web

from failscape.errors import ConfigError
from failscape.servers.app import LOADING, build_app
from failscape.servers.guard import GuardedRunner
from failscape.servers.offer import Served

SHUTDOWN_SECONDS = 3.0
"""Connections that are still open then are cut: a page that follows news would hold the server for ever."""


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
        await _stopped()
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} of {host} is already in use", "choose another with --port; 0 takes a free one"
            ) from error
        raise ConfigError(
            f"cannot listen on port {port} of {host!r} ({error.strerror or error})",
            "choose others with --host and --port",
        ) from error


async def _stopped() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
