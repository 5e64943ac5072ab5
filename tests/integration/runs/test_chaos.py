"""The short form of the campaign: `python -m benchmarks.chaos` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.chaos import FAULTS, spoil_servers

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_of_three_hunts_lose_nothing() -> None:
    """In a process of its own: one that has threads, as a test runner may, must not fork."""
    words = [sys.executable, "-m", "benchmarks.chaos", "--kills", "6", "--faults", "0", "--seed", "7"]
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
