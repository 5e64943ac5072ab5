"""The atlas on a good day (the shared suite), and what it says on a bad one."""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.atlas import images as images_module
from failscape.atlas.database import MIGRATIONS
from failscape.atlas.formats.plain import no_formula
from failscape.errors import AtlasError
from failscape.pictures import Picture
from tests.unit.atlas.suite import CONFIG, AtlasSuite, damage_picture, make_picture, make_recorded


class TestAtlas(AtlasSuite):
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {})
        atlas.record(hunt, [make_recorded(n) for n in range(3)])
    return tmp_path / "atlas"


def test_no_atlas_there(tmp_path: Path) -> None:
    for readonly in (True, False):
        with pytest.raises(AtlasError, match="does not exist"):
            Atlas.open(tmp_path / "nowhere", readonly=readonly)
        with pytest.raises(AtlasError, match="holds no atlas"):
            Atlas.open(tmp_path, readonly=readonly)


def test_newer_version_names_both(folder: Path) -> None:
    with sqlite3.connect(folder / "atlas.db") as db:
        db.execute("PRAGMA user_version = 99")
    for readonly in (True, False):
        with pytest.raises(AtlasError, match=f"version 99.*version {len(MIGRATIONS)}"):
            Atlas.open(folder, readonly=readonly)


@pytest.mark.parametrize("readonly", [True, False])
def test_other_databases_are_refused(tmp_path: Path, readonly: bool) -> None:
    with sqlite3.connect(tmp_path / "atlas.db") as db:
        db.execute("CREATE TABLE notes (a)")
    with pytest.raises(AtlasError, match="not an atlas"):
        Atlas.open(tmp_path, readonly=readonly)


def test_a_database_without_tables_is_the_start_of_an_atlas(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "atlas.db")
    db.execute("PRAGMA journal_mode = WAL")  # as far as a killed run may have got
    db.close()
    assert (tmp_path / "atlas.db").stat().st_size > 0
    with pytest.raises(AtlasError, match="holds no atlas"):
        Atlas.open(tmp_path, readonly=True)
    with Atlas.open(tmp_path) as atlas:
        assert atlas.hunts() == []


@pytest.mark.parametrize("readonly", [True, False])
def test_files_that_are_no_database(tmp_path: Path, readonly: bool) -> None:
    (tmp_path / "atlas.db").write_bytes(b"this is not SQLite at all, but long enough" * 100)
    with pytest.raises(AtlasError, match="damaged or not an atlas"):
        Atlas.open(tmp_path, readonly=readonly)


def test_damaged_pages_are_named(folder: Path) -> None:
    path = folder / "atlas.db"
    data = bytearray(path.read_bytes())
    data[2048:] = b"\xff" * (len(data) - 2048)
    path.write_bytes(bytes(data))
    with pytest.raises(AtlasError, match=r"damaged") as caught, Atlas.open(folder, readonly=True) as atlas:
        list(atlas.replay(1))
    assert "recover" in caught.value.fix


def test_a_database_that_cannot_grow_records_nothing(folder: Path) -> None:
    with Atlas.open(folder) as atlas:
        with atlas.writing() as db:
            db.execute("PRAGMA max_page_count = 1")  # SQLite then reports a full disk
        with pytest.raises(AtlasError, match="disk is full"):
            _record_tens(atlas)
        recorded = [trial.seed for trial in atlas.replay(1)]
        assert sum(atlas.counts(1).values()) == len(recorded)
        assert recorded == [0, 1, 2, *range(10, 10 + len(recorded) - 3)]
        assert (len(recorded) - 3) % 10 == 0


def _record_tens(atlas: Atlas) -> None:
    for start in range(10, 2000, 10):
        atlas.record(1, [make_recorded(n, picture=False) for n in range(start, start + 10)])


def test_a_full_disk_while_writing_pictures_records_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Atlas.open(folder) as atlas:
        monkeypatch.setattr(images_module.os, "write", full)
        with pytest.raises(AtlasError, match="disk is full") as caught:
            atlas.record(1, [make_recorded(10)])
        monkeypatch.undo()
        assert "free some space" in caught.value.fix
        assert [trial.seed for trial in atlas.replay(1)] == [0, 1, 2]
        assert atlas.images.name(make_picture(10).digest) is None
        atlas.record(1, [make_recorded(10)])
        assert atlas.images.get(make_picture(10).digest).data == make_picture(10).data


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folders_can_be_read(folder: Path) -> None:
    folder.chmod(0o555)
    (folder / "atlas.db").chmod(0o444)
    try:
        with Atlas.open(folder, readonly=True) as atlas:
            assert len(list(atlas.replay(1))) == 3
            assert atlas.images.thumbnail(make_picture(1).digest, 64)
        with pytest.raises(AtlasError, match="cannot be"):
            Atlas.open(folder)
    finally:
        folder.chmod(0o755)


