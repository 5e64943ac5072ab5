"""Files of an atlas that lead elsewhere: journals that delete, links that write. SQLite never opens them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.atlas.database import holds_atlas
from failscape.atlas.merge import merge_atlases
from failscape.atlas.upkeep import PruneRule, prune
from failscape.cli import cli
from failscape.errors import AtlasError
from tests.unit.atlas.suite import CONFIG, make_recorded

PAGE = 2048
VICTIM = "a diary\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_atlas(tmp_path / "atlas")


def make_atlas(folder: Path) -> Path:
    with Atlas.open(folder, create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {})
        atlas.record(hunt, [make_recorded(n) for n in range(3)])
    return folder


def hot_journal(database: Path, deletes: Path) -> bytes:
    """A rollback journal without any page that names `deletes` as its super-journal."""
    pages = database.stat().st_size // PAGE
    magic = bytes.fromhex("d9d505f920a163d7")
    head = (magic + struct.pack(">IIIII", 0, 0, pages, 512, PAGE)).ljust(512, b"\0")
    name = str(deletes).encode()
    tail = struct.pack(">II", len(name), sum(name))
    return head + struct.pack(">I", 0x40000000 // PAGE + 1) + name + tail + magic


OPENINGS: dict[str, Callable[[Path], object]] = {
    "read": lambda folder: Atlas.open(folder, readonly=True),
    "write": lambda folder: Atlas.open(folder),
    "labels": lambda folder: Atlas.open_for_labels(folder),
    "holds": holds_atlas,
    "merge": lambda folder: merge_atlases([folder], folder.with_name("merged")),
    "merge into": lambda folder: merge_atlases([folder.with_name("other")], folder),
}


@pytest.mark.parametrize("way", OPENINGS)
def test_a_rollback_journal_is_refused_before_sqlite_sees_it(way: str, tmp_path: Path, folder: Path) -> None:
    make_atlas(tmp_path / "other")
    victim = tmp_path / "diary.txt"
    victim.write_text(VICTIM)
    journal = folder / "atlas.db-journal"
    journal.write_bytes(hot_journal(folder / "atlas.db", victim))
    with pytest.raises(AtlasError, match=r"rollback journal.*may name any file to be deleted"):
        OPENINGS[way](folder)
    assert victim.read_text() == VICTIM
    assert journal.exists()


def test_sqlite_itself_would_delete_what_such_a_journal_names(tmp_path: Path, folder: Path) -> None:
    """Otherwise the test above would show nothing."""
    victim = tmp_path / "diary.txt"
    victim.write_text(VICTIM)
    (folder / "atlas.db-journal").write_bytes(hot_journal(folder / "atlas.db", victim))
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute("SELECT * FROM hunts").fetchall()
    assert not victim.exists()


@pytest.mark.parametrize("way", OPENINGS)
def test_a_header_that_is_not_wal_is_refused(way: str, tmp_path: Path, folder: Path) -> None:
    make_atlas(tmp_path / "other")
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    with pytest.raises(AtlasError, match=r"must say WAL \(2, 2\), but says \(1, 1\)"):
        OPENINGS[way](folder)


@pytest.mark.parametrize("name", ["atlas.db", "atlas.db-wal", "atlas.db-shm", "atlas.lock"])
def test_files_that_are_links_are_neither_read_nor_written(name: str, tmp_path: Path, folder: Path) -> None:
    other = make_atlas(tmp_path / "other")
    target = other / name
    if not target.exists():
        target.write_text(VICTIM)
    before = target.read_bytes()
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    with pytest.raises(AtlasError, match="symbolic link"):
        prune_everything(folder)
    assert target.read_bytes() == before


@pytest.mark.parametrize("name", ["atlas.db", "atlas.lock"])
def test_files_with_a_second_name_are_not_written(name: str, tmp_path: Path, folder: Path) -> None:
    target = tmp_path / "second"
    target.unlink(missing_ok=True)
    os.link(folder / name, target)
    before = target.read_bytes()
    with pytest.raises(AtlasError, match="another name"):
        prune_everything(folder)
    assert target.read_bytes() == before
    with Atlas.open(folder, readonly=True) as atlas:  # a snapshot made of hard links can be looked at
        assert len(list(atlas.trials(1))) == 3


def prune_everything(folder: Path) -> None:
    with Atlas.open(folder) as atlas:
        prune(atlas, PruneRule())


def test_a_lock_that_is_a_pipe_does_not_hang(folder: Path) -> None:
    (folder / "atlas.lock").unlink()
    os.mkfifo(folder / "atlas.lock")
    with pytest.raises(AtlasError, match="must be a plain file"):
        Atlas.open(folder)


def test_a_pack_that_is_a_link_is_not_appended_to(tmp_path: Path, folder: Path) -> None:
    pack = next((folder / "images").glob("*.pack"))
    outside = tmp_path / "outside"
    shutil.move(pack, outside)
    before = outside.read_bytes() + b"half a record"
    outside.write_bytes(before)
    pack.symlink_to(outside)
    with pytest.raises(AtlasError, match="symbolic link"):
        Atlas.open(folder)
    assert outside.read_bytes() == before


def test_pruning_removes_nothing_behind_a_linked_folder(tmp_path: Path, folder: Path) -> None:
    """Earlier versions kept pictures as `images/ab/…`: files there that no row names are dropped."""
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "holiday.png").write_text("mine")
    (folder / "images" / "ab").symlink_to(photos)
    with pytest.raises(AtlasError, match="symbolic link"):
        prune_everything(folder)
    (folder / "images" / "ab").unlink()
    (folder / "images" / "ab").mkdir()
    (folder / "images" / "ab" / "notes.txt").write_text("mine")
    (folder / "images" / "ab" / f"{'ab' * 16}.png").write_text("a picture that nothing names")
    prune_everything(folder)
    assert (photos / "holiday.png").exists()
    assert [path.name for path in (folder / "images" / "ab").iterdir()] == ["notes.txt"]


def test_corpora_are_not_copied_through_a_link(tmp_path: Path, folder: Path) -> None:
    source = make_atlas(tmp_path / "source")
    (source / "corpora" / "words").mkdir(parents=True)
    (source / "corpora" / "words" / "entities.json").write_text("{}")
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "corpora").symlink_to(outside)
    with pytest.raises(AtlasError, match="symbolic link"):
        merge_atlases([source], folder)
    assert list(outside.iterdir()) == []


def test_commands_name_the_rule_and_the_fix(tmp_path: Path, folder: Path) -> None:
    (folder / "atlas.db-journal").write_bytes(b"")
    for words in (["findings"], ["doctor"], ["prune", "--passes"], ["report"]):
        result = CliRunner().invoke(cli, [words[0], str(folder), *words[1:]])
        assert isinstance(result.exception, AtlasError)
        assert result.exception.fix
