"""A fact that matters in every class, from a folder to findings, page and dataset."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.views.read import load_hunt
from failscape.views.read.answer import answer_of

NAMES = ("cat", "dog", "cow")
NET = """
import json, pathlib
labels = json.loads((pathlib.Path(__file__).parent / "labels.json").read_text())
def classify(images):
    return [[(labels[str(one.getpixel((0, 0))[:2])], 0.9)] for one in images]
"""


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small ones fail eight times of ten, whatever they are; others once in ten times."""
    root = tmp_path_factory.mktemp("across")
    luck, rows, labels = random.Random(2), [], {}
    for name in NAMES:
        (root / "photos" / name).mkdir(parents=True)
    for number in range(240):
        name, small = NAMES[number % 3], luck.random() < 0.3
        file = f"{name}/{number}.png"
        colour = (number, luck.randrange(256))
        Image.new("RGB", (8, 8), (*colour, 0)).save(root / "photos" / file)
        rows.append({"file_name": file, "size": "small" if small else "large"})
        labels[str(colour)] = "fox" if luck.random() < (0.8 if small else 0.1) else name
    (root / "photos" / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "labels.json").write_text(json.dumps(labels))
    (root / "net.py").write_text(NET)
    target = {"provider": "python", "path": f"{root}/net.py:classify"}
    settings = {"hunt": "classifier", "target": target, "photos": str(root / "photos")}
    asyncio.run(run_session(parse_config(settings, "test"), root / "atlas", PlainReporter()))
    return root / "atlas"


def test_the_terminal_and_json_tell_it_once_with_its_classes(hunted: Path) -> None:
    output = CliRunner().invoke(cli, ["findings", str(hunted)]).output
    assert "photos whose size is small" in output
    lines = CliRunner().invoke(cli, ["findings", str(hunted), "--json"]).output.splitlines()
    (record,) = [json.loads(line) for line in lines if "size=small" in line]
    assert record["subject"] == "all classes; Metadata: size=small"
    assert {row["name"] for row in record["details"]["classes"] if row["holds"]} == set(NAMES)
    counted = [one["verdict"] for one in record["evidence"] if one["counted"]]
    assert (counted.count("fail"), len(counted)) == (record["failures"], record["trials"])


def test_the_answer_counts_photos_and_invents_no_theme(hunted: Path) -> None:
    """A trial of a photo is about its class, so nothing is known of other values of a column."""
    with Atlas.open(hunted, readonly=True) as atlas:
        answer = answer_of(load_hunt(atlas))
    assert re.search(r"gets \d+ of 240 photos wrong", answer.headline)
    assert answer.themes == ()
    assert answer.alone == tuple(range(1, answer.findings + 1))


def test_a_run_of_photos_warns_of_no_lost_log_and_ends_with_what_it_found(
    hunted: Path, tmp_path: Path
) -> None:
    config = tmp_path / "hunt.yaml"
    target = {"provider": "python", "path": f"{hunted.parent}/net.py:classify"}
    photos = str(hunted.parent / "photos")
    config.write_text(json.dumps({"hunt": "classifier", "target": target, "photos": photos}))
    result = CliRunner().invoke(cli, ["run", str(config), "--atlas", str(tmp_path / "atlas")])
    assert result.exit_code == 0, result.output
    assert "was lost" not in result.output
    assert "- photos whose size is small: " in " ".join(result.output.split())


def test_the_page_says_for_which_classes_it_holds(hunted: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(hunted)])
    assert result.exit_code == 0, result.output
    page = (hunted / "report" / "index.html").read_text()
    assert "Photos whose size is small are misclassified" in page
    assert all(f"{name} (" in page for name in NAMES)


def test_the_dataset_keeps_the_class_of_each_photo(hunted: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["dataset", str(hunted), "-o", str(tmp_path / "data")])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "data" / "metadata.jsonl").read_text().splitlines()]
    assert {row["label"] for row in rows} == set(NAMES)
    assert {row["predicted"] for row in rows} == {"fox"}
