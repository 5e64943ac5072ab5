"""`failscape findings` and `failscape report`, as a user calls them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.errors import FailscapeError
from failscape.views.read import load_hunt


def run(*arguments):
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def test_json_has_every_finding_with_its_evidence(planted_atlas):
    result = run("findings", planted_atlas, "--json")
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        findings = load_hunt(atlas).findings
    assert [record["subject"] for record in records] == [found.subject for found in findings]
    for record, found in zip(records, findings, strict=True):
        assert record["images_used"] == len(record["seeds"]) == len(record["evidence"]) == 6
        assert record["rate"] == found.rate
        verdicts = [one["verdict"] for one in record["evidence"]]
        assert verdicts.count("fail") == record["failures"]
        with Atlas.open(planted_atlas, readonly=True) as atlas:
            assert all(one and atlas.images.get(Path(one).stem) for one in record["image_files"])
        failed = [one for one in record["evidence"] if one["verdict"] == "fail"]
        assert all(False in one["checks"].values() for one in failed)


def test_the_table_is_cut_with_a_line_that_says_so(planted_atlas):
    result = run("findings", planted_atlas, "--limit", 1)
    assert result.exit_code == 0
    assert "1 of " in result.stdout
    assert "--json" in result.stdout


def test_the_limit_holds_for_json_too(planted_atlas):
    assert len(run("findings", planted_atlas, "--limit", 1, "--json").stdout.splitlines()) == 1


def test_open_nodes_and_a_changed_corpus_are_said(planted_atlas, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "failscape.kinds.t2i.baselines.failureatlas.FailureAtlasHunt.undecided", lambda self: ["cat"]
    )
    monkeypatch.setattr("failscape.views.read.found.changed_corpus", lambda *given: "corpus starter is new")
    result = run("findings", planted_atlas)
    assert "1 subject used up its trials without a verdict" in result.stdout
    assert "warning: corpus starter is new" in result.stderr
    result = run("findings", planted_atlas, "--json")
    assert "warning: corpus starter is new" in result.stderr
    assert all(json.loads(line) for line in result.stdout.splitlines())


def test_report_prints_where_it_is(planted_atlas, tmp_path):
    result = run("report", planted_atlas, "-o", tmp_path / "out", "--findings", 2)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == str(tmp_path / "out" / "index.html")
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.parametrize("command", ["findings", "report"])
def test_what_is_no_atlas_is_refused(command, tmp_path):
    result = run(command, tmp_path)
    assert isinstance(result.exception, FailscapeError)
    assert "holds no atlas" in str(result.exception)


def test_imported_results_have_findings_and_a_report_without_pictures(planted_atlas, tmp_path):
    rows, atlas = tmp_path / "rows.jsonl", tmp_path / "imported"
    assert run("export", planted_atlas, "--format", "failureatlas", "-o", rows).exit_code == 0
    assert run("import", rows, "--atlas", atlas).exit_code == 0
    result = run("findings", atlas, "--json")
    assert result.exit_code == 0
    with Atlas.open(planted_atlas, readonly=True) as opened:
        expected = {found.subject for found in load_hunt(opened).findings}
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert {record["subject"] for record in records} == expected
    assert all(one is None for record in records for one in record["image_files"])
    result = run("report", atlas)
    assert result.exit_code == 0
    page = (atlas / "report" / "index.html").read_text()
    assert "no picture" in page
    assert "its models are not known" in page
