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
FAIR = "target: {provider: dice, model: fair}"


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
    return python(place, "-m", "failscape", *arguments)


def python(place: Path, *arguments: str) -> str:
    """What a program prints that has the package in reach."""
    paths = [str(place / "site"), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [sys.executable, *arguments],
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


def test_init_writes_its_first_config(place: Path) -> None:
    failscape(place, "init", "--hunt", "dice", "--yes", "--images", "4", "-o", "first.yaml")
    plan = json.loads(failscape(place, "plan", "first.yaml", "--json"))
    assert plan["foresight"]["images"] == 24


def test_the_doctor_examines_it(place: Path) -> None:
    seen = json.loads(failscape(place, "doctor", "dice.yaml", "--json"))
    assert [(one["name"], one["status"], one["seen"]) for one in seen] == [("dice", "ok", "10 throws a face")]


def test_it_has_a_plan(place: Path) -> None:
    plan = json.loads(failscape(place, "plan", "dice.yaml", "--json"))
    assert plan["foresight"]["images"] == 60
    assert "6 faces, 10 throws each" in failscape(place, "plan", "dice.yaml")


@pytest.fixture(scope="module")
def atlas(place: Path) -> str:
    """The name of an atlas with a whole hunt, interrupted once by its budget."""
    failscape(place, "run", "dice.yaml", "--atlas", "atlas", "--set", "budget.images=30")
    failscape(place, "run", "dice.yaml", "--atlas", "atlas")
    return "atlas"


def test_it_runs_resumes_and_reports(place: Path, atlas: str) -> None:
    rows = [json.loads(line) for line in failscape(place, "findings", "atlas", "--json").splitlines()]
    assert [(row["subject"], row["failures"], row["trials"]) for row in rows] == [("six", 10, 10)]
    failscape(place, "report", "atlas", "-o", "page")
    page = (place / "page" / "index.html").read_text()
    assert "Faces that never came" in page
    assert "The die never showed six." in page
    assert "#dice li" in page  # its own style sheet


def test_its_findings_are_rows_like_any_other(place: Path, atlas: str) -> None:
    row = json.loads(failscape(place, "findings", atlas, "--json"))
    assert (row["version"], row["class"], row["thing"], row["rate"]) == (2, "dice", "die", 1.0)
    assert "six" in failscape(place, "findings", atlas, "--class", "dice", "--sort", "rate")
    header, line = failscape(place, "findings", atlas, "--csv").splitlines()
    assert dict(zip(header.split(","), line.split(","), strict=True))["class"] == "dice"


def test_it_makes_a_dataset_of_its_own(place: Path, atlas: str) -> None:
    failscape(place, "dataset", atlas, "-o", "data", "--draw", "3", "--config", "dice.yaml")
    rows = [json.loads(line) for line in (place / "data" / "metadata.jsonl").read_text().splitlines()]
    assert len(rows) >= 13  # ten throws of the hunt, and three more
    assert {row["face"] for row in rows} == {"six"}
    assert (place / "data" / "faces.txt").read_text() == "six\n"
    assert "`faces.txt` lists" in (place / "data" / "README.md").read_text()


@pytest.mark.parametrize("form", ["jsonl", "csv", "eee", "pictures"])
def test_it_is_exported(place: Path, atlas: str, form: str) -> None:
    failscape(place, "export", atlas, "--format", form, "-o", f"exported-{form}")
    assert (place / f"exported-{form}").exists()


def test_two_models_are_compared_on_it(place: Path, atlas: str) -> None:
    (place / "fair.yaml").write_text(CONFIG.replace("target: {provider: dice}", FAIR))
    failscape(place, "run", "fair.yaml", "--atlas", "other")
    ours = ("--config", "dice.yaml", "--config", "fair.yaml")
    compared = json.loads(failscape(place, "compare", atlas, "other", "--budget", "120", "--json", *ours))
    assert [(row["subject"], row["rates"]) for row in compared["better"]] == [("six", [1.0, 0.0])]
    assert compared["overall"]["difference"] < 0


def test_a_gate_watches_it(place: Path, atlas: str) -> None:
    (place / "same.yaml").write_text(CONFIG)
    failscape(place, "gate", "freeze", atlas, "--output", "baseline.json", "--config", "dice.yaml")
    options = ("--baseline", "baseline.json", "--budget", "60", "--atlas", "gated", "--open-passes", "--json")
    told = json.loads(failscape(place, "gate", "same.yaml", *options).splitlines()[-1])
    assert told["harmed"] == []


def test_it_is_merged(place: Path, atlas: str) -> None:
    failscape(place, "merge", atlas, "-o", "merged")
    assert "six" in failscape(place, "findings", "merged")


def test_a_repair_of_it_is_proven(place: Path, atlas: str) -> None:
    (place / "repaired.yaml").write_text(CONFIG.replace("target: {provider: dice}", FAIR))
    (place / "twin.yaml").write_text(CONFIG)
    twins = ("--after", "repaired.yaml", "--placebo", "twin.yaml", "--config", "dice.yaml")
    proof = json.loads(failscape(place, "repair", atlas, "-o", "proof", "--json", *twins))
    assert [(row["subject"], row["rates"]) for row in proof["after"]["fixed"]] == [("six", [1.0, 0.0])]
    assert (place / "proof" / "repair.html").exists()


def test_people_review_it_and_another_judge_looks_again(place: Path, atlas: str) -> None:
    (place / "judge.yaml").write_text("provider: dice\nmodel: another\n")
    failscape(place, "review", "export", atlas, "--out", "labels", "--count", "8")
    assert (place / "labels" / "review.csv").exists()
    failscape(place, "rejudge", atlas, "--judge", "judge.yaml")
    assert "six" in failscape(place, "findings", atlas, "--hunt", "2")


def test_the_viewer_shows_it(place: Path, atlas: str) -> None:
    code = (
        "import json; from pathlib import Path; from failscape.views.viewer.library import Library;"
        "from failscape.views.viewer.screens import findings, overview;"
        f"library = Library([Path({atlas!r})]); hunt = library.hunt({atlas!r}, 1); hunt.loaded(wait=60);"
        "found = [findings.findings(hunt, {}), findings.failure_map(hunt, {}), overview.overview(hunt)];"
        "print(json.dumps(found))"
    )
    listed, mapped, first = json.loads(python(place, "-c", code))
    assert [row["subject"] for row in listed["rows"]] == ["six"]
    assert mapped["whole"]["nodes"] == 6
    assert first["found"]["findings"] == 1


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
