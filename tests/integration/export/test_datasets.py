"""Findings as datasets and result records, from the hunts that golden tests keep and from small ones."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.pictures import Picture
from failscape.runtime.progress import choose_reporter
from failscape.runtime.session import run_session

FIXTURES = Path(__file__).parents[2] / "golden" / "fixtures"

CODE = """
from collections import Counter
asked = Counter()

def answer(images, question):
    return "blue"

def write(images, guidance, n):
    skill = guidance.split("takes ")[1].split(" to answer")[0]
    return [f"{skill} question {i} about a picture of {images[0].size[0]} pixels?" for i in range(n)]

def verify(images, question, answer):
    asked[question] += 1
    right = "counting" not in question
    return True, right, "seen", "blue" if right else "2" if asked[question] % 3 else "two "
"""


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def t2i(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "t2i", tmp_path / "t2i"))


def test_a_t2i_dataset_has_prompts_checks_and_pairs(t2i: Path, tmp_path: Path) -> None:
    said = run("dataset", t2i, "-o", tmp_path / "out", "--draw", 3, "--split", "seed").output
    assert "fresh tries" in said
    rows = lines(tmp_path / "out" / "metadata.jsonl")
    fails = Counter(row["subject"] for row in rows if row["failed"])
    with Atlas.open(t2i / "drawn-1", readonly=True) as drawn:
        assert drawn.counts(1)["fail"] >= 3
    assert all(number >= 3 for number in fails.values())
    for row in rows:
        held = [check["holds"] for check in row["checks"]]
        assert row["failed"] == (not all(held))
        assert row["reward"] == pytest.approx(sum(held) / len(held))
        assert (tmp_path / "out" / row["file_name"]).is_file()
    halves = {half: {row["seed"] for row in rows if row["split"] == half} for half in ("train", "retest")}
    assert not halves["train"] & halves["retest"]
    by_name = {row["file_name"]: row for row in rows}
    for half in halves:
        for pair in lines(tmp_path / "out" / f"pairs_{half}.jsonl"):
            chosen, rejected = by_name[pair["chosen"]], by_name[pair["rejected"]]
            assert rejected["failed"]
            assert not chosen["failed"]
            assert chosen["prompt"] == rejected["prompt"] == pair["prompt"]
            assert chosen["split"] == rejected["split"] == half
    card = (tmp_path / "out" / "README.md").read_text()
    assert "text-to-image" in card
    assert rows[0]["prompt"] in card
    run("findings", t2i / "drawn-1")
    again = run("dataset", t2i, "-o", tmp_path / "again", "--draw", 3).output
    assert "0 fresh tries" in again, "what was drawn before serves again"


def test_drawing_is_refused_with_another_model(t2i: Path, tmp_path: Path) -> None:
    with Atlas.open(t2i) as atlas, atlas.writing() as db:
        db.execute("UPDATE identities SET settings = '{}' WHERE role = 'generator'")
    result = CliRunner().invoke(cli, ["dataset", str(t2i), "--draw", "2"])
    assert result.exit_code
    assert "is not the one of hunt 1" in str(result.exception)


async def test_answers_that_verifiers_agree_on_become_chats(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for shade in range(8):
        image = Picture.from_array(np.full((16 + shade, 16 + shade, 3), shade, np.uint8)).image
        image.save(photos / f"{shade}.png")
    (tmp_path / "mine.py").write_text(CODE)

    def role(name: str) -> dict[str, Any]:
        return {"provider": "python", "path": f"{tmp_path}/mine.py:{name}"}

    settings = {
        "hunt": "vlm",
        "target": role("answer"),
        "verifier": role("verify"),
        "verifications": 3,
        "questioner": {"writer": role("write"), "skills": ["counting", "colour"], "round": 16},
        "images": {"folder": str(photos)},
        "questions": 160,
        "confirm": {"modes": 4},
    }
    await run_session(parse_config(settings, "test"), tmp_path / "atlas", choose_reporter(True))
    run("dataset", tmp_path / "atlas", "-o", tmp_path / "out", "--passes")
    rows = lines(tmp_path / "out" / "metadata.jsonl")
    wrong = [row for row in rows if row["failed"]]
    assert wrong
    for row in wrong:
        assert (row["answer"], row["answer_from"], row["agreement"]) == ("2", "verifiers", 1.0)
        assert row["wrong_answer"] == "blue"
    chats = [chat for half in ("train", "retest") for chat in lines(tmp_path / "out" / f"{half}.jsonl")]
    assert len(chats) == len(rows)
    choices = [one for half in ("train", "retest") for one in lines(tmp_path / "out" / f"dpo_{half}.jsonl")]
    assert len(choices) == len(wrong)
    for one in choices:
        assert one["chosen"][0]["content"][0]["text"] == "2"
        assert one["rejected"][0]["content"][0]["text"] == "blue"


async def test_more_failures_of_a_vlms_modes_are_asked_for(tmp_path: Path) -> None:
    """New pictures and words of each mode; the right answer of each is known by construction."""
    (tmp_path / "mine.py").write_text(CODE)
    settings = {
        "hunt": "vlm",
        "target": {"provider": "python", "path": f"{tmp_path}/mine.py:answer"},
        "questions": 150,
        "confirm": {"modes": 4},
    }
    atlas, out = tmp_path / "atlas", tmp_path / "out"
    await run_session(parse_config(settings, "test"), atlas, choose_reporter(True))
    words = ("dataset", atlas, "-o", out, "--draw", 2, "--split", "shown", "--trust-models")
    said = await asyncio.to_thread(run, *words)
    assert "fresh tries" in said.output
    rows = lines(out / "metadata.jsonl")
    with Atlas.open(atlas / "drawn-1", readonly=True) as drawn:
        fresh = Counter(trial.subject for trial in drawn.replay(1) if trial.verdict == "fail")
    found = {row["subject"] for row in rows}
    assert found
    assert all(fresh[subject] >= 2 for subject in found)
    for row in rows:
        assert row["failed"]
        assert row["answer"] not in ("", row["wrong_answer"])
        assert (row["wrong_answer"], row["answer_from"], row["agreement"]) == ("blue", "truth", 1.0)
    train, retest = ({row["subject"] for row in rows if row["split"] == half} for half in ("train", "retest"))
    assert train
    assert not train & retest
    shown = {chat["images"][0] for chat in lines(out / "train.jsonl")}
    assert not shown & {chat["images"][0] for chat in lines(out / "retest.jsonl")}


@pytest.mark.parametrize("kind", ["t2i", "classifier", "vlm"])
def test_a_record_of_every_eval_ever(kind: str, tmp_path: Path) -> None:
    """By the words of the schema, version 0.3.0: what it requires, its types, and the path it wants."""
    atlas = shutil.copytree(FIXTURES / kind, tmp_path / "atlas")
    run("export", atlas, "--format", "eee", "-o", tmp_path / "out")
    (path,) = (tmp_path / "out").rglob("*[0-9a-f].json")
    record = json.loads(path.read_text())
    assert record["schema_version"] == "0.3.0"
    for name in ("evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library"):
        assert record[name]
    assert {"deployment_type", "model_availability"} <= record["model_info"]["additional_details"].keys()
    ids = [one["evaluation_result_id"] for one in record["evaluation_results"]]
    assert len(ids) == len(set(ids)) >= 2
    for one in record["evaluation_results"]:
        assert one["metric_config"]["lower_is_better"] is True
        between = one["score_details"]["uncertainty"]["confidence_interval"]
        assert between["lower"] <= one["score_details"]["score"] <= between["upper"]
    told = record["detailed_evaluation_results"]
    uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"data/[^/]+/[^/]+/[^/]+/{uuid4}_samples\.jsonl", told["file_path"])
    samples = lines(tmp_path / "out" / told["file_path"])
    assert len(samples) == told["total_rows"] > 50
    for sample in samples:
        assert sample["evaluation_id"] == record["evaluation_id"]
        assert sample["evaluation_result_id"] in ids
        assert sample["evaluation"]["is_correct"] == (sample["evaluation"]["score"] == 0)
        single = sample["interaction_type"] == "single_turn"
        assert (sample["messages"] is None) == single == (sample["output"] is not None)


@pytest.mark.extra("pyarrow", "datasets")
def test_parquet_is_read_by_the_datasets_library(t2i: Path, tmp_path: Path) -> None:
    import datasets
    import pyarrow.parquet as pq

    run("export", t2i, "--format", "parquet", "-o", tmp_path / "trials.parquet")
    with Atlas.open(t2i, readonly=True) as atlas:
        assert pq.read_table(tmp_path / "trials.parquet").num_rows == sum(atlas.counts(1).values())
    run("dataset", t2i, "-o", tmp_path / "out", "--parquet")
    rows = lines(tmp_path / "out" / "metadata.jsonl")
    found = datasets.Dataset.from_parquet(
        str(tmp_path / "out" / "data.parquet"), cache_dir=str(tmp_path / "c")
    )
    assert len(found) == len(rows)
    assert found[0]["image"].size[0] > 0
    pairs = pq.read_table(tmp_path / "out" / "pairs.parquet")
    assert {"caption", "jpg_0", "jpg_1", "label_0"} <= set(pairs.column_names)
    folder = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "out" / "images"), cache_dir=str(tmp_path / "d"), split="train"
    )
    assert len(folder) == len({row["file_name"] for row in rows})
