"""Atlases whose hunts were planned by earlier rules: what they proved is still read from their trials."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from failscape import __version__
from failscape.again.comparing import NotComparable
from failscape.again.gate import read_baseline
from failscape.atlas import Atlas
from failscape.config import files
from failscape.config.files import load_config
from failscape.errors import ConfigError
from failscape.views.read import load_hunt

EARLIER = Path(__file__).parent / "earlier"
PROVEN = {
    "camel; Base: colour=black",
    "camel; Base: colour=red",
    "camel; Base: colour=blue",
    "camel; Image: style=sepia",
    "penguin; Base: colour=red",
}
"""What the version that made the atlas said."""


def test_a_classifier_hunt_of_one_round_is_read_anew(tmp_path: Path) -> None:
    shutil.copytree(EARLIER / "classifier", tmp_path / "atlas")
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        found = {finding.subject: finding for finding in load_hunt(atlas).findings}
    assert found.keys() >= PROVEN
    assert found["penguin; Base: colour=red"].failures == 16
    assert all(finding.details.seen.obeyed is None for finding in found.values())


@pytest.mark.parametrize("file", sorted((EARLIER / "configs").glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*called `listed` now:FutureWarning")
def test_configs_of_0_1_load(file: Path) -> None:
    assert load_config(file).hunt in ("t2i", "classifier", "vlm")


def test_an_earlier_word_warns_for_one_minor_version_and_is_refused_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rule of docs/upgrade.md, tried on the one word that goes now."""
    file = EARLIER / "configs" / "probable.yaml"
    assert __version__.startswith("0.2."), "0.3 takes `probable` out of `earlier_words`"
    with pytest.warns(FutureWarning, match="`search.strategy: probable` is called `listed` now.*0.3"):
        config = load_config(file)
    assert config.model_dump()["search"]["strategy"] == "listed"
    monkeypatch.setattr(files, "__version__", "0.3.0")
    with pytest.raises(ConfigError, match="is called `listed` now"):
        load_config(file)


def test_a_baseline_of_an_earlier_version_opens_and_one_of_a_newer_gets_a_sentence(tmp_path: Path) -> None:
    text = (EARLIER / "baseline.json").read_text(encoding="utf-8")
    baseline = read_baseline(EARLIER / "baseline.json")
    assert baseline.kind == "t2i"
    assert len(baseline.cases) == 40
    newer = tmp_path / "newer.json"
    newer.write_text(text.replace('"version":1', '"version":99'), encoding="utf-8")
    with pytest.raises(NotComparable, match="upgrade"):
        read_baseline(newer)
