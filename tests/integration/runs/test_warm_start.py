"""`warm_start: runs/old` from the file to the new atlas: what is kept, going on without the old one."""

from __future__ import annotations

import asyncio
import io
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.atlas.hunts import earlier_of
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.errors import AtlasError, ConfigError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import Summary, run_session
from failscape.views.read import load_hunt
from failscape.views.read.found import tell_again

_PLANTED = "failscape.simulate.models"


def settings(**more: Any) -> dict[str, Any]:
    world = {"params": {"regime": "weak"}}
    return {
        "hunt": "t2i",
        "target": {"provider": "python", "path": f"{_PLANTED}:PlantedGenerator", **world},
        "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", **world},
        "space": {"corpus": "starter", "depth": 1, "entities": ["cat", "apple", "car"]},
        "runtime": {"in_flight": 16},
        "seed": 3,
        **more,
    }


def run(folder: Path, images: int = 150, fork: bool = False, **more: Any) -> Summary:
    config = parse_config(settings(budget={"images": images}, **more), "test")
    return asyncio.run(run_session(config, folder, PlainReporter(io.StringIO()), fork=fork))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warm") / "old"
    run(folder, 300)
    return folder


def test_going_on_and_reading_need_the_old_atlas_no_more(old: Path, tmp_path: Path) -> None:
    moved, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(old, moved)
    run(new, 100, warm_start=str(moved))
    shutil.rmtree(moved)
    summary = run(new, 150, warm_start=str(moved))
    assert summary.resumed == 100
    with Atlas.open(new, readonly=True) as atlas:
        loaded = load_hunt(atlas)
        earlier = earlier_of(loaded.row)
        assert earlier is not None
        with Atlas.open(old, readonly=True) as first:
            known = load_hunt(first)
            assert list(earlier.findings) == [one.subject for one in known.findings]
            assert sum(map(sum, earlier.counts.values())) == known.trials
            assert not _seeds(atlas) & _seeds(first)
        again = tell_again(atlas, loaded.row, loaded.judge)
        assert [one.subject for one in again.findings] == [one.subject for one in loaded.findings]
        assert sum(one.trials for one in loaded.findings) <= 150


def test_a_dataset_of_a_warm_hunt_needs_nothing_of_the_old_one(old: Path, tmp_path: Path) -> None:
    run(tmp_path / "new", 200, warm_start=str(old))
    for words in (
        ("dataset", tmp_path / "new", "--draw", "1", "--trust-models"),
        ("findings", tmp_path / "new" / "drawn-1"),
    ):
        result = CliRunner().invoke(cli, [str(word) for word in words])
        assert result.exit_code == 0, (result.output, result.exception)


def _seeds(atlas: Atlas) -> set[int]:
    return {trial.seed for trial in atlas.replay(1)}


def test_a_start_from_the_same_atlas_elsewhere_is_the_same_hunt(old: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(old, moved)
    run(tmp_path / "new", 40, warm_start=str(old))
    assert run(tmp_path / "new", 60, warm_start=str(moved)).resumed == 40


def test_a_cold_hunt_does_not_become_a_warm_one(old: Path, tmp_path: Path) -> None:
    run(tmp_path, 20)
    with pytest.raises(AtlasError, match="warm_start"):
        run(tmp_path, 40, warm_start=str(old))
    run(tmp_path, 20, fork=True, warm_start=str(old))
    with Atlas.open(tmp_path, readonly=True) as atlas:
        assert [earlier_of(row) is not None for row in atlas.hunts()] == [False, True]


def test_what_a_merged_or_damaged_atlas_lacks_is_said(old: Path, tmp_path: Path) -> None:
    run(tmp_path / "new", 20, warm_start=str(old))
    kept = next((tmp_path / "new" / "corpora").glob("*/earlier.json"))
    kept.write_text(kept.read_text().replace('"target"', '"target" '))
    with Atlas.open(tmp_path / "new", readonly=True) as atlas:
        earlier_of(atlas.hunt())  # another spelling of the same
    kept.write_text(kept.read_text().replace("cat", "cow"))
    with Atlas.open(tmp_path / "new", readonly=True) as atlas, pytest.raises(AtlasError, match="was changed"):
        earlier_of(atlas.hunt())
    kept.unlink()
    with Atlas.open(tmp_path / "new", readonly=True) as atlas, pytest.raises(AtlasError, match="is gone"):
        earlier_of(atlas.hunt())


CLASSIFIER = {
    "hunt": "classifier",
    "target": {"provider": "toybox"},
    "generator": {"provider": "toybox", "model": "renderer"},
    "classes": ["penguin"],
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"space": {"corpus": "toybox"}}, "another corpus"),
        ({"search": {"strategy": "failureatlas"}}, "for hunts that choose"),
        ({"space": {"corpus": "starter", "entities": ["dog"]}}, "subjects tried there is in this space"),
    ],
)
def test_other_spaces_and_strategies_are_refused(
    old: Path, tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        run(tmp_path / "new", 20, warm_start=str(old), **changed)
    assert not (tmp_path / "new").exists()


def test_another_kind_of_hunt_is_refused(old: Path, tmp_path: Path) -> None:
    config = parse_config({**CLASSIFIER, "warm_start": str(old)}, "test")
    with pytest.raises(ConfigError, match="is a t2i hunt, and this is a classifier hunt"):
        asyncio.run(run_session(config, tmp_path / "new", PlainReporter(io.StringIO())))


def test_what_is_no_atlas_or_of_a_newer_version_is_refused(old: Path, tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="nowhere"):
        run(tmp_path / "new", 20, warm_start=str(tmp_path / "nowhere"))
    with pytest.raises(AtlasError, match="has no hunt 7"):
        run(tmp_path / "new", 20, warm_start=f"{old}@7")
    newer = tmp_path / "newer"
    shutil.copytree(old, newer)
    with sqlite3.connect(newer / "atlas.db") as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(AtlasError, match="version 999"):
        run(tmp_path / "new", 20, warm_start=str(newer))
