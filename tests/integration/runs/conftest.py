"""A generator and a judge as two real servers, a config that names them, and the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from failscape.atlas import Atlas
from failscape.errors import AtlasError
from failscape.testing.servers import ModelServer, planted_server

WORLD = {"regime": "weak", "seed": 3}


class Bench:
    """Everything one test of whole runs needs."""

    def __init__(self, folder: Path, generator: ModelServer, judge: ModelServer) -> None:
        self.generator = generator
        self.judge = judge
        self.config = folder / "hunt.yaml"
        self.atlas = folder / "atlas"
        self.write()

    def write(self, **changes: Any) -> None:
        settings = {
            "hunt": "t2i",
            "target": self.role(self.generator),
            "judge": self.role(self.judge),
            "space": {"corpus": "starter", "depth": 1, "entities": "sample"},
            "search": {"strategy": "failureatlas", "images_per_node": 5},
            "budget": {"images": 300},
            "runtime": {"in_flight": 16},
            "seed": 11,
        }
        self.config.write_text(yaml.safe_dump({**settings, **changes}))

    def role(self, server: ModelServer) -> dict[str, Any]:
        return {"provider": "openai", "model": "planted", "endpoints": [server.url], "patience": 60}

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "failscape", "run", str(self.config), "--atlas", str(self.atlas)]
        return subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*options)
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def wait_for_trials(self, count: int, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        while self.recorded() < count:
            assert time.monotonic() < deadline, f"no {count} trials within {seconds} s"
            time.sleep(0.05)

    def recorded(self) -> int:
        try:
            with Atlas.open(self.atlas, readonly=True) as atlas:
                return sum(sum(atlas.counts(hunt.id).values()) for hunt in atlas.hunts())
        except AtlasError:  # not made yet
            return 0

    def keys(self) -> list[str]:
        with Atlas.open(self.atlas, readonly=True) as atlas:
            return [trial.key for hunt in atlas.hunts() for trial in atlas.replay(hunt.id)]

    def findings(self) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "failscape", "findings", str(self.atlas), "--json"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[ModelServer, ModelServer]]:
    with planted_server(judge=False, **WORLD) as generator, planted_server(generator=False, **WORLD) as judge:
        yield generator, judge


@pytest.fixture
def bench(tmp_path: Path, servers: tuple[ModelServer, ModelServer]) -> Bench:
    return Bench(tmp_path, *servers)


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
