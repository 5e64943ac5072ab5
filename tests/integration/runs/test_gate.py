"""`failscape gate` on planted and toybox models: verdicts, exit codes, files, and what it refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import failscape
from failscape.again.gate import read_baseline
from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.views.pages import write_report
from tests.integration.runs.test_compare import settings, vlm


def gate(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["gate", *map(str, arguments)])


def config(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "gate.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strong model, with 900 cases more than its hunt drew."""
    folder = tmp_path_factory.mktemp("gate")
    failscape.run(settings("strong"), folder / "strong", on_note=lambda kind, text: None)
    made = gate(
        "freeze", folder / "strong", "--output", folder / "base.json", "--budget", 900, "--trust-models"
    )
    assert made.exit_code == 0, made.output
    return folder / "base.json"


def test_the_baseline_holds_cases_and_no_pictures(baseline: Path) -> None:
    assert baseline.stat().st_size < 500_000
    data = json.loads(baseline.read_text())
    assert set(data["identities"]) == {"generator", "judge"}
    known = read_baseline(baseline)
    assert len(known.cases) >= 1_200
    for subject, (fails, of) in data["counts"].items():
        cases = known.by_subject()[subject]
        assert (sum(case.failed for case in cases), len(cases)) == (fails, of)


def test_a_worse_model_is_stopped(baseline: Path, tmp_path: Path) -> None:
    path = config(tmp_path, settings("weak"))
    files = ("--junit", tmp_path / "junit.xml", "--summary", tmp_path / "summary.md", "--json")
    result = gate(path, "--baseline", baseline, "--budget", 600, "--atlas", tmp_path / "gate", *files)
    assert result.exit_code == 1, result.output
    data = json.loads(result.stdout)
    assert data["verdict"] == "failed"
    assert data["harm"]["interval"][0] > 0.02
    assert data["asked"] <= 600
    assert not data["judge_calibrated"]
    assert int(ET.parse(tmp_path / "junit.xml").getroot()[0].get("failures") or 0) >= 1
    assert "gate: failed" in (tmp_path / "summary.md").read_text()
    again = gate(path, "--baseline", baseline, "--budget", 600, "--atlas", tmp_path / "gate", "--json")
    assert json.loads(again.stdout)["asked"] == 0, "nothing is asked twice"
    with Atlas.open(tmp_path / "gate", readonly=True) as atlas:
        page = write_report(atlas, tmp_path / "page").path.read_text(encoding="utf-8")
    assert "No search was made here" in page
    assert "What to change" not in page, "advice to a search that there was not"


def test_an_atlas_serves_another_baseline_without_mixing_up_its_cases(baseline: Path, tmp_path: Path) -> None:
    """Cases are numbered anew when a baseline is frozen again; an answer belongs to its case all the same."""
    other = tmp_path / "other.json"
    data = json.loads(baseline.read_text())
    for row in data["subjects"].values():
        row["cases"].reverse()
    other.write_text(json.dumps(data))
    path = config(tmp_path, settings("strong"))
    told = [
        json.loads(
            gate(path, "--baseline", file, "--budget", 400, "--atlas", tmp_path / "gate", "--json").stdout
        )
        for file in (baseline, other, baseline)
    ]
    assert [one["strange"] for one in told] == [0, 0, 0]
    assert 0 < told[1]["asked"] <= 400
    assert told[2]["asked"] == 0


def test_the_same_model_passes(baseline: Path, tmp_path: Path) -> None:
    arguments = ("--baseline", baseline, "--atlas", tmp_path / "gate")
    path = config(tmp_path, settings("strong"))
    few = gate(path, *arguments, "--budget", 20)
    assert few.exit_code == 4, few.output
    assert "open" in few.output
    assert "not calibrated" in few.output
    assert gate(path, *arguments, "--budget", 20, "--open-passes").exit_code == 0
    result = gate(path, *arguments, "--budget", 1_000)
    assert result.exit_code == 0, result.output
    assert "catches a 10-point regression" in result.output
    findings = CliRunner().invoke(cli, ["findings", str(tmp_path / "gate")])
    assert findings.exit_code == 0, findings.output


def test_what_is_not_comparable_is_said(baseline: Path, tmp_path: Path) -> None:
    arguments = ("--baseline", baseline, "--budget", 20, "--atlas", tmp_path / "gate")
    strong = settings("strong")
    changes: dict[str, dict[str, Any]] = {
        "threshold 0.8": {"search": {"threshold": 0.6}},
        "another corpus": {"space": {"corpus": "starter", "entities": ["cat"], "depth": 1}},
        "judge is another one": {
            "judge": strong["target"] | {"path": "failscape.simulate.planted:PlantedJudge"}
        },
    }
    for words, change in changes.items():
        result = gate(config(tmp_path, {**strong, **change}), *arguments)
        assert words in str(result.exception), (words, result.output)
        assert getattr(result.exception, "exit_code", 0) == 4
    assert "vlm" in str(gate(config(tmp_path, vlm(30)), *arguments).exception)
    data = json.loads(baseline.read_text())
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps({**data, "version": 2}))
    path = config(tmp_path, strong)
    refused = gate(path, "--baseline", newer, "--budget", 20, "--atlas", tmp_path / "gate")
    assert "version 2" in str(refused.exception)
    newer.write_text(json.dumps({**data, "subjects": {"cat": {}}}))
    broken = gate(path, "--baseline", newer, "--budget", 20, "--atlas", tmp_path / "gate")
    assert "damaged" in str(broken.exception)


def test_pictures_and_questions_are_asked_alike(tmp_path: Path) -> None:
    """A vlm baseline: the generator draws the same pictures again, and the same model is as good."""
    failscape.run(vlm(60), tmp_path / "vlm", on_note=lambda kind, text: None)
    made = gate("freeze", tmp_path / "vlm", "--output", tmp_path / "base.json")
    assert made.exit_code == 0, made.output
    path = config(tmp_path, vlm(60))
    arguments = ("--baseline", tmp_path / "base.json", "--budget", 60, "--atlas", tmp_path / "gate", "--json")
    result = gate(path, *arguments)
    data = json.loads(result.stdout)
    assert data["harm"]["difference"] == 0
    assert data["strange"] == 0
    assert sum(row["pairs"] for row in data["subjects"]) > 30
    assert data["judge_calibrated"], "an exact verifier knows the truth"
