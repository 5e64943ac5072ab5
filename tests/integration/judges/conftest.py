"""A planted run with a judge that errs, and a reviewer who never does."""

from __future__ import annotations

import asyncio
import csv
import io
import shutil
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas
from failscape.atlas.judging import items_of
from failscape.cli import main
from failscape.kinds.t2i.config import T2IConfig
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.simulate.planted import PlantedJudge
from failscape.trials import Decide

WORLD = {"corpus": "starter", "regime": "weak", "seed": 2}
ERRORS = {"entity": [0.95, 0.9], "*": [0.85, 0.8]}


def planted_judge(**params: Any) -> dict[str, Any]:
    path = "failscape.simulate.planted:PlantedJudge"
    return {"provider": "python", "path": path, "params": {**WORLD, **params}}


def settings(**changes: Any) -> T2IConfig:
    target = {"provider": "python", "path": "failscape.simulate.planted:PlantedGenerator", "params": WORLD}
    return T2IConfig.model_validate(
        {
            "hunt": "t2i",
            "target": target,
            "judge": planted_judge(accuracy=ERRORS),
            "space": {"corpus": "starter", "entities": "sample", "depth": 1},
            "search": {"strategy": "failureatlas", "images_per_node": 8},
            "budget": {"images": 900},
            **changes,
        }
    )


@pytest.fixture(scope="package")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run; copy it before writing."""
    folder = tmp_path_factory.mktemp("judged") / "atlas"
    asyncio.run(run_session(settings(), folder, PlainReporter()))
    return folder


@pytest.fixture
def atlas(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged, tmp_path / "atlas"))


def failscape(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command line, in this process: most of a command's time would be imports."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, int(str(stop.value.code)), out.getvalue(), err.getvalue())


def label(atlas: Path, table: Path, out: Path, reviewer: str = "ada", **changed: str) -> Path:
    """Fill in a review table truthfully; `changed` are item → another label."""
    truth = PlantedJudge(**WORLD)
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    with Atlas.open(atlas, readonly=True) as opened:
        trials = {stored.trial.key: stored for stored in opened.trials(1)}
        items = {item.item: item for item in items_of(opened, rows[0]["review"])}
        for row in rows:
            item = items[row["item"]]
            stored = trials[item.trial]
            checks = [check for step in stored.steps if isinstance(step, Decide) for check in step.checks]
            reply = truth.decide(opened.images.get(stored.images[-1]), [checks[item.place]])
            row["label"] = changed.get(row["item"], "yes" if reply.value and reply.value[0] else "no")
            row["reviewer"] = reviewer
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return out
