"""An atlas of the first rules: it opens, says that it is read anew, and goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from failscape.atlas import Atlas
from failscape.views.read.hunt import load_hunt
from tests.golden import tools
from tests.golden.tools import IMAGES, MORE_IMAGES

EARLIER = Path(__file__).parent / "earlier"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER / "t2i", tmp_path / "atlas"))


def test_it_is_read_under_todays_rules_and_says_so(kept: Path) -> None:
    found = tools.findings_of(kept)
    assert found
    assert {one["status"] for one in found} == {"certified"}
    with Atlas.open(kept, readonly=True) as atlas:
        survey = load_hunt(atlas).found.survey
    assert survey is not None
    assert "version 1 of the rules" in json.dumps(survey.as_data(), ensure_ascii=False)
    page = " ".join(tools.page_of(kept, kept.parent / "report"))
    assert "Read anew" in page


@pytest.mark.filterwarnings("ignore:`search.minimal_doubt` has no effect")
def test_it_goes_on_under_todays_rules(kept: Path) -> None:
    before = tools.trials_of(kept)
    tools.hunt("t2i", kept, IMAGES["t2i"] + MORE_IMAGES, config=EARLIER / "t2i.yaml")
    after = tools.trials_of(kept)
    assert after[: len(before)] == before
    assert len(after) == len(before) + MORE_IMAGES
