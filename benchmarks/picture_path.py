"""What pictures of 1.5 MB cost on their way from the target to the judge, and how long the event loop waits.

    python -m benchmarks.picture_path [--trials 500] [--in-flight 512]

A server of fixed bytes draws PNGs of 1024 × 1024; each is checked, recorded, and shown to a judge: as it is,
or shrunk to 768 pixels in one of the formats. *Lag* is how much later than asked for a timer of the event
loop rings, sampled every 5 ms while trials run. On a machine with other work, compare the processor time: two
cores at rest do `2000 / (ours + server's)` trials a second.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runtime import Addresses, config, instant_server, seconds_of_server
from failscape.config import HuntConfig
from failscape.runtime.progress import RunSnapshot
from failscape.runtime.session import run_session

SAMPLE_SECONDS = 0.005
WAYS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "shrunk to 768 (JPEG, the default)": {"image_max_side": 768},
    "shrunk to 768, `image_format: png`": {"image_max_side": 768, "image_format": "png"},
    "shrunk to 768, `image_format: webp`": {"image_max_side": 768, "image_format": "webp"},
}


class Quiet:
    """A reporter that says nothing."""

    def update(self, snapshot: RunSnapshot) -> None: ...

    def note(self, kind: str, text: str) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PathRow:
    """Trials a second, milliseconds of processor time a trial (ours and the server's), and lag in ms."""

    way: str
    rate: float
    processor: float
    server: float
    lag_median: float
    lag_p99: float
    lag_most: float


async def _sample(lags: list[float]) -> None:
    while True:
        asked = time.perf_counter() + SAMPLE_SECONDS
        await asyncio.sleep(SAMPLE_SECONDS)
        lags.append(time.perf_counter() - asked)


async def _run(settings: HuntConfig, folder: Path) -> list[float]:
    lags: list[float] = []
    sampling = asyncio.create_task(_sample(lags))
    try:
        await run_session(settings, folder, Quiet())
    finally:
        sampling.cancel()
    return lags


def measure(way: str, addresses: Addresses, trials: int, in_flight: int) -> PathRow:
    """One run of `trials` images, recorded, with `in_flight` probes at once."""
    plain = config(addresses, trials, **WAYS[way])
    roles = {"target": plain.target, "judge": plain.judge}
    wider = {name: role.model_copy(update={"concurrency": in_flight}) for name, role in roles.items()}
    runtime = plain.runtime.model_copy(update={"in_flight": in_flight})
    settings = plain.model_copy(update={**wider, "runtime": runtime})
    with tempfile.TemporaryDirectory() as folder:
        served, wall, processor = seconds_of_server(addresses[0]), time.perf_counter(), time.process_time()
        lags = asyncio.run(_run(settings, Path(folder) / "atlas"))
        seconds, spent = time.perf_counter() - wall, time.process_time() - processor
        served = seconds_of_server(addresses[0]) - served
    median, high, most = 1e3 * np.quantile(lags, [0.5, 0.99, 1.0])
    each = 1e3 / trials
    return PathRow(way, trials / seconds, each * spent, each * served, median, high, most)


def show(rows: Sequence[PathRow]) -> None:
    print("| pictures | trials/s | ms of processor a trial: ours, server | lag: median, p99, most (ms) |")
    print("|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.way} | {row.rate:.0f} | {row.processor:.1f}, {row.server:.1f} |"
            f" {row.lag_median:.1f}, {row.lag_p99:.1f}, {row.lag_most:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--in-flight", type=int, default=512)
    options = parser.parse_args()
    with instant_server(1024) as addresses:
        show([measure(way, addresses, options.trials, options.in_flight) for way in WAYS])


if __name__ == "__main__":
    main()
