"""Commands say how far telling trials again has come, and nothing where that is short."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from benchmarks.made_atlas import make_atlas
from click.testing import CliRunner

from failscape.cli import screen
from failscape.cli.findings import command as findings
from failscape.cli.report import command as report
from failscape.cli.screen import TellingLine

TRIALS = 320


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No run made it, so nothing is kept of what was found: all trials are told again."""
    folder = tmp_path_factory.mktemp("telling") / "atlas"
    make_atlas(folder, TRIALS)
    return folder


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "QUIET_SECONDS", 0.0)


@pytest.mark.usefixtures("at_once")
def test_findings_and_report_say_how_far_they_are(atlas: Path, tmp_path: Path) -> None:
    for command, words in ((findings, ["--json"]), (report, ["-o", str(tmp_path / "report")])):
        shown = CliRunner().invoke(command, [str(atlas), *words])
        assert shown.exit_code == 0, shown.output
        lines = [line for line in shown.stderr.splitlines() if line.startswith("telling")]
        assert lines[0].endswith(f"of {TRIALS} (1%)")
        assert lines[-1] == f"telling the hunt its trials again: {TRIALS} of {TRIALS} (100%)"
        assert "telling" not in shown.stdout


def test_a_short_wait_is_not_spoken_of(atlas: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "QUIET_SECONDS", 3600.0)  # short for any machine
    assert "telling" not in CliRunner().invoke(findings, [str(atlas)]).stderr


@pytest.mark.usefixtures("at_once")
def test_on_a_terminal_one_line_takes_the_place_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(screen, "TERMINAL_SECONDS", 0.0)
    line = TellingLine()
    line(1, 4)
    line(4, 4)
    one, two = (
        f"\r\033[Ktelling the hunt its trials again: {told}" for told in ("1 of 4 (25%)", "4 of 4 (100%)")
    )
    assert stream.getvalue() == f"{one}{two}\n"


@pytest.mark.usefixtures("at_once")
def test_a_line_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(stream, "isatty", lambda: False)
    monkeypatch.setattr(sys, "stderr", stream)
    TellingLine()(1, 1)
