"""The way of a new user: from an empty folder to a first finding, by the commands that each step prints."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.testing.servers import toybox_server
from failscape.views.read import load_hunt

SMALL = ("--images", "500")
"""The one thing that differs from docs/first-steps.md: 500 images in place of 4,000."""


def follow(printed: str, word: str) -> str:
    """Runs the command of that name that stands in `printed`, and gives what it prints."""
    found = re.search(rf"failscape ({word} .*)", printed)
    assert found, f"nothing leads to `{word}`: {printed}"
    done = CliRunner().invoke(cli, shlex.split(found[1].partition("#")[0]))
    assert done.exit_code == 0, done.output
    return done.output


def test_each_step_leads_to_the_next_and_the_last_shows_a_proven_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "failscape.kinds.t2i.plan.SIMULATED_IMAGES", 200
    )  # how good plans are is tested apart
    with toybox_server() as server:
        begin = f"failscape init --hunt t2i --target openai --endpoint {server.url} --model toybox"
        said = follow(f"{begin} {' '.join(SMALL)} --yes", "init")
        said = follow(said, "doctor")
        said = follow(said, "plan")
        assert "findings if the model is like 'medium'" in said
        said = follow(said, "run")
        assert "Finished" in said
    with Atlas.open("runs/first", readonly=True) as atlas:
        assert "certified" in load_hunt(atlas).statuses
    assert "certified" in follow(said, "findings")
    look(re.search(r"failscape (view .*)", said))


def look(found: re.Match[str] | None) -> None:
    """The viewer is a server: it is started, asked for its first page, and stopped."""
    assert found
    command = [sys.executable, "-m", "failscape", *shlex.split(found[1]), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # it keeps the token
            with browser.open(viewer.stdout.readline().strip(), timeout=60) as page:
                assert page.status == 200
                assert b"<html" in page.read()
        finally:
            viewer.terminate()
