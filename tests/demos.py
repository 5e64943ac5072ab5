"""The three demos with small budgets, run once for all workers of a session as a person would run them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

IMAGES = {"t2i": 700, "classifier": 1300, "vlm": 550}
"""Enough that each finds something: about 20, 6 and 2 findings."""


@dataclass(frozen=True)
class DemoRun:
    """Where its atlas and report are, and what the command said. Others read it too: leave it as it is."""

    folder: Path
    said: str


def run_demo(home: Path, kind: str) -> DemoRun:
    """The first who asks for a demo runs it; the others wait."""
    home.mkdir(exist_ok=True)
    folder = home / "runs" / ("demo" if kind == "t2i" else f"demo-{kind}")
    said = home / f"{kind}.txt"
    with (home / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            words = [sys.executable, "-m", "failscape", "demo", kind, "--images", str(IMAGES[kind])]
            done = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=1200)
            assert done.returncode == 0, done.stderr
            said.write_text(done.stdout)
    return DemoRun(folder, said.read_text())


def shared_home(base: Path) -> Path:
    """One folder for all workers of a session; `base` is that of this worker."""
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demos"
