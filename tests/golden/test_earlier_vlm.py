"""Atlases that other rules planned: one is read as it was told then, none is mixed with what is asked now."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.views.read import load_hunt
from tests.golden import tools
from tests.golden.tools import IMAGES, MORE_IMAGES

EARLIER = Path(__file__).parent / "earlier"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Planned by other rules; what its run told is in it."""
    return Path(shutil.copytree(EARLIER / "vlm_rules", tmp_path / "atlas"))


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Older still: compared by `exact/1`, and nothing but its trials was kept."""
    return Path(shutil.copytree(EARLIER / "vlm", tmp_path / "atlas"))


def test_findings_are_told_as_they_were_then(kept: Path) -> None:
    records = [json.loads(line) for line in tools.run_command("findings", kept, "--json").splitlines()]
    assert [record["title"] for record in records] == ["odd kind"]
    for record in records:
        counted = [one["verdict"] for one in record["evidence"] if one["counted"]]
        assert (counted.count("fail"), len(counted)) == (record["failures"], record["trials"])
    with Atlas.open(kept, readonly=True) as atlas:
        assert "earlier version" in load_hunt(atlas).found.warning


def test_its_trials_are_not_counted_under_a_plan_that_never_asked_for_them(kept: Path) -> None:
    before = tools.rows_of_trials(kept)
    with pytest.raises(AssertionError, match="made with other settings"):
        tools.hunt("vlm", kept, IMAGES["vlm"] + MORE_IMAGES)
    assert tools.rows_of_trials(kept) == before


def test_an_older_one_says_what_differs_and_does_not_go_on(older: Path) -> None:
    before = tools.rows_of_trials(older)
    with pytest.raises(AssertionError, match=r"made with other settings(.|\n)*--fork"):
        tools.hunt("vlm", older, IMAGES["vlm"] + MORE_IMAGES)
    with pytest.raises(AssertionError, match="rules of an earlier version"):
        tools.run_command("findings", older)
    assert tools.rows_of_trials(older) == before
