"""The report says whether failures belong to concepts or to their wording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas, HuntRow, Recorded
from failscape.kinds.t2i.page_trust import counts_by_wording, wording_notes
from failscape.trials import Generate, Probe, Trial, Verdict

CAPTIONS = ("An image of a cat.", "A picture of a cat.", "A cat.")


def record(folder: Path, failing: dict[str, int], wording: str = "vary") -> tuple[Atlas, HuntRow]:
    """Forty nodes with ten pictures of each caption, of which `failing` fail."""
    atlas = Atlas.open(folder, create=True)
    config: dict[str, Any] = {"hunt": "t2i", "space": {"wording": wording}}
    hunt = atlas.start_hunt("t2i", config, {})
    group = []
    for node in range(40):
        for number in range(30):
            caption = CAPTIONS[number % 3]
            verdict = Verdict.FAIL if number // 3 < failing[caption] else Verdict.PASS
            probe = Probe(f"n{node}#{number}", f"n{node}", (Generate(caption),), number)
            group.append(Recorded(probe, Trial(probe.key, probe.subject, verdict), (), 0.0, 0.0))
    atlas.record(hunt, group)
    return atlas, atlas.hunt(hunt)


def test_counts_are_by_subject_and_prompt(tmp_path: Path) -> None:
    atlas, row = record(tmp_path, {CAPTIONS[0]: 1, CAPTIONS[1]: 2, CAPTIONS[2]: 3})
    with atlas:
        counts = list(counts_by_wording(atlas, row.id))
    assert counts == [[(9, 1), (8, 2), (7, 3)]] * 40


@pytest.mark.parametrize(
    ("failing", "sentence"),
    [((3, 3, 3), "no sign that the wording matters"), ((1, 8, 5), "The wording matters")],
)
def test_the_effect_is_told(tmp_path: Path, failing: tuple[int, ...], sentence: str) -> None:
    atlas, row = record(tmp_path, dict(zip(CAPTIONS, failing, strict=True)))
    with atlas:
        (note,) = wording_notes(atlas, row)
    assert sentence in note
    assert "40 nodes and 1,200 pictures" in note


def test_hunts_with_one_wording_say_nothing(tmp_path: Path) -> None:
    atlas, row = record(tmp_path, dict.fromkeys(CAPTIONS, 1), wording="canonical")
    with atlas:
        assert list(wording_notes(atlas, row)) == []
