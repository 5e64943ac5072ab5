"""Albums: photos with what is known about them; bad files are reported and skipped, never fatal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from failscape.atlas import Atlas
from failscape.atlas.hunts import keep_album, keep_pictures
from failscape.errors import ConfigError
from failscape.pictures import Picture
from failscape.spaces.albums import load_album


def save(path: Path, shade: int) -> Picture:
    picture = Picture.from_array(np.full((8, 8, 3), shade, np.uint8))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture.data)
    return picture


def test_labels_come_from_folders_and_metadata(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "a.png", 1)
    save(tmp_path / "b.png", 2)
    rows = [{"file_name": "b.png", "label": "dog", "caption": "a dog", "scene": {"place": "snow"}}]
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    album = load_album(tmp_path)
    assert [(photo.name, photo.label, photo.captions) for photo in album.photos] == [
        ("b.png", "dog", ("a dog",)),
        ("cat/a.png", "cat", ()),
    ]
    assert album.photos[0].details == {"scene": {"place": "snow"}}
    assert album.labelled("cat")[0].picture().digest == album.photos[1].digest


def test_captions_may_be_a_csv_file(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    (tmp_path / "captions.csv").write_text('file_name,caption\na.png,"one, two"\ngone.png,x\n')
    album = load_album(tmp_path)
    assert album.photos[0].captions == ("one, two",)
    assert album.skipped == ("gone.png: named in the metadata, but there is no such photo",)


def test_broken_and_repeated_photos_are_skipped_with_a_reason(tmp_path: Path) -> None:
    whole = save(tmp_path / "a.png", 1)
    (tmp_path / "b.png").write_bytes(whole.data)
    (tmp_path / "c.png").write_bytes(whole.data[:40])
    album = load_album(tmp_path)
    assert len(album.photos) == 1
    assert album.skipped[0] == "b.png: the same photo as a.png"
    assert album.skipped[1].startswith("c.png: not a readable image")


def test_the_reason_names_no_address_in_memory(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    (tmp_path / "b.png").write_bytes(b"nope")
    assert load_album(tmp_path).skipped == ("b.png: not a readable image: 4 bytes that start with b'nope'",)


def test_a_folder_without_photos_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no photo that can be read"):
        load_album(tmp_path)
    with pytest.raises(ConfigError, match="no folder of photos"):
        load_album(tmp_path / "none")


def test_bad_metadata_name_the_line(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "a.png"}\n[1]\n')
    with pytest.raises(ConfigError, match="line 2"):
        load_album(tmp_path)


def test_the_digest_knows_content_not_place(tmp_path: Path) -> None:
    save(tmp_path / "one" / "a.png", 1)
    save(tmp_path / "two" / "a.png", 1)
    first, second = load_album(tmp_path / "one"), load_album(tmp_path / "two")
    assert first.digest == second.digest
    (tmp_path / "two" / "captions.csv").write_text("file_name,caption\na.png,a dot\n")
    assert load_album(tmp_path / "two").digest != first.digest


def test_an_atlas_keeps_an_album(tmp_path: Path) -> None:
    saved = [save(tmp_path / "photos" / f"{shade}.png", shade) for shade in range(70)]
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        assert keep_pictures(atlas, load_album(tmp_path / "photos").pictures()) == 70
        assert atlas.images.get(saved[3].digest).data == saved[3].data
        assert len(list(atlas.image_digests())) == 70


def test_a_kept_album_is_the_same_album(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    (tmp_path / "metadata.jsonl").write_text(
        '{"file_name": "a.png", "captions": ["é", "b"], "label": "x", "size": {"b": 1.5, "a": null}}'
    )
    album = load_album(tmp_path)
    with Atlas.open(tmp_path / "atlas", create=True) as atlas:
        keep_album(atlas, album)
        keep_album(atlas, album)
        kept = load_album(atlas.folder / "corpora" / album.digest)
    assert kept.digest == album.digest
    assert [(one.digest, one.name, one.label, one.captions, one.details) for one in kept.photos] == [
        (one.digest, one.name, one.label, one.captions, one.details) for one in album.photos
    ]


def test_a_caption_that_was_cut_at_a_comma_is_told(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    (tmp_path / "captions.csv").write_text("file_name,caption,by\na.png,a dot,me,on white\n")
    album = load_album(tmp_path)
    assert album.skipped == ('the end of captions.csv, row 1: text with a comma in it needs "quotes"',)
