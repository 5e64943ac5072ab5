"""Runs a server until it is told to stop, and says in words when its port cannot be had."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable

from aiohttp import web

from failscape.errors import ConfigError
from failscape.servers.app import build_app
from failscape.servers.requests import Served


async def serve(served: Served, host: str, port: int, announce: Callable[[str], object]) -> None:
    """Serve until SIGTERM or Ctrl-C. `announce` gets the address once requests are answered."""
    runner = web.AppRunner(build_app(served), access_log=None)
    await runner.setup()
    try:
        await _listen(runner, host, port)
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
