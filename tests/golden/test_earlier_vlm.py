"""An atlas whose answers `exact/1` compared: it opens and is read, and `run` does not mix it with others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.golden import tools
from tests.golden.tools import IMAGES, MORE_IMAGES, assert_same, read_golden

EARLIER = Path(__file__).parent / "earlier"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER / "vlm", tmp_path / "atlas"))


def test_it_gives_the_same_findings_and_is_the_same_but_for_the_calls(kept: Path) -> None:
    """No answer of this hunt is read otherwise by today's rules, so that all else is as in the new atlas."""
    name = "vlm.findings.json"
    assert_same(tools.findings_of(kept), read_golden(name), name)
    keys = read_golden("vlm.keys.json")
    assert_same(tools.trials_of(kept), keys["trials"], "the trials of vlm.keys.json")
    assert tools.calls_of(kept) != keys["calls"]


def test_run_says_what_differs_and_does_not_go_on(kept: Path) -> None:
    before = tools.rows_of_trials(kept)
    with pytest.raises(AssertionError, match=r"exact/1 -> exact/2(.|\n)*--fork"):
        tools.hunt("vlm", kept, IMAGES["vlm"] + MORE_IMAGES)
    assert tools.rows_of_trials(kept) == before


def test_reading_it_again_gives_a_hunt_that_run_goes_on_with(kept: Path) -> None:
    told = json.loads(tools.run_command("rejudge", kept, "--reread", "--json").splitlines()[-1])
    trials = len(tools.trials_of(kept)) // 2
    assert (told["contract"], told["trials"], told["left_out"]) == ("exact/2", trials, 0)
    assert told["only_first"] == told["only_second"] == []
    tools.hunt("vlm", kept, MORE_IMAGES)  # what was drawn before was paid for by the first hunt
    resumed = tools.trials_of(kept, 2 * trials)
    assert_same(resumed, read_golden("vlm.keys.json")["resumed"], "resumed in vlm.keys.json")
