"""The demo: real networks, no torch, from nothing to a report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.demos import DemoRun


def failscape(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "failscape", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_hunts_a_real_network_and_writes_a_report(demo: Callable[[str], DemoRun]) -> None:
    run = demo("t2i")
    home = run.folder.parents[1]
    page = run.folder / "report" / "index.html"
    assert str(page.relative_to(home)) in run.said
    assert run.said.splitlines()[-1] == "failscape view runs/demo", "the last line is what to do next"
    assert "toy-painter" in page.read_text(encoding="utf-8")
    lines = failscape("findings", "runs/demo", "--json", folder=home).splitlines()
    findings = [json.loads(line) for line in lines]
    assert findings
    assert all(0.2 < finding["rate"] <= 1 for finding in findings)
    assert all(finding["image_files"] for finding in findings)


def test_the_demo_needs_no_torch(tmp_path: Path) -> None:
    code = """
import sys
from importlib.abc import MetaPathFinder

class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
from failscape.cli import main
main(["demo", "--images", "60"])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
