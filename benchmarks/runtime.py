"""How much the runtime costs: against a bare HTTP loop, in process, on resume, and at the prompt.

    python -m benchmarks.runtime [--quick]

Ratios are measured in one run on one machine, so they can be compared; absolute numbers cannot.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from failscape.atlas import Atlas, Recorded
from failscape.config.files import parse_config
from failscape.kinds.t2i.build import build_hunt
from failscape.models.contracts.judge import BooleanContract
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.search.protocol import replay
from failscape.testing.servers import planted_server
from failscape.trials import Decide, Generate, Trial, Verdict

IN_FLIGHT = 64
MODEL = "planted"
"""The name that the planted servers answer to; the instant server takes any."""


Addresses = tuple[str, str]
"""Of the generator and of the judge."""


def config(addresses: Addresses, images: int, **judge: Any) -> Any:
    """The strategy is named: it must ask for one image after another as the bare loop does."""
    roles: list[dict[str, Any]] = [
        {"provider": "openai", "model": MODEL, "endpoints": [url], "concurrency": IN_FLIGHT}
        for url in addresses
    ]
    roles[1] |= judge
    return parse_config(
        {
            "hunt": "t2i",
            "target": roles[0],
            "judge": roles[1],
            "space": {"corpus": "starter", "depth": 0},
            "search": {"strategy": "failureatlas", "images_per_node": 2_000},
            "budget": {"images": images},
            "runtime": {"in_flight": IN_FLIGHT},
        },
        "benchmark",
    )


@contextmanager
def instant_server(side: int = 64) -> Iterator[Addresses]:
    """One server that answers at once with fixed bytes: only clients are measured. Side 1024: 1.5 MB."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.instant_server", str(port), str(side)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@contextmanager
def planted_servers() -> Iterator[Addresses]:
    """A planted painter and its judge, a process each: they really draw and look."""
    world = {"regime": "medium", "seed": 1}
    with planted_server(judge=False, **world) as painter, planted_server(generator=False, **world) as judge:
        yield f"{painter.url}/v1", f"{judge.url}/v1"


@dataclass(frozen=True, slots=True)
class Pace:
    """What a loop of trials took: trials a second, and milliseconds of processor time a trial.

    `loop` is the main thread's share, where the event loop runs; the rest is done in other threads.
    """

    rate: float
    processor: float
    loop: float


@contextmanager
def timed(trials: int) -> Iterator[list[Pace]]:
    found: list[Pace] = []
    wall, processor, loop = time.perf_counter(), time.process_time(), time.thread_time()
    yield found
    seconds = time.perf_counter() - wall
    spent = (time.process_time() - processor, time.thread_time() - loop)
    found.append(Pace(trials / seconds, *(1e3 * share / trials for share in spent)))


async def bare_loop(addresses: Addresses, images: int) -> Pace:
    """The same requests by hand, with nothing recorded."""
    probes = build_hunt(config(addresses, images)).ask(images)
    assert len(probes) == images, f"{len(probes)} probes were asked for, not {images}"
    left = iter(probes)
    painter, eyes = addresses

    async def worker(session: aiohttp.ClientSession) -> None:
        for probe in left:
            generate, decide = probe.steps
            assert isinstance(generate, Generate)
            assert isinstance(decide, Decide)
            payload: dict[str, Any] = {"model": MODEL, "prompt": generate.prompt, "n": 1}
            payload |= {"seed": probe.seed, "response_format": "b64_json"}
            async with session.post(f"{painter}/images/generations", json=payload) as reply:
                image = base64.b64decode((await reply.json())["data"][0]["b64_json"])
            await judge(session, image, decide)

    async def judge(session: aiohttp.ClientSession, image: bytes, decide: Decide) -> None:
        ask = BooleanContract().ask(decide.checks, "")
        url = "data:image/png;base64," + base64.b64encode(image).decode()
        content = [{"type": "text", "text": ask.text}, {"type": "image_url", "image_url": {"url": url}}]
        schema = {"name": "reply", "schema": ask.schema, "strict": True}
        payload = {"model": MODEL, "messages": [{"role": "user", "content": content}]}
        payload["response_format"] = {"type": "json_schema", "json_schema": schema}  # type: ignore[assignment]
        async with session.post(f"{eyes}/chat/completions", json=payload) as reply:
            json.loads((await reply.json())["choices"][0]["message"]["content"])

    connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
    async with aiohttp.ClientSession(connector=connector) as session:
        with timed(images) as found:
            await asyncio.gather(*(worker(session) for _ in range(IN_FLIGHT)))
    return found[0]


def our_loop(settings: Any, images: int, folder: Path) -> Pace:
    with timed(images) as found:
        summary = asyncio.run(run_session(settings, folder, PlainReporter()))
    assert summary.trials == images, f"{summary.trials} trials were run, not {images}"
    return found[0]


def seconds_of_server(address: str) -> float:
    """Processor time that the instant server has taken so far; other servers do not say."""
    try:
        with urllib.request.urlopen(f"{address}/processor-seconds") as reply:
            return float(json.load(reply))
    except urllib.error.HTTPError:
        return float("nan")


