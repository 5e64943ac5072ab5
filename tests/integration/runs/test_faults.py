"""What can go wrong before and during a run: each has one clear message and an exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from failscape.testing.servers import free_port

from .conftest import Bench


def test_an_unreachable_endpoint_is_named(bench: Bench) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    target = {"provider": "openai", "model": "planted", "endpoints": [url], "patience": 1}
    bench.write(target=target)
    done = bench.run()
    assert done.returncode == 3
    assert url in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_path_stops_at_once_and_is_named(bench: Bench) -> None:
    target = {**bench.role(bench.generator), "endpoints": [f"{bench.generator.url}/wrong/v1"]}
    bench.write(target=target)
    done = bench.run()
    assert done.returncode == 3
    assert "/wrong/v1" in done.stderr
    assert "404" in done.stderr


def test_a_judge_without_the_model_role_stops_at_once(bench: Bench) -> None:
    bench.write(judge=bench.role(bench.generator))
    done = bench.run()
    assert done.returncode == 3
    assert bench.generator.url in done.stderr


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": {"provider": "opnai"}}, "openai"),
        ({"target": {"provider": "onnx", "path": "x.onnx"}}, "cannot play the role generator"),
        ({"target": {"provider": "python", "path": "nowhere.py:draw"}}, "nowhere.py"),
        ({"space": {"corpus": "startr"}}, "starter"),
        ({"space": {"corpus": "starter", "entities": ["unicorn"]}}, "unicorn"),
        ({"judge": {"provider": "openai", "model": "m"}}, "endpoints"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_runs(
    bench: Bench, changes: dict[str, object], said: str
) -> None:
    bench.write(**changes)
    done = bench.run()
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_secret_that_is_not_set_is_named_and_never_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write(target={**bench.role(bench.generator), "api_key_env": "PAINTER_KEY"})
    monkeypatch.delenv("PAINTER_KEY", raising=False)
    missing = bench.run()
    assert missing.returncode == 2
    assert "PAINTER_KEY" in missing.stderr
    monkeypatch.setenv("PAINTER_KEY", "s3cret-value")
    assert bench.run("--set", "budget.images=20").returncode == 0
    stored = b"".join(path.read_bytes() for path in bench.atlas.glob("atlas.db*"))
    assert b"s3cret-value" not in stored
    assert b"PAINTER_KEY" in stored


def test_two_runs_cannot_write_one_atlas(bench: Bench) -> None:
    bench.write(budget={"images": 100_000})
    process = bench.start()
    bench.wait_for_trials(10)
    second = bench.run()
    process.kill()
    process.communicate()
    assert second.returncode == 2
    assert "Traceback" not in second.stderr
    assert str(process.pid) in second.stderr


@pytest.mark.parametrize("command", ["findings", "report"])
def test_a_folder_that_is_no_atlas_is_refused(tmp_path: Path, command: str) -> None:
    arguments = [sys.executable, "-m", "failscape", command, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
