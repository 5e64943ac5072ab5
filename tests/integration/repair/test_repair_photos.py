"""A repair of a classifier that was hunted in photos: proven on the same photos, without those trained on."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session

NAMES = ("cat", "dog", "cow")
NET = """
import json, pathlib
LABELS = json.loads((pathlib.Path(__file__).parent / "labels.json").read_text())
def _as(model, images):
    return [[(LABELS[model][str(one.getpixel((0, 0)))], 0.9)] for one in images]
def before(images): return _as("before", images)
def after(images): return _as("after", images)
def placebo(images): return _as("placebo", images)
def broken(images): return [[] for _ in images]
"""
#: How often small and large ones fail.
RATES = {"before": (0.9, 0.1), "after": (0.1, 0.1), "placebo": (0.9, 0.1)}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop")
    luck, rows = random.Random(3), []
    labels: dict[str, dict[str, str]] = {model: {} for model in RATES}
    for name in NAMES:
        (root / "photos" / name).mkdir(parents=True)
    for number in range(240):
        name, small = NAMES[number % 3], luck.random() < 0.4
        file, colour = f"{name}/{number}.png", (number, luck.randrange(256), 0)
        Image.new("RGB", (8, 8), colour).save(root / "photos" / file)
        rows.append({"file_name": file, "size": "small" if small else "large"})
        for model, rates in RATES.items():
            fails = luck.random() < rates[0 if small else 1]
            labels[model][str(colour)] = "fox" if fails else name
    (root / "photos" / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "labels.json").write_text(json.dumps(labels))
    (root / "net.py").write_text(NET)
    for model in (*RATES, "broken"):
        target = {"provider": "python", "model": model, "path": f"{root}/net.py:{model}"}
        (root / f"{model}.yaml").write_text(json.dumps(target))
    settings = {
        "hunt": "classifier",
        "target": json.loads((root / "before.yaml").read_text()),
        "photos": str(root / "photos"),
    }
    (root / "hunt.yaml").write_text(json.dumps(settings))
    asyncio.run(run_session(parse_config(settings, "test"), root / "atlas", PlainReporter()))
    return root


def proven(shop: Path, out: Path, *more: str, after: str = "after") -> Any:
    words = ["repair", str(shop / "atlas"), "--after", str(shop / f"{after}.yaml"), "--placebo"]
    words += [str(shop / "placebo.yaml"), "--config", str(shop / "hunt.yaml"), "-o", str(out), *more]
    return CliRunner().invoke(cli, words)


def test_the_photos_are_compared_pair_by_pair(shop: Path, tmp_path: Path) -> None:
    result = proven(shop, tmp_path / "proof")
    assert result.exit_code == 0, result.output
    assert "was not said (--trained-on FOLDER)" in result.output
    data = json.loads((tmp_path / "proof" / "repair.json").read_text())
    (finding,) = data["after"]["fixed"]
    assert finding["subject"] == "all classes; Metadata: size=small"
    rows = (shop / "photos" / "metadata.jsonl").read_text().splitlines()
    small = sum(json.loads(row)["size"] == "small" for row in rows)
    assert finding["pairs"] == small
    assert data["placebo"]["fixed"] == data["placebo"]["better"] == []
    # Photos of no finding are where harm would show; none of them is counted twice.
    assert data["harm"]["pairs"] == len(rows) - small
    assert "accuracy on other photos" in data["sentence"]
    page = (tmp_path / "proof" / "repair.html").read_text()
    assert "photos of the hunt, the same for all three" in page
    assert "fresh pictures" not in page


def test_photos_that_were_trained_on_are_left_out_and_counted(shop: Path, tmp_path: Path) -> None:
    """They are known by content, whatever they are called; what an earlier proof asked does not come back."""
    proven(shop, tmp_path / "proof")
    trained = tmp_path / "trained"
    trained.mkdir()
    for number, path in enumerate(sorted((shop / "photos" / "cat").iterdir())[:30]):
        shutil.copy(path, trained / f"{number}.png")
    result = proven(shop, tmp_path / "proof", "--trained-on", str(trained))
    assert "30 recorded pictures were trained on, and are left out" in " ".join(result.output.split())
    data = json.loads((tmp_path / "proof" / "repair.json").read_text())
    (finding,) = data["after"]["fixed"]
    assert finding["pairs"] + data["harm"]["pairs"] == 240 - 30


def test_the_half_of_a_dataset_that_was_kept_back_counts(shop: Path, tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["dataset", str(shop / "atlas"), "-o", str(tmp_path / "data")])
    rows = [json.loads(line) for line in (tmp_path / "data" / "metadata.jsonl").read_text().splitlines()]
    train = sum(row["split"] == "train" for row in rows)
    assert 0 < train < len(rows)
    proven(shop, tmp_path / "proof", "--trained-on", str(tmp_path / "data"))
    data = json.loads((tmp_path / "proof" / "repair.json").read_text())
    assert f"{train} recorded pictures" in " ".join(data["notes"])


def test_nothing_is_proven_where_no_photo_is_left_or_answered(shop: Path, tmp_path: Path) -> None:
    everything = proven(shop, tmp_path / "all", "--trained-on", str(shop / "photos"))
    assert "every recorded picture was trained on" in str(everything.exception)
    silent = proven(shop, tmp_path / "silent", after="broken")
    assert silent.exit_code != 0
    assert "new failure" not in silent.output
    assert not (tmp_path / "silent" / "repair.json").exists()


def test_the_repair_without_twins_says_what_to_do_instead(shop: Path, tmp_path: Path) -> None:
    words = ["repair", str(shop / "atlas"), "--config", str(shop / "hunt.yaml"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, words)
    assert "is in photos" in str(result.exception)
    assert "--trained-on FOLDER" in result.exception.fix  # type: ignore[union-attr]
