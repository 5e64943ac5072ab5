"""What a hunt found comes from a process of its own, which ends with the viewer."""

from __future__ import annotations

import threading
import time

import pytest

from failscape.atlas import Atlas
from failscape.errors import AtlasError
from failscape.views.read.found import read_found
from failscape.views.viewer import library
from failscape.views.viewer.library import FoundReader


@pytest.fixture
def always_apart(monkeypatch):
    monkeypatch.setattr(library, "SHORT", 0)


def test_another_process_finds_the_same(folder, always_apart) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        row = atlas.hunt(1)
        told: list[tuple[int, int]] = []
        here, there = read_found(atlas, row), FoundReader().read(atlas, row, lambda *far: told.append(far))
    assert there.findings == here.findings
    assert there.suspects == here.suspects
    assert there.curve == here.curve
    assert told == [(number, told[-1][1]) for number, _ in here.curve[1:]], "it says how far it is"


def test_errors_come_back_with_their_fix(folder, always_apart, tmp_path) -> None:
    with Atlas.open(folder, readonly=True) as atlas:
        row = atlas.hunt(1)
        atlas.folder = tmp_path / "gone"
        with pytest.raises(AtlasError, match="does not exist") as caught:
            FoundReader().read(atlas, row)
    assert caught.value.fix


def test_closing_ends_what_is_under_way(folder, always_apart) -> None:
    reader, problems = FoundReader(), []
    with Atlas.open(folder, readonly=True) as atlas:

        def read() -> None:
            try:
                reader.read(atlas, atlas.hunt(1))
            except AtlasError as error:
                problems.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        while not reader._working and thread.is_alive():
            time.sleep(0.005)
        reader.close()
        thread.join(120)
    assert not thread.is_alive()
    assert "ended before it was done" in problems[0].message
