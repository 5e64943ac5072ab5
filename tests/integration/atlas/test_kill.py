"""`kill -9` at random moments: what was acknowledged is there, once, with its pictures."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from failscape.atlas import Atlas

ROOT = Path(__file__).parents[3]
RECORDER = [sys.executable, "-m", "tests.integration.atlas.recorder"]
ROUNDS = 8


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    folder, rng, acknowledged = tmp_path / "atlas", random.Random(5), 0
    for number in range(ROUNDS):
        said = _run_and_kill(folder, number, rng.randrange(1, 20))
        acknowledged = _check(folder, max(acknowledged, said))
    assert acknowledged >= ROUNDS  # every round recorded something


@pytest.mark.parametrize("sign", [".", "atlas.lock", "atlas.db", "atlas.db-wal", "images"])
def test_killed_while_starting(sign: str, tmp_path: Path) -> None:
    """As soon as a file is there: the tables and the hunt may or may not be."""
    folder = tmp_path / "atlas"
    with subprocess.Popen([*RECORDER, str(folder), "1"], stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        while not (folder / sign).exists():
            assert process.poll() is None, "the recorder ended by itself"
            time.sleep(0)
        process.kill()
    with Atlas.open(folder, create=True) as atlas:
        assert len(atlas.hunts()) <= 1
        atlas.start_hunt("t2i", {}, {})


def _run_and_kill(folder: Path, seed: int, groups: int) -> int:
    """Kill the recorder after so many groups. The last number that it said was safe."""
    command = [*RECORDER, str(folder), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        said = "".join([process.stdout.readline() for _ in range(groups)])
        process.kill()
        said += process.stdout.read()
    lines = [line for line in said.splitlines(keepends=True) if line.endswith("\n")]
    return int(lines[-1])


def _check(folder: Path, acknowledged: int) -> int:
    with Atlas.open(folder) as atlas:
        [hunt] = atlas.hunts()
        trials = list(atlas.replay(hunt.id))
        numbers = [trial.seed for trial in trials]
        assert numbers == list(range(len(numbers)))  # nothing twice, nothing missing in between
        assert len(numbers) >= acknowledged
        assert sum(atlas.counts(hunt.id).values()) == len(numbers)
        assert atlas.spent(hunt.id).images == len(numbers)
        for trial in trials[-200:]:  # older ones were checked in earlier rounds
            data = atlas.images.get(trial.facts[0]).data
            assert hashlib.blake2b(data, digest_size=16).hexdigest() == trial.facts[0]
        for stored in atlas.trials(hunt.id, offset=max(0, len(trials) - 50)):
            assert len(stored.calls) == 2
        with atlas.writing() as db:
            assert db.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        return len(numbers)
