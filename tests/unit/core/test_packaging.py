"""What is not run here is read: the image's recipe, workflows, and the versions that have to agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from failscape import __version__

ROOT = Path(__file__).parents[3]


def test_every_place_says_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["version"] == citation["version"] == __version__
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == __version__


def test_the_image_is_made_from_what_is_there_and_has_no_rights() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}
    assert {step[0] for step in steps} <= known
    copied = [
        name for step in steps if step[0] == "COPY" and "--from=build" not in step for name in step[1:-1]
    ]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    assert [step[1] for step in steps if step[0] == "USER"] == ["hunter"]
    last = [step[0] for step in steps].index("USER")
    assert not any(step[0] == "RUN" for step in steps[last:]), "nothing is installed by the user"


def test_workflows_call_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        for target in re.findall(r"make ([\w-]+)", "\n".join(runs)):
            assert re.search(rf"^[\w -]*\b{target}\b[\w -]*:", makefile, re.MULTILINE), (
                f"{path.name}: {target}"
            )
