"""Atlases whose hunts were planned by earlier rules: what they proved is still read from their trials."""

from __future__ import annotations

import shutil
from pathlib import Path

from failscape.atlas import Atlas
from failscape.evidence import load_hunt

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
