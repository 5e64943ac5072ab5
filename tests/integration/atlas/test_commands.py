"""`failscape export`, `import` and `merge`, as a user types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.errors import AtlasError
from failscape.pictures import Picture
from tests.unit.atlas.suite import CONFIG, JUDGE, PAINTER, make_recorded


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {"target": PAINTER, "judge": JUDGE})
        atlas.record(hunt, [make_recorded(n, "cat; Base: Colour=blue", (True, n > 0)) for n in range(3)])
        atlas.record(hunt, [make_recorded(n, "cat; Base: Colour=red", None) for n in range(2)])
    return tmp_path / "atlas"


def test_jsonl_has_everything(folder: Path) -> None:
    rows = [json.loads(line) for line in run("export", folder).stdout.splitlines()]
    assert [row["verdict"] for row in rows] == ["fail", "pass", "pass", "invalid", "invalid"]
    first = rows[0]
    assert first["steps"][0] == {"do": "generate", "prompt": "An image of cat; Base: Colour=blue."}
    assert [call["role"] for call in first["calls"]] == ["generator", "judge"]
    assert first["calls"][0]["file"] == f"{first['calls'][0]['image']}.png"
    assert first["calls"][1]["model"]["provider"] == "python"
    assert first["calls"][1]["tokens_in"] == 90


def test_pictures_come_out_under_the_names_that_rows_have(folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in run("export", folder).stdout.splitlines()]
    names = {call["file"] for row in rows for call in row["calls"] if call["file"]}
    told = run("export", folder, "--format", "pictures", "-o", tmp_path / "pictures")
    assert "3 pictures of hunt 1" in told.output
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == names
    for path in (tmp_path / "pictures").iterdir():
        assert Picture(path.read_bytes()).digest == path.stem
    assert run("export", folder, "--format", "pictures").exit_code == 2


def test_csv_counts_per_subject(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("export", folder, "--format", "csv").stdout)))
    assert [(row["subject"], row["trials"], row["fail"], row["failure_rate"]) for row in rows] == [
        ("cat; Base: Colour=blue", "3", "1", "0.333333"),
        ("cat; Base: Colour=red", "2", "0", ""),
    ]


def test_failureatlas_out_and_in(folder: Path, tmp_path: Path) -> None:
    file, back = tmp_path / "nodes.jsonl", tmp_path / "back.jsonl"
    assert "2 nodes of hunt 1" in run("export", folder, "--format", "failureatlas", "-o", file).output
    told = run("import", file, "--atlas", tmp_path / "new")
    assert "5 trials are hunt 1" in told.output
    run("export", tmp_path / "new", "--format", "failureatlas", "-o", back)
    assert back.read_text() == file.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["atlas", "back.jsonl", "new", "nodes.jsonl"]


def test_a_moved_atlas_finds_its_corpus(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "nodes.jsonl"
    run("export", folder, "--format", "failureatlas", "-o", file)
    run("import", file, "--atlas", tmp_path / "new")
    (tmp_path / "new").rename(tmp_path / "moved")
    run("merge", tmp_path / "moved", "-o", tmp_path / "merged")
    for name in ("moved", "merged"):
        with Atlas.open(tmp_path / name, readonly=True) as atlas:
            corpus = Path(atlas.hunts()[0].config["space"]["corpus"])
            assert (corpus / "entities.json").is_file()
            assert corpus.is_relative_to(tmp_path / name)


def test_merge_says_what_is_new(folder: Path, tmp_path: Path) -> None:
    assert "5 trials and 3 images are new" in run("merge", folder, "-o", tmp_path / "all").output
    assert "0 trials and 0 images are new" in run("merge", folder, "-o", tmp_path / "all").output


def test_the_hunt_with_the_latest_trial_is_exported(folder: Path) -> None:
    with Atlas.open(folder) as atlas:
        fork = atlas.start_hunt("t2i", {**CONFIG, "seed": 5}, {}, parent=1)
        atlas.start_hunt("t2i", {**CONFIG, "seed": 6}, {}, parent=1)
    assert len(run("export", folder).stdout.splitlines()) == 5
    assert run("export", folder, "--hunt", fork).stdout == ""
    with Atlas.open(folder) as atlas:
        atlas.record(fork, [make_recorded(1)])
    assert len(run("export", folder).stdout.splitlines()) == 1
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(9)])
    assert len(run("export", folder).stdout.splitlines()) == 6


def test_clear_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="no hunt 9"):
        run("export", folder, "--hunt", 9)
    with pytest.raises(AtlasError, match="does not exist"):
        run("export", tmp_path / "nowhere")
    with pytest.raises(AtlasError, match="nowhere"):
        run("export", folder, "-o", tmp_path / "nowhere" / "file")
    Atlas.open(tmp_path / "empty", create=True).close()
    with pytest.raises(AtlasError, match="no hunts yet"):
        run("export", tmp_path / "empty")
    assert run("import", "x", "--atlas", tmp_path / "x", "--threshold", 1.5).exit_code == 2
