"""`kill -9` while a questioner is in training, then resume: no answer is asked for or kept twice."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from failscape.atlas import Atlas, Event
from failscape.config.files import parse_config
from failscape.errors import AtlasError
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session

pytestmark = pytest.mark.extra("torch", "trl", "peft", "datasets")
STEPS = 8
KILLED_AFTER = 3
TARGET = """
import pathlib, time
from failscape.atlas import Atlas

FOLDER = pathlib.Path(__file__).parent

def updates():
    with Atlas.open(FOLDER / "atlas", readonly=True) as atlas:
        rows = [event.detail for event in atlas.events(1) if event.kind == "training"]
    return sum(row["phase"] == "grpo" and "loss" in row for row in rows)

def answer(images, question):
    with (FOLDER / "asked").open("a") as file:
        print(question, file=file)
    while updates() >= KILLED_AFTER and not (FOLDER / "go on").exists():
        time.sleep(0.01)
    return "red" if len(question) % 2 else "two"
"""
"""After three updates it answers nothing until there is a file named "go on": the kill comes meanwhile."""


def settings(folder: Path) -> dict[str, Any]:
    training = {"steps": STEPS, "group": 2, "pictures": 2, "save_steps": 2, "warmup": 0}
    return {
        "hunt": "vlm",
        "target": {"provider": "python", "path": f"{folder / 'target.py'}:answer"},
        "verifier": "exact",
        "images": {"source": "toybox"},
        "questioner": {"strategy": "grpo", "training": training},
        "questions": 50,
    }


def asked(folder: Path) -> int:
    return len((folder / "asked").read_text().splitlines())


def steps(events: list[Event]) -> list[int]:
    """The updates that were made, in the order of the log."""
    rows = [event.detail for event in events if event.kind == "training"]
    return [row["step"] for row in rows if row["phase"] == "grpo" and "loss" in row]


def look(folder: Path) -> tuple[list[int], dict[str, Any], int]:
    """Updates made, trials with their facts, and calls of the target that are kept."""
    try:
        with Atlas.open(folder / "atlas", readonly=True) as atlas:
            if not atlas.hunts():
                return [], {}, 0
            stored = list(atlas.trials(1))
            events = atlas.events(1)
    except AtlasError:  # not made yet
        return [], {}, 0
    facts = {row.trial.key: row.trial.facts for row in stored}
    assert len(facts) == len(stored), "no trial is there twice"
    calls = [call for row in stored for call in row.calls if call.role == "answerer"]
    return steps(events), facts, len(calls)


def kill_in_training(folder: Path, seconds: float = 600) -> None:
    config = folder / "hunt.yaml"
    config.write_text(yaml.safe_dump(settings(folder)))
    command = [sys.executable, "-m", "failscape", "run", str(config), "--atlas", str(folder / "atlas")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + seconds
        while KILLED_AFTER not in look(folder)[0] and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        died = process.poll()
        process.kill()
        _, said = process.communicate()
    assert died is None, f"it ended by itself: {said}"


async def test_a_killed_training_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "target.py").write_text(TARGET.replace("KILLED_AFTER", str(KILLED_AFTER)))
    kill_in_training(tmp_path)
    (tmp_path / "go on").touch()
    made, kept, paid = look(tmp_path)
    before = asked(tmp_path)
    assert max(made) == KILLED_AFTER
    assert 0 < paid <= before
    half = tmp_path / "atlas" / "questioner" / "1" / "checkpoints" / "checkpoint-7"
    half.mkdir()  # as if the kill had come while a checkpoint was written
    (half / "trainer_state.json").write_text("{")

    await run_session(parse_config(settings(tmp_path), "test"), tmp_path / "atlas", choose_reporter(True))
    again, trials, total = look(tmp_path)
    assert {key: trials[key] for key in kept} == kept, "what was recorded stays"
    assert asked(tmp_path) - before == total - paid, "only what was not recorded is asked"
    resumed = again[len(made) :]
    assert resumed == list(range(resumed[0], STEPS + 1))
    assert resumed[0] > 2, "from the last checkpoint on"
    assert (tmp_path / "atlas" / "questioner" / "1" / "trained" / "config.json").exists()
