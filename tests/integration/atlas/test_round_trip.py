"""Findings go out as FailureAtlas rows and come back as findings, whatever strategy made them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.views.read import load_hunt

WORLD = {"corpus": "starter", "regime": "weak", "seed": 2}
STRATEGIES = ("certified", "listed", "failureatlas", "curtailed", "sprt", "random")


def found_in(folder: Path) -> set[str]:
    """Findings that some picture of their own shows; `listed` may claim others, by its model alone."""
    with Atlas.open(folder, readonly=True) as atlas:
        return {finding.subject for finding in load_hunt(atlas).findings if finding.failures}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_findings_come_back(strategy: str, tmp_path: Path) -> None:
    planted = {
        role: {"provider": "python", "path": f"failscape.simulate.planted:Planted{name}", "params": WORLD}
        for role, name in (("target", "Generator"), ("judge", "Judge"))
    }
    config = {
        "hunt": "t2i",
        **planted,
        "space": {"corpus": "starter", "entities": "sample", "depth": 2},
        "search": {"strategy": strategy, "images_per_node": 8},
        "budget": {"images": 1200 if strategy == "certified" else 600},
    }
    asyncio.run(run_session(parse_config(config, "a test"), tmp_path / "out", PlainReporter()))
    rows = tmp_path / "rows.jsonl"
    done = CliRunner().invoke(
        cli, ["export", str(tmp_path / "out"), "--format", "failureatlas", "-o", str(rows)]
    )
    assert done.exit_code == 0, done.output
    written = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    found = found_in(tmp_path / "out")
    assert found, "there is something to bring back"
    failing = [row for row in written if not row["valid"]]
    assert all(row["tested"] for row in failing)
    assert len(failing) >= len(found)
    back = CliRunner().invoke(cli, ["import", str(rows), "--atlas", str(tmp_path / "back")])
    assert back.exit_code == 0, back.output
    assert found_in(tmp_path / "back") == found
    assert f"{len(found):,} findings" in back.output
