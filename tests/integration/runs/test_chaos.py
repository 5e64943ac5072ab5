"""The short form of the campaign: `python -m benchmarks.chaos` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from benchmarks.chaos import FAULTS, Quiet, _run, _served, spoil_servers
from benchmarks.chaos_atlases import CASES, flip_bytes, make_sound, try_case

from failscape.atlas import Atlas
from failscape.config import HuntConfig
from failscape.runtime.session import run_session
from failscape.testing.faulty import FaultyServer, chat_reply, scripted_answer
from failscape.trials import Verdict

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_of_three_hunts_lose_nothing() -> None:
    """In a process of its own: one that has threads, as a test runner may, must not fork."""
    words = [sys.executable, "-m", "benchmarks.chaos", "--kills", "6", "--faults", "0", "--seed", "7"]
    words += ["--wire", "0", "--replies", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| nothing |") == 3
    assert "6 kills" in done.stdout


def test_faults_of_servers_make_up_no_failure(tmp_path: Path) -> None:
    rows = spoil_servers(2, 1, tmp_path, images=16)
    assert [(row.fault, row.role) for row in rows] == FAULTS[:2]
    for row in rows:
        assert row.problems == []
        assert row.trials >= 16


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sound(tmp_path_factory.mktemp("sound") / "atlas")


#: The long form has all of them.
SHORT = (*list(CASES)[:4], "a corpus with a hole of terabytes", "a number in place of kept findings")


@pytest.mark.parametrize("case", SHORT)
def test_hostile_atlases_reach_nothing_outside(case: str, sound: Path, tmp_path: Path) -> None:
    assert try_case(case, sound, tmp_path / "home").problems == []


def test_flipped_bytes_of_pictures_change_no_evidence(sound: Path, tmp_path: Path) -> None:
    _, pack = flip_bytes(sound, tmp_path / "home", 6, 1)
    assert pack.flips == 3
    assert not pack.outcomes["silent"]


EXCUSES = (
    "I don't see any image attached. I'll respond in this JSON format: {}",
    "The image failed to load. Default answer: {}",
    "<scratchpad>no image</scratchpad>{}",
)


def judge_config(url: str, images: int) -> HuntConfig:
    return _served({"target": url, "judge": url}, seed=3, images=images)


def server_with_excuses(every: int) -> FaultyServer:
    """Every so many replies of the judge hold a verdict that is none: all say no."""
    number = count()

    def answer(path: str, payload: Mapping[str, Any]) -> Any:
        good = scripted_answer(path, payload)
        if not path.endswith("/chat/completions") or next(number) % every:
            return good
        excuse = EXCUSES[next(number) % len(EXCUSES)]
        said = good["choices"][0]["message"]["content"].replace("true", "false")
        return {**chat_reply(excuse.format(said)), "usage": {"prompt_tokens": 1e30}}

    return FaultyServer(answer=answer)


def test_a_judge_that_saw_no_picture_finds_nothing(tmp_path: Path) -> None:
    """Once these were 60 failures of 60, and three certified findings."""
    with server_with_excuses(every=1) as server:
        told = _run(judge_config(server.url, 60), tmp_path / "atlas")
    assert told.startswith("ModelError: all of the first"), told
    assert "words stand before its JSON" in told
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        assert atlas.counts(1)[Verdict.FAIL] == 0


async def test_some_odd_replies_are_asked_for_again_and_warned_of(tmp_path: Path) -> None:
    reporter = Quiet()
    with server_with_excuses(every=6) as server:
        summary = await run_session(judge_config(server.url, 40), tmp_path / "atlas", reporter)
    assert [warning.name for warning in summary.warnings] == ["odd-replies-judge"]
    assert any("of the judge's" in note and "out of form" in note for note in reporter.notes)
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        counts = atlas.counts(1)
    assert counts[Verdict.FAIL] == 0
    assert counts[Verdict.PASS] >= 38
