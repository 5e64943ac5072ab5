"""Small atlases that ask for gigabytes, and rows that name no moment, no name and no type of ours."""

import json
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.atlas.database import WriterLock
from failscape.atlas.hunts import last_results
from failscape.atlas.images import LONGEST_PICTURE, PackWriter, records
from failscape.atlas.reader import CORPORA, kept_folder
from failscape.atlas.store import LOCK
from failscape.errors import AtlasError
from failscape.search.hunt_results import from_bytes
from failscape.views.pages.sections import when
from tests.unit.atlas.suite import CONFIG, make_recorded

#: Far more than this machine has; as a hole in a file it takes no room on the disk.
HOLE = 1 << 42


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        hunt = atlas.start_hunt("t2i", CONFIG, {})
        atlas.record(hunt, [make_recorded(n) for n in range(3)])
    return tmp_path / "atlas"


def spoil(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute(statement)
        db.commit()


def test_a_number_in_place_of_kept_results_is_nothing(folder: Path) -> None:
    spoil(folder, f"INSERT INTO results VALUES (1, 1, 1, '', '', 0, {HOLE})")

    with Atlas.open(folder, readonly=True) as atlas:
        assert last_results(atlas, 1) is None


def test_a_picture_in_a_pack_with_a_hole_is_not_read(folder: Path) -> None:
    os.truncate(next((folder / "images").glob("*.pack")), HOLE)
    spoil(folder, f"UPDATE images SET bytes = {HOLE // 2}")

    with Atlas.open(folder, readonly=True) as atlas:
        digest = next(atlas.image_digests())
        with pytest.raises(AtlasError, match="but at most"):
            atlas.images.get(digest)


def test_a_record_of_a_pack_with_a_hole_is_not_read(tmp_path: Path) -> None:
    writer = PackWriter.begin(tmp_path)
    writer.close()
    path = next(tmp_path.glob("*.pack"))
    path.write_bytes(b"FSP1" + bytes(16) + (HOLE // 2).to_bytes(8, "big"))
    os.truncate(path, HOLE)

    assert list(records(tmp_path, path.stem)) == []


def test_a_picture_of_its_own_file_with_a_hole_is_not_read(folder: Path) -> None:
    spoil(folder, "UPDATE images SET pack = NULL")
    with Atlas.open(folder, readonly=True) as atlas:
        digest = next(atlas.image_digests())
        near = folder / "images" / digest[:2]
        near.mkdir()
        (near / f"{digest}.png").touch()
        os.truncate(near / f"{digest}.png", HOLE)

        with pytest.raises(AtlasError, match=f"at most {LONGEST_PICTURE:,}"):
            atlas.images.get(digest)


def test_a_kept_corpus_with_a_hole_is_refused(folder: Path) -> None:
    here = folder / CORPORA / "words"
    here.mkdir(parents=True)
    (here / "entities.json").touch()
    os.truncate(here / "entities.json", HOLE)

    with pytest.raises(AtlasError, match="but at most"):
        kept_folder(folder, "words")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM atlas", "UPDATE atlas SET uid = x'00'", "INSERT INTO atlas VALUES ('another', 0)"],
)
def test_an_atlas_has_one_name(folder: Path, statement: str) -> None:
    spoil(folder, statement)

    for readonly in (True, False):
        with pytest.raises(AtlasError, match="must have one name"):
            Atlas.open(folder, readonly=readonly)


@pytest.mark.parametrize("at", [1e300, -1e300, float("inf"), float("nan")])
def test_a_moment_that_is_none_is_said(at: float) -> None:
    assert when(at) == "at no known time"


@pytest.mark.parametrize("since", ['"then"', "1e300", "null", "[]"])
def test_a_lock_of_anybody_is_told_without_its_moment(folder: Path, since: str) -> None:
    held = WriterLock(folder / LOCK)
    (folder / LOCK).write_text(f'{{"pid": 7, "host": "there", "since": {since}}}')

    with pytest.raises(AtlasError, match=r"written by process 7 on there(?! since)"):
        Atlas.open(folder)
    held.release()


@pytest.mark.parametrize(
    "name",
    [
        "failscape.kinds.classifier.rows:HuntRow",  # of another package of ours
        "failscape.spaces.embeddings:zipfile.shutil._ntuple_diskusage",  # through a module of ours
    ],
)
def test_kept_results_name_types_of_hunts_alone(name: str) -> None:
    told = zlib.compress(json.dumps({"@": name, "_": []}).encode())

    with pytest.raises(ValueError, match="is no type of a hunt's"):
        from_bytes(told)
