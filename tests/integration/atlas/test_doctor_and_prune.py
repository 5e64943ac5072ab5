"""`failscape doctor ATLAS` finds what is wrong and mends it; `failscape prune` drops pictures alone."""

from __future__ import annotations

import asyncio
import io
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.errors import AtlasError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.trials import Verdict
from tests.unit.atlas.suite import damage_picture

from .test_hostile import SETTINGS

IMAGES = 60


def hunt(folder: Path, images: int = IMAGES, seed: int = 3) -> None:
    settings = parse_config({**SETTINGS, "budget": {"images": images}, "seed": seed}, "test")
    asyncio.run(run_session(settings, folder, PlainReporter(io.StringIO()), fork=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "atlas"
    hunt(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "atlas"))


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    if isinstance(result.exception, Exception):
        raise result.exception
    return result


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute(statement)
        db.commit()


def test_a_sound_atlas(folder: Path) -> None:
    done = run("doctor", folder)
    assert done.exit_code == 0
    assert f"{IMAGES} trials, {IMAGES} pictures" in done.output
    assert "are right" in done.output


def test_counts_that_do_not_add_up(folder: Path) -> None:
    change(folder, "UPDATE totals SET pass = pass + 5")
    done = run("doctor", folder)
    assert done.exit_code == 1
    assert "by its totals" in done.output
    assert run("doctor", folder, "--mend").exit_code == 0
    with Atlas.open(folder, readonly=True) as atlas:
        assert sum(atlas.counts(1).values()) == IMAGES


def test_a_damaged_picture_is_drawn_again(folder: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        first, *_ = atlas.trials(1)
        damage_picture(atlas, first.images[0])
    done = run("doctor", folder)
    assert done.exit_code == 1
    assert f"image {first.images[0]}" in done.output
    assert "taken back" in done.output
    mended = run("doctor", folder, "--mend", "--yes")
    assert mended.exit_code == 0, mended.output
    assert "1 trials of hunt 1 taken back" in mended.output
    with Atlas.open(folder, readonly=True) as atlas:
        assert first.trial.key not in {trial.key for trial in atlas.replay(1)}
    hunt(folder, IMAGES + 1)
    with Atlas.open(folder, readonly=True) as atlas:
        again = next(one for one in atlas.trials(1) if one.trial.key == first.trial.key)
        assert again.images == first.images
        assert atlas.images.get(again.images[0])
    assert run("doctor", folder).exit_code == 0


def test_malformed_rows_are_named_and_nothing_is_made_up(folder: Path) -> None:
    change(folder, "UPDATE trials SET facts = '[7]' WHERE id = 9")
    for words in (["doctor", folder], ["doctor", folder, "--mend"]):
        done = run(*words)
        assert done.exit_code == 1
        assert "row trials 9" in done.output


def test_an_older_atlas_is_brought_up_to_date_and_its_findings_kept(tmp_path: Path) -> None:
    kept = Path(__file__).parents[2] / "golden" / "earlier" / "t2i"
    folder = Path(shutil.copytree(kept, tmp_path / "atlas"))
    assert "of version 2" in run("doctor", folder).output
    done = run("doctor", folder, "--mend")
    assert done.exit_code == 0, done.output
    assert "told again and kept" in done.output
    assert "told again" not in run("doctor", folder, "--mend").output


def test_prune_drops_passes_and_keeps_all_else(folder: Path, tmp_path: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        before = list(atlas.trials(1))
        passed = atlas.counts(1)[Verdict.PASS]
    size = sum(path.stat().st_size for path in (folder / "images").iterdir())
    findings = run("findings", folder).output
    assert f"{passed} pictures" in run("prune", folder, "--passes", "--dry-run").output
    assert sum(path.stat().st_size for path in (folder / "images").iterdir()) == size
    done = run("prune", folder, "--passes")
    assert f"{passed} pictures" in done.output
    assert f"{IMAGES - passed} stay" in done.output
    assert sum(path.stat().st_size for path in (folder / "images").iterdir()) < size
    with Atlas.open(folder, readonly=True) as atlas:
        assert [one.trial for one in atlas.trials(1)] == [one.trial for one in before]
        for stored in before:
            kept = atlas.images.name(stored.images[0]) is not None
            assert kept == (stored.trial.verdict is not Verdict.PASS)
            if kept:
                assert atlas.images.get(stored.images[0])
    assert run("findings", folder).output == findings
    assert run("doctor", folder).exit_code == 0
    run("report", folder, "-o", tmp_path / "report")
    assert "were dropped by `failscape prune`" in (tmp_path / "report" / "index.html").read_text()
    assert "0 pictures" in run("prune", folder, "--passes").output


def test_a_pruned_atlas_goes_on(folder: Path) -> None:
    run("prune", folder, "--passes")
    hunt(folder, IMAGES + 20)
    with Atlas.open(folder, readonly=True) as atlas:
        assert sum(atlas.counts(1).values()) == IMAGES + 20
    assert run("doctor", folder).exit_code == 0


def test_pictures_of_older_hunts(folder: Path) -> None:
    assert "one hunt only" in run("prune", folder, "--older").output
    hunt(folder, seed=4)
    done = run("prune", folder, "--older")
    assert "are gone" in done.output
    with Atlas.open(folder, readonly=True) as atlas:
        older, newer = ([one.images[0] for one in atlas.trials(number)] for number in (1, 2))
        assert all(atlas.images.name(digest) for digest in newer)
        assert not any(atlas.images.name(digest) for digest in set(older) - set(newer))


def test_a_rule_is_needed(folder: Path) -> None:
    assert CliRunner().invoke(cli, ["prune", str(folder)]).exit_code == 2


def test_old_files_are_pruned_too(tmp_path: Path) -> None:
    kept = Path(__file__).parents[2] / "golden" / "earlier" / "t2i"
    folder = Path(shutil.copytree(kept, tmp_path / "atlas"))
    files = len(list((folder / "images").rglob("*.png")))
    assert files
    run("prune", folder, "--hunt", 1)
    assert not list((folder / "images").rglob("*.png"))
    assert run("doctor", folder).exit_code == 0


def trials_of(folder: Path) -> int:
    with Atlas.open(folder, readonly=True) as atlas:
        return sum(atlas.counts(1).values())


def test_pictures_that_cannot_be_opened_take_nothing_back(folder: Path) -> None:
    """`images/` is not mounted, or may not be read: that says nothing about the trials."""
    (folder / "images").rename(folder / "elsewhere")
    for words in (("doctor", folder), ("doctor", folder, "--mend"), ("doctor", folder, "--mend", "--yes")):
        with pytest.raises(AtlasError, match="is not there, so that no picture"):
            run(*words)
    (folder / "elsewhere").rename(folder / "images")
    assert trials_of(folder) == IMAGES
    assert run("doctor", folder).exit_code == 0


def test_a_disk_that_refuses_takes_nothing_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("failscape.atlas.images.read_place", refuse)
    with pytest.raises(AtlasError, match="Permission denied"):
        run("doctor", folder, "--mend", "--yes")
    monkeypatch.undo()
    assert trials_of(folder) == IMAGES


def test_a_pack_that_is_gone_needs_a_second_word(folder: Path) -> None:
    pack = next((folder / "images").glob("*.pack"))
    pack.rename(folder / "kept.pack")
    with pytest.raises(AtlasError, match="no sign of damage"):
        run("doctor", folder, "--mend")
    assert trials_of(folder) == IMAGES
    assert run("doctor", folder, "--mend", "--yes").exit_code == 0
    assert trials_of(folder) == 0
    for path in (folder / "images").glob("*.pack"):
        path.unlink()
    (folder / "kept.pack").rename(pack)
    done = run("doctor", folder, "--restore")
    assert f"{IMAGES} trials brought back" in done.output
    assert done.exit_code == 0
    assert trials_of(folder) == IMAGES


def test_much_damage_is_asked_about(folder: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        for trial in list(atlas.trials(1))[:2]:
            damage_picture(atlas, trial.images[0])
    with pytest.raises(AtlasError, match=r"2 of 60 pictures are damaged.*above 1% it asks"):
        run("doctor", folder, "--mend")
    assert trials_of(folder) == IMAGES
    assert run("doctor", folder, "--mend", "--yes").exit_code == 0
    assert trials_of(folder) < IMAGES


def test_a_verdict_that_its_facts_do_not_say_is_named(folder: Path) -> None:
    change(
        folder,
        "UPDATE trials SET verdict = CASE verdict WHEN 'pass' THEN 'fail' ELSE 'pass' END WHERE id = 7",
    )
    done = run("doctor", folder)
    assert done.exit_code == 1
    assert "its facts say" in done.output


def test_an_index_that_does_not_fit_its_table_is_named(folder: Path) -> None:
    """`quick_check` does not look at indexes, and counts of subjects are read from one."""
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute("PRAGMA writable_schema = ON")
        sql = "CREATE INDEX trials_by_subject ON trials (hunt, key, verdict)"
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'trials_by_subject'", (sql,))
        db.commit()
    done = run("doctor", folder)
    assert done.exit_code == 1
    assert "the database is damaged" in done.output
