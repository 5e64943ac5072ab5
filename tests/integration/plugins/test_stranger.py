"""A kind of hunt and a provider from another package: installed as such, then run, reported and doctored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STRANGER = Path(__file__).parent / "stranger"
CONFIG = """
hunt: dice
target: {provider: dice}
judge: {provider: dice}
throws: 10
budget: {images: 60}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in `site`, put there by pip, and a config."""
    folder = tmp_path_factory.mktemp("stranger")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install += ["--no-build-isolation", "--no-index", "--target", str(folder / "site"), str(STRANGER)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    (folder / "dice.yaml").write_text(CONFIG)
    return folder


def failscape(place: Path, *arguments: str) -> str:
    paths = [str(place / "site"), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [sys.executable, "-m", "failscape", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_it_is_listed_and_has_a_schema(place: Path) -> None:
    listed = json.loads(failscape(place, "list", "--json"))
    assert listed["hunts"] == ["t2i", "classifier", "vlm", "dice"]
    assert {"name": "dice", "roles": ["generator", "judge"], "about": "a die that never shows six"} in listed[
        "providers"
    ]
    assert "DiceConfig" in json.loads(failscape(place, "schema"))["$defs"]


def test_the_doctor_examines_it(place: Path) -> None:
    seen = json.loads(failscape(place, "doctor", "dice.yaml", "--json"))
    assert [(one["name"], one["status"], one["seen"]) for one in seen] == [("dice", "ok", "10 throws a face")]


def test_it_runs_resumes_and_reports(place: Path) -> None:
    failscape(place, "run", "dice.yaml", "--atlas", "atlas", "--set", "budget.images=30")
    failscape(place, "run", "dice.yaml", "--atlas", "atlas")
    rows = [json.loads(line) for line in failscape(place, "findings", "atlas", "--json").splitlines()]
    assert [(row["subject"], row["failures"], row["trials"]) for row in rows] == [("six", 10, 10)]
    failscape(place, "report", "atlas", "-o", "page")
    page = (place / "page" / "index.html").read_text()
    assert "Faces that never came" in page
    assert "The die never showed six." in page


def test_its_demo_runs(place: Path) -> None:
    assert "Throwing dice." in failscape(place, "demo", "dice", "--atlas", "demo")


def test_without_the_package_the_error_names_what_is_there(place: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "failscape", "run", "dice.yaml", "--atlas", "other"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "`hunt` must be one of t2i, classifier, vlm, but got 'dice'" in run.stderr