def measure_http(name: str, servers: Any, images: int, rounds: int, **judge: Any) -> None:
    """Atlases are removed at the very end: ext4 creates files slowly just after many were deleted."""
    bare, ours, served = [], [], []
    with servers() as addresses, tempfile.TemporaryDirectory() as folder:
        asyncio.run(bare_loop(addresses, max(1, images // 4)))
        for number in range(rounds):
            bare.append(asyncio.run(bare_loop(addresses, images)))
            settings, before = config(addresses, images, **judge), seconds_of_server(addresses[0])
            ours.append(our_loop(settings, images, Path(folder) / f"atlas{number}"))
            served.append(1e3 * (seconds_of_server(addresses[0]) - before) / images)
    print(f"http, {name}, {images} trials, {IN_FLIGHT} in flight, median of {rounds} rounds")
    for label, found in (("bare aiohttp loop", bare), ("failscape, recording", ours)):
        pace = Pace(*(statistics.median(values) for values in zip(*map(astuple, found), strict=True)))
        spent = f"{pace.processor:7.2f} ms of processor a trial, {pace.loop:6.2f} of them in the event loop"
        print(f"  {label:<21} {pace.rate:8.0f} trials/s {spent}")
    print(f"  the server, beside ours {statistics.median(served):32.2f} ms of processor a trial")
    pairs = list(zip(ours, bare, strict=True))
    print(f"  ratio of speed        {statistics.median(o.rate / b.rate for o, b in pairs):8.2f}")
    print(f"  ratio of processor    {statistics.median(b.processor / o.processor for o, b in pairs):8.2f}")


def in_process_config(images: int, keep: str, strategy: str = "failureatlas") -> Any:
    planted = "failscape.simulate.planted"
    params = {"corpus": "starter", "regime": "medium", "seed": 1}
    return parse_config(
        {
            "hunt": "t2i",
            "target": {"provider": "python", "path": f"{planted}:PlantedGenerator", "params": params},
            "judge": {"provider": "python", "path": f"{planted}:PlantedJudge", "params": params},
            "space": {"corpus": "starter", "depth": 2},
            "search": {"strategy": strategy},
            "budget": {"images": images},
            "runtime": {"in_flight": 256, "keep_images": keep},
        },
        "benchmark",
    )


def measure_in_process(images: int) -> None:
    print(f"in process, planted world, {images} trials, recorded")
    for strategy in ("failureatlas", "certified"):
        for keep, label in (("none", "without pictures"), ("all", "pictures stored")):
            with tempfile.TemporaryDirectory() as folder:
                settings = in_process_config(images, keep, strategy)
                pace = our_loop(settings, images, Path(folder) / "atlas")
            print(f"  {strategy:<13} {label:<17} {pace.rate:7.0f} trials/s {pace.processor:6.2f} ms each")


def measure_resume(trials: int) -> None:
    """Write an atlas of many trials, then time what a resuming run does before its first request."""
    folder = Path(tempfile.mkdtemp())
    try:
        fill_atlas(folder / "atlas", trials)
        code = f"from benchmarks.runtime import resume; resume({str(folder / 'atlas')!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
    finally:
        shutil.rmtree(folder)


def fill_atlas(folder: Path, trials: int) -> None:
    settings = in_process_config(trials, "none")
    hunt, group, written = build_hunt(settings), [], 0
    with Atlas.open(folder, create=True) as atlas:
        hunt_id = atlas.start_hunt("t2i", settings.model_dump(mode="json"), {})
        while written < trials:
            for probe in hunt.ask(1000):
                facts = [f"{written:032x}", [True] * len(probe.steps[1].checks)]  # type: ignore[union-attr]
                trial = Trial(probe.key, probe.subject, Verdict.PASS, "", facts, probe.seed)
                group.append(Recorded(probe, trial, (), 0.0, 0.1))
                written += 1
            atlas.record(hunt_id, group)
            for recorded in group:
                hunt.tell(recorded.trial)
            if not group:
                break
            group = []


def measure_memory(images: int) -> None:
    """The peak memory of two runs, one ten times as long as the other, each in a process of its own."""
    peaks = []
    for count in (images // 10, images):
        code = f"from benchmarks.runtime import peak_of_run; peak_of_run({count})"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        peaks.append(float(done.stdout.split()[-1]))
    print("memory of a run with pictures stored")
    print(f"  {images // 10:>9,} images      {peaks[0]:8.0f} MB")
    print(f"  {images:>9,} images      {peaks[1]:8.0f} MB")


def peak_of_run(images: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run_session(in_process_config(images, "all"), Path(folder) / "atlas", PlainReporter()))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def resume(folder: str) -> None:
    started = time.perf_counter()
    with Atlas.open(Path(folder)) as atlas:
        row = atlas.hunts()[0]
        hunt = build_hunt(parse_config(row.config, "atlas"))
        count = replay(hunt, atlas.replay(row.id))
        hunt.ask(64)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"resume of {count:,} trials")
    print(f"  time                  {seconds:8.1f} s         (goal: under 20 for 1 M)")
    print(f"  peak memory           {memory:8.0f} MB        (goal: under 1,500)")


def measure_help() -> None:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "failscape", "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    print(f"failscape --help        {statistics.median(times):8.2f} s         (goal: under 0.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    quick = parser.parse_args().quick
    measure_help()
    large = partial(instant_server, 1024)
    measure_http("64-pixel pictures", instant_server, 2_000 if quick else 10_000, 1 if quick else 3)
    measure_http("1.5 MB pictures", large, 200 if quick else 1_000, 1 if quick else 3)
    for format in ("png", "jpeg"):
        name = f"1.5 MB pictures shrunk to 768, sent as {format}"
        measure_http(name, large, 100 if quick else 500, 1, image_max_side=768, image_format=format)
    measure_http("planted world", planted_servers, 1_000 if quick else 5_000, 1 if quick else 3)
    measure_in_process(6_000 if quick else 60_000)
    measure_memory(6_000 if quick else 60_000)
    measure_resume(100_000 if quick else 1_000_000)


if __name__ == "__main__":
    main()
