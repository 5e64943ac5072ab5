"""The pictures of `examples/fashion`, made from files of the form that the package has."""

from __future__ import annotations

import gzip
import importlib.util
import json
import random
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "fashion" / "prepare.py"


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fashion_prepare", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Forty pictures of ten classes, bright at the top."""
    pixels = np.zeros((40, 28, 28), np.uint8)
    pixels[:, :7] = 255
    labels = np.arange(40, dtype=np.uint8) % 10
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + pixels.tobytes()))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + labels.tobytes()))
    return tmp_path


def test_metadata_says_what_was_done_to_each_photo(
    prepare: ModuleType, package: Path, tmp_path: Path
) -> None:
    prepare.write_photos(package, tmp_path / "photos", 40, seed=1)
    rows = [json.loads(line) for line in (tmp_path / "photos" / "metadata.jsonl").read_text().splitlines()]
    assert len(rows) == 40
    assert all((tmp_path / "photos" / row["file_name"]).is_file() for row in rows)
    assert {row["file_name"].partition("/")[0] for row in rows} == set(prepare.LABELS)
    assert {row["brightness"] for row in rows} == {63.8}


def test_photos_are_as_their_facts_say(prepare: ModuleType, package: Path) -> None:
    pixels = prepare.read(package, "t10k")[0][0]
    usual = {"turn": "upright", "size": "full", "state": "plain"}
    assert np.array_equal(np.asarray(prepare.photographed(pixels, usual)), pixels)
    turned = prepare.photographed(pixels, {**usual, "turn": "upside down"})
    assert np.array_equal(np.asarray(turned), pixels[::-1])
    half = np.asarray(prepare.photographed(pixels, {**usual, "size": "half"}))
    assert half[:7].max() == 0
    assert half[7:10, 7:21].min() == 255
    inverted = prepare.photographed(pixels, {**usual, "state": "inverted"})
    assert np.array_equal(np.asarray(inverted), 255 - pixels)


def test_a_training_varies_only_what_it_is_told_to(prepare: ModuleType) -> None:
    luck = random.Random(1)
    facts = [prepare.facts_by_chance(luck, ("turn",)) for _ in range(200)]
    assert {one["turn"] for one in facts} == set(prepare.TURNS)
    assert {(one["size"], one["state"]) for one in facts} == {("full", "plain")}
