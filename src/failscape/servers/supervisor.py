"""Runs one server process per GPU: waits until they are healthy, restarts what ends, keeps a log of each."""

import asyncio
import os
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from failscape.errors import ConfigError, ModelError
from failscape.servers.running import stop_signal

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