def test_a_dead_writer_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, sys; from failscape.atlas import Atlas; a = Atlas.open(sys.argv[1], create=True);"
        "a.start_hunt('t2i', {}, {}); print('ready', flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, timeout=300)
    assert b"ready" in done.stdout
    with Atlas.open(tmp_path / "a") as atlas:
        assert len(atlas.hunts()) == 1


def test_the_lock_names_its_holder(folder: Path) -> None:
    with Atlas.open(folder), pytest.raises(AtlasError, match=f"process {os.getpid()} on .* since 20"):
        Atlas.open(folder)


def test_unknown_hunts_are_named(folder: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        for look in (atlas.hunt, atlas.spent, atlas.counts, lambda hunt: list(atlas.replay(hunt))):
            with pytest.raises(AtlasError, match="no hunt 7") as caught:
                look(7)
            assert "1 (t2i)" in caught.value.fix


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_closing_in_the_middle_of_a_replay_is_quiet(folder: Path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        trials = atlas.replay(1)
        next(trials)
    trials.close()


def test_text_that_no_database_can_hold(folder: Path) -> None:
    recorded = make_recorded(5)
    recorded.calls[1].raw = "half a pair: \ud83d, and null: \0"
    with Atlas.open(folder) as atlas:
        atlas.record(1, [recorded])
        stored = list(atlas.trials(1))[-1]
    assert stored.calls[1].raw == "half a pair: ?, and null: \0"


def test_equal_pictures_are_stored_once_and_damaged_ones_again(folder: Path) -> None:
    picture = make_picture(1)
    with Atlas.open(folder) as atlas:
        before = atlas.image_row(picture.digest)
        atlas.keep_pictures([picture, picture])
        assert atlas.image_row(picture.digest) == before
        damage_picture(atlas, picture.digest)
        with pytest.raises(AtlasError, match="is damaged"):
            atlas.images.get(picture.digest)
        atlas.keep_pictures([picture])
        assert atlas.images.get(picture.digest).data == picture.data


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "I;16", "CMYK", "1"])
def test_thumbnails_of_all_kinds_of_pictures(folder: Path, mode: str) -> None:
    from PIL import Image

    big = Image.new(mode, (400, 200))
    picture = Picture.from_image(big, "TIFF" if mode in ("CMYK", "I;16") else "PNG")
    with Atlas.open(folder) as atlas:
        atlas.keep_pictures([picture])
        assert Image.open(io.BytesIO(atlas.images.thumbnail(picture.digest, 64))).size == (64, 32)


def test_missing_and_damaged_pictures_are_named(folder: Path) -> None:
    digest = make_picture(1).digest
    with Atlas.open(folder, readonly=True) as atlas:
        damage_picture(atlas, digest)
        with pytest.raises(AtlasError, match=f"{digest}.* is damaged"):
            atlas.images.get(digest)
        with pytest.raises(AtlasError, match=f"{digest}.* is damaged"):
            atlas.images.thumbnail(digest, 64)
        for pack in (folder / "images").iterdir():
            pack.unlink()
        with pytest.raises(AtlasError, match=f"{digest}.* is gone"):
            atlas.images.get(digest)
        with pytest.raises(AtlasError, match="was not kept"):
            atlas.images.get("0" * 32)


def test_pictures_that_are_none_are_kept_as_sent(folder: Path) -> None:
    recorded = make_recorded(8)
    recorded.calls[0].picture = Picture(b"an error page")
    with Atlas.open(folder) as atlas:
        atlas.record(1, [recorded])
        digest = Picture(b"an error page").digest
        assert atlas.images.name(digest) == f"{digest}.bin"
        assert atlas.images.get(digest).data == b"an error page"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_is_never_a_formula(sign: str) -> None:
    assert no_formula(f"{sign}cmd()") == f"'{sign}cmd()"
    assert no_formula("a cat = a pet") == "a cat = a pet"
