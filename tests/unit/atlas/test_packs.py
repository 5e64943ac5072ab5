"""Packs: pictures are durable before the rows that name them, and a cut-off tail is found and dropped."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from failscape.atlas import Atlas, images
from failscape.atlas.images import PackWriter, records
from failscape.errors import AtlasError
from failscape.pictures import Picture
from tests.unit.atlas.suite import CONFIG, make_picture, make_recorded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {})
        atlas.record(hunt, [make_recorded(n) for n in range(3)])
    return tmp_path / "atlas"


def pack_of(folder: Path) -> Path:
    [path] = (folder / "images").glob("*.pack")
    return path


def test_what_is_written_can_be_read_without_the_database(folder: Path) -> None:
    found = [record.digest for record in records(folder / "images", pack_of(folder).stem)]
    assert found == [make_picture(n).digest for n in range(3)]


def test_large_and_small_pictures_lie_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones are written from where they are, small ones joined; the pack is the same."""
    pictures = [Picture(bytes([n]) * length) for n, length in enumerate((9, 70_000, 8, 7, 90_000, 66_000, 5))]
    found = []
    for limit in (0, images.COPIED_BYTES, 1 << 30):
        monkeypatch.setattr(images, "COPIED_BYTES", limit)
        writer = PackWriter(tmp_path, f"{limit:016x}", 0)
        places = writer.append(pictures)
        writer.close()
        assert [images.read_place(tmp_path, place) for place in places] == [one.data for one in pictures]
        found.append((tmp_path / f"{writer.name}.pack").read_bytes())
    assert found[0] == found[1] == found[2]


def test_pictures_are_synced_before_their_rows_are_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_then: list[int] = []

    def sync(handle: int) -> None:
        with sqlite3.connect(folder / "atlas.db") as db:
            rows_then.append(db.execute("SELECT count(*) FROM images").fetchone()[0])
        os.fsync(handle)

    monkeypatch.setattr(images, "_sync", sync)
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(n) for n in range(3, 6)])
        assert len(list(atlas.image_digests())) == 6
    assert rows_then == [3]


@pytest.mark.parametrize("tail", [b"\0" * 500, b"FSP1", b"FSP1" + b"\1" * 16 + b"\0" * 7 + b"\x09half"])
def test_a_cut_off_tail_is_dropped(folder: Path, tail: bytes) -> None:
    pack = pack_of(folder)
    whole = pack.read_bytes()
    pack.write_bytes(whole + tail)
    with Atlas.open(folder) as atlas:
        assert pack.read_bytes() == whole
        atlas.record(1, [make_recorded(7)])
        for number in (0, 1, 2, 7):
            assert atlas.images.get(make_picture(number).digest).data == make_picture(number).data


def test_whole_pictures_behind_the_known_end_are_kept(folder: Path) -> None:
    """What a kill between the picture and its row leaves."""
    pack = pack_of(folder)
    writer = PackWriter(folder / "images", pack.stem, pack.stat().st_size)
    writer.append([make_picture(8), make_picture(9)])
    writer.close()
    with pack.open("ab") as file:
        file.write(b"FSP1 and half a picture")
    with Atlas.open(folder) as atlas:
        assert atlas.images.get(make_picture(9).digest).data == make_picture(9).data
        size = pack.stat().st_size
        atlas.record(1, [make_recorded(8), make_recorded(10)])
        assert pack.stat().st_size < size + 2 * len(make_picture(10).data), "picture 8 is not written twice"


def test_a_full_pack_is_followed_by_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "PACK_BYTES", 1000)
    with Atlas.open(folder) as atlas:
        for number in range(3, 9):
            atlas.record(1, [make_recorded(number)])
    assert len(list((folder / "images").iterdir())) > 2
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(9)])
        for number in range(10):
            assert atlas.images.get(make_picture(number).digest).data == make_picture(number).data


def test_a_missing_pack_that_should_grow_is_begun_anew(folder: Path) -> None:
    pack_of(folder).unlink()
    with Atlas.open(folder) as atlas:
        atlas.record(1, [make_recorded(9)])
        assert atlas.images.get(make_picture(9).digest).data == make_picture(9).data
        with pytest.raises(AtlasError, match=r"is damaged|is gone"):
            atlas.images.get(make_picture(1).digest)


def test_a_link_in_place_of_a_pack_is_refused(folder: Path, tmp_path: Path) -> None:
    pack = pack_of(folder)
    secret = pack.replace(tmp_path / "elsewhere")
    pack.symlink_to(secret)
    with Atlas.open(folder, readonly=True) as atlas, pytest.raises(AtlasError, match="symbolic link"):
        atlas.images.get(make_picture(1).digest)
    with pytest.raises(AtlasError, match="symbolic link"):
        Atlas.open(folder)
