"""What is said of the version is one thing everywhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml
from click.testing import CliRunner

import failscape
from failscape.cli import cli
from failscape.spaces import corpus_names, load_corpus

ROOT = Path(__file__).parents[3]


def test_the_version_says_extras_and_corpora() -> None:
    lines = CliRunner().invoke(cli, ["--version"]).output.splitlines()
    assert lines[0] == f"failscape, version {failscape.__version__}"
    assert "dev" in next(line for line in lines if line.startswith("extras: ")).partition("(")[0]
    for name in corpus_names():
        assert f"corpus {name}: {load_corpus(name).digest}" in lines


def test_every_file_names_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == citation["version"] == failscape.__version__


def test_workflows_call_what_there_is() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(path.read_text())["jobs"]
        said = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        assert all(
            f"\n{word.removeprefix('make ')}:" in makefile for word in said if word.startswith("make ")
        )
