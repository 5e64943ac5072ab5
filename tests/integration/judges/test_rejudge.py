"""Stored images before another judge: nothing is drawn, nothing twice, and it can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from failscape.again.rejudge import rejudge
from failscape.atlas import Atlas
from failscape.atlas.judging import pairs
from failscape.config import ModelConfig
from failscape.errors import AtlasError
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.testing.faulty import FaultyServer
from failscape.trials import Verdict
from failscape.views.read import load_hunt
from tests.integration.judges.conftest import ERRORS, WORLD, failscape, planted_judge, settings
from tests.integration.runs.test_polish import polisher, run

PAUSING = """
import asyncio
import pathlib
from failscape.simulate.planted import PlantedJudge

class Pausing(PlantedJudge):
    batch = 8
    judged = 0
    async def judge(self, images, checks):
        Pausing.judged += len(images)
        if Pausing.judged > 400 and not pathlib.Path(__file__).with_name("go on").exists():
            await asyncio.Event().wait()
        return await super().judge(images, checks)
"""
"""It answers nothing after 400 pictures, until there is a file named "go on"."""


def write(folder: Path, **content: object) -> Path:
    file = folder / "judge.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def test_a_better_judge_gives_a_hunt_of_its_own(atlas: Path, tmp_path: Path) -> None:
    done = failscape("rejudge", atlas, "--judge", write(tmp_path, judge=planted_judge()), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["first"], told["second"], told["missing"]) == (1, 2, 0)
    with Atlas.open(atlas, readonly=True) as opened:
        first, second = opened.hunts()
        assert second.parent == first.id
        assert second.identities["generator"] == first.identities["generator"]
        assert opened.spent(2).images == 0, "nothing is drawn"
        old, new = list(opened.replay(1)), list(opened.replay(2))
        assert sorted(trial.key for trial in new) == sorted(trial.key for trial in old)
        assert {trial.key: trial.facts[0] for trial in new} == {trial.key: trial.facts[0] for trial in old}
        before = {finding.subject for finding in load_hunt(opened, 1).findings}
        after = {finding.subject for finding in load_hunt(opened, 2).findings}
        shares = [pair.first == pair.second for pair in pairs(opened, 1, 2) if pair.check.kind == "entity"]
    assert set(told["both"]) == before & after
    assert set(told["only_first"]) == before - after
    assert set(told["only_second"]) == after - before
    entity = told["kinds"]["entity"]
    assert entity["share"] == sum(shares) / len(shares)
    # The new judge is perfect, so they agree as often as the old one is right.
    low, high = entity["interval"]
    assert low - 0.02 <= ERRORS["entity"][0] <= high + 0.02
    assert list(told["kinds"])[-1] == "all checks"


def test_doing_it_again_asks_the_judge_nothing(atlas: Path, tmp_path: Path) -> None:
    file = write(tmp_path, **planted_judge())  # a file with nothing but the model
    first = failscape("rejudge", atlas, "--judge", file)
    assert "900 judged now, 0 before" in first.stdout
    again = failscape("rejudge", atlas, "--judge", file)
    assert "0 judged now, 900 before" in again.stdout
    assert "Hunt 2 has the images of hunt 1" in again.stdout
    assert "Findings:" in again.stdout


def test_a_killed_rejudge_goes_on(atlas: Path, tmp_path: Path) -> None:
    (tmp_path / "pausing.py").write_text(PAUSING)
    judge = {"provider": "python", "path": f"{tmp_path / 'pausing.py'}:Pausing", "params": WORLD}
    file = write(tmp_path, judge=judge)
    command = [sys.executable, "-m", "failscape", "rejudge", str(atlas), "--judge", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while recorded(atlas) < 100:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = recorded(atlas)
    assert 100 <= before < 900
    (tmp_path / "go on").touch()
    done = failscape("rejudge", atlas, "--judge", file)
    assert f"{900 - before:,} judged now, {before:,} before" in done.stdout
    with Atlas.open(atlas, readonly=True) as opened:
        assert len(opened.hunts()) == 2
        keys = [trial.key for trial in opened.replay(2)]
    assert len(keys) == len(set(keys)) == 900


def recorded(atlas: Path) -> int:
    with Atlas.open(atlas, readonly=True) as opened:
        return sum(sum(opened.counts(hunt.id).values()) for hunt in opened.hunts() if hunt.id == 2)


def test_a_run_can_go_on_with_the_new_judge(atlas: Path, tmp_path: Path) -> None:
    failscape("rejudge", atlas, "--judge", write(tmp_path, judge=planted_judge()))
    config = settings(judge=planted_judge(), budget={"images": 20})
    summary = asyncio.run(run_session(config, atlas, PlainReporter()))
    assert summary.hunt_id == 2
    assert summary.resumed == 900
    assert summary.spent.images == 20


def test_trials_without_a_picture_are_left_out(tmp_path: Path) -> None:
    config = settings(runtime={"keep_images": "failures"}, budget={"images": 200})
    asyncio.run(run_session(config, tmp_path / "atlas", PlainReporter()))
    file = write(tmp_path, judge=planted_judge())
    told = json.loads(
        failscape("rejudge", tmp_path / "atlas", "--judge", file, "--json").stdout.splitlines()[-1]
    )
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        second = sum(opened.counts(2).values())
    assert second + told["missing"] == 200
    assert told["missing"] > 0
    assert second > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"judge": planted_judge(accuracy=ERRORS)}, "was judged by this very judge"),
        ({"target": {"provider": "toybox"}}, "has no section `judge`"),
        ({"judge": {**planted_judge(), "modle": "x"}}, "unknown key `modle`"),
    ],
)
def test_bad_judges_are_refused(atlas: Path, tmp_path: Path, content: dict, message: str) -> None:
    done = failscape("rejudge", atlas, "--judge", write(tmp_path, **content))
    assert done.returncode == 2
    assert message in done.stderr
    with Atlas.open(atlas, readonly=True) as opened:
        assert len(opened.hunts()) == 1


def test_an_atlas_without_pictures_is_refused(tmp_path: Path) -> None:
    config = settings(runtime={"keep_images": "none"}, budget={"images": 40})
    asyncio.run(run_session(config, tmp_path / "atlas", PlainReporter()))
    done = failscape("rejudge", tmp_path / "atlas", "--judge", write(tmp_path, judge=planted_judge()))
    assert done.returncode == AtlasError.exit_code
    assert "no picture of hunt 1 was kept" in done.stderr


async def test_reworded_prompts_are_not_asked_for_again(tmp_path: Path) -> None:
    change = polisher(lambda text: text.replace("An image of", "A picture of"))
    with FaultyServer(answer=change) as server:
        await run(tmp_path / "atlas", server, 60)
    # The server is gone: whatever would be asked anew fails.
    judge = ModelConfig.model_validate(planted_judge(accuracy=ERRORS))
    done = await rejudge(tmp_path / "atlas", judge, PlainReporter())
    assert done.summary.trials == 60
    with Atlas.open(tmp_path / "atlas", readonly=True) as opened:
        assert opened.counts(done.second)[Verdict.INVALID] == 0
        assert {trial.facts[1] for trial in opened.replay(1)} == {
            trial.facts[1] for trial in opened.replay(done.second)
        }
