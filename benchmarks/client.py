"""The model client against a bare aiohttp loop: the same requests to the same instant server, side by side.

    python benchmarks/client.py --requests 6000 --in-flight 256

Prints requests a second and our own CPU time for both, medians over alternating rounds, and the range of the
ratio from round to round: on a busy machine a single round says little. The server is its own process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import aiohttp
from aiohttp import web

from failscape.config import ModelConfig
from failscape.models.providers.openai import OpenAIGenerator
from failscape.testing.faulty import scripted_answer


class Rate(NamedTuple):
    per_second: float
    cpu_microseconds: float


async def serve() -> None:
    """Answers every request with the same small picture, as fast as aiohttp can."""
    reply = web.json_response(scripted_answer("/images/generations", {"prompt": "p", "seed": 1})).body

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=reply, content_type="application/json")

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


async def timed(count: int, in_flight: int, call: Callable[[int], Awaitable[object]]) -> Rate:
    """Requests a second with `in_flight` workers, and our own CPU time for each."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await call(number)

    started, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return Rate(count / (time.perf_counter() - started), (time.process_time() - used) / count * 1e6)


async def bare(base: str, count: int, in_flight: int) -> Rate:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def call(number: int) -> None:
            payload = {"model": "m", "prompt": f"p{number}", "n": 1, "seed": number}
            async with session.post(f"{base}/v1/images/generations", json=payload) as response:
                await response.json()

        await timed(in_flight, in_flight, call)
        return await timed(count, in_flight, call)


async def ours(base: str, count: int, in_flight: int) -> Rate:
    model = OpenAIGenerator(
        ModelConfig(provider="openai", model="m", endpoints=(base,), concurrency=in_flight)
    )
    await model.start()
    try:

        async def call(number: int) -> None:
            await model.generate([f"p{number}"], [number])

        await timed(in_flight, in_flight, call)
        return await timed(count, in_flight, call)
    finally:
        await model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        rates: dict[str, list[Rate]] = {"bare": [], "ours": []}
        arms = [("bare", bare), ("ours", ours)]
        for _ in range(options.rounds):
            arms.reverse()  # neither arm is always the first
            for name, run in arms:
                rates[name].append(asyncio.run(run(base, options.requests, options.in_flight)))
    finally:
        server.kill()
        server.wait()
    report(rates["bare"], rates["ours"])


def report(bare_rates: list[Rate], our_rates: list[Rate]) -> None:
    for title, values in (("bare aiohttp loop", bare_rates), ("failscape client", our_rates)):
        speed = statistics.median(rate.per_second for rate in values)
        cpu = statistics.median(rate.cpu_microseconds for rate in values)
        print(f"{title:18} {speed:8.0f} requests/s {cpu:6.0f} µs CPU each")
    pairs = list(zip(our_rates, bare_rates, strict=True))
    speeds = sorted(ours.per_second / bare.per_second for ours, bare in pairs)
    costs = sorted(bare.cpu_microseconds / ours.cpu_microseconds for ours, bare in pairs)
    for title, ratios in (("by requests/s", speeds), ("by CPU time", costs)):
        middle = statistics.median(ratios)
        print(f"ratio {title:14} {middle:6.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f}; to reach: 0.80)")


if __name__ == "__main__":
    main()
