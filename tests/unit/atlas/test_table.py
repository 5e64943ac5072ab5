"""Tables of (model, case, passes, trials): read, imported once, certified, compared; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.atlas.formats.plain import import_table, looks_like_table, read_table
from failscape.cli import cli
from failscape.errors import AtlasError
from failscape.trials import Verdict
from failscape.views.read import load_hunt

HEAD = "model,case,passes,trials,group\n"
ROWS = "old,hands,2,40,people\nold,cats,40,40,animals\nnew,hands,39,40,people\nnew,cats,40,40,animals\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(HEAD + ROWS)
    return path


def test_each_model_becomes_a_hunt_and_the_same_table_adds_nothing(table: Path, tmp_path: Path) -> None:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunts = import_table(table, atlas)
        assert hunts == {"old": 1, "new": 2}
        assert import_table(table, atlas) == hunts
        counts = atlas.counts(1)
        assert (counts[Verdict.PASS], counts[Verdict.FAIL]) == (42, 38)
        old = load_hunt(atlas, 1)
        assert [finding.subject for finding in old.findings] == ["people; hands"]
        assert old.findings[0].status == "certified"
        assert old.findings[0].failures == 38
        assert load_hunt(atlas, 2).findings == []


def test_tables_are_compared_and_mapped(table: Path, tmp_path: Path) -> None:
    runner, atlas = CliRunner(), str(tmp_path / "atlas")
    assert runner.invoke(cli, ["import", str(table), "--atlas", atlas]).exit_code == 0
    result = runner.invoke(cli, ["compare", atlas, "--json"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert [row["subject"] for row in data["fixed"]] == ["people; hands"]
    assert data["fixed"][0]["rates"] == [0.95, 0.025]
    report = runner.invoke(cli, ["report", atlas])
    assert report.exit_code == 0, report.output


def test_json_lines_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps({"model": "m", "case": "c", "passes": 1, "trials": 3}) + "\n")
    assert looks_like_table(path)
    assert read_table(path)[0].trials == 3
    path.write_text('{"entity": "cat"}\n')
    assert not looks_like_table(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,case,passes\nm,c,1\n", "no column trials"),
        (HEAD, "no rows"),
        (HEAD + "m,c,5,3,g\n", "line 2"),
        (HEAD + "m,c,1,x,g\n", "whole numbers"),
        (HEAD + ",c,1,3,g\n", "needs a model"),
        (HEAD + "m,c,1,3,g\nm,c,2,3,g\n", "line 2 already"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(AtlasError) as caught:
        read_table(path)
    assert words in str(caught.value)
