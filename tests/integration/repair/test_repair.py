"""A whole repair of a real network, small; and what is refused."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.repair.proof import RepairWish
from failscape.repair.session import prove, repair
from failscape.runtime.progress import choose_reporter
from failscape.toybox.networks import MODELS
from failscape.views.read import load_hunt

FIXTURES = Path(__file__).parents[2] / "golden" / "fixtures"
SMALL = RepairWish(failures=8, clean=3, images=16, rest=2, rest_images=6, clean_images=2)


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "classifier", tmp_path / "atlas"))


def test_a_network_is_repaired_and_the_change_is_shown(classifier: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Atlas.open(classifier, readonly=True) as atlas:
        hunt = load_hunt(atlas)
        proof, page, _ = asyncio.run(repair(hunt, None, out, SMALL, choose_reporter(True)))
        trained = {trial.seed for trial in atlas.replay(hunt.row.id)}
    assert set(proof.parts.shown) | set(proof.parts.hidden) == {one.subject for one in hunt.findings}
    shown = proof.rows("shown")
    assert sum(row.all.second_failures for row in shown) < sum(row.all.first_failures for row in shown)
    assert all(row.all.pairs > 8 for row in shown)
    assert "clean accuracy" in proof.sentence
    with Atlas.open(classifier / "drawn-1", readonly=True) as drawn, Atlas.open(out / "proof") as tried:
        assert [row.config["target"].get("model") for row in tried.hunts()] == ["cnn", "placebo", "after"]
        trained |= {trial.seed for trial in drawn.replay(1)}
        assert not trained & {trial.seed for trial in tried.replay(1)}, "a proof is on fresh seeds"
    for words in (["findings", str(out / "proof")], ["compare", str(out / "proof")]):
        looked = CliRunner().invoke(cli, words)
        assert looked.exit_code == 0, (looked.output, looked.exception)
    text = page.read_text()
    assert "The placebo" in text
    assert "data:image/webp" in text
    assert json.loads((out / "repair.json").read_text())["sentence"] == proof.sentence
    old, new = (onnx.load(str(path)) for path in (MODELS / "classifier-cnn.onnx", out / "repaired.onnx"))
    kept = {one.name: numpy_helper.to_array(one) for one in new.graph.initializer}
    changed = [one.name for one in old.graph.initializer if one.name not in kept]
    assert all(name.startswith("inner.8") for name in changed), "only the last layer is another"
    assert len(kept) == len(old.graph.initializer)


def test_a_repair_without_failures_or_of_another_hunt_is_refused(classifier: Path, tmp_path: Path) -> None:
    shutil.rmtree(classifier / "images")
    none = RepairWish(failures=0)
    with Atlas.open(classifier, readonly=True) as atlas:
        hunt = load_hunt(atlas)
        with pytest.raises(ConfigError, match=r"at least 20 failures, but the \d+ findings .* have 0"):
            asyncio.run(repair(hunt, None, tmp_path / "out", none, choose_reporter(True)))
    other = Path(shutil.copytree(FIXTURES / "t2i", tmp_path / "t2i"))
    result = CliRunner().invoke(cli, ["repair", str(other)])
    assert "is a t2i hunt" in str(result.exception)
    (tmp_path / "a.yaml").write_text("target: {provider: toybox}\n")
    result = CliRunner().invoke(cli, ["repair", str(other), "--after", str(tmp_path / "a.yaml")])
    assert "both twins" in str(result.exception)


def test_models_trained_elsewhere_are_proven_or_refuted(tmp_path: Path) -> None:
    """The same painter again: nothing is better, nothing is worse."""
    folder = Path(shutil.copytree(FIXTURES / "t2i", tmp_path / "t2i"))
    same = ModelConfig(provider="toybox", model="toy-painter", batch=16)
    wish = RepairWish(images=4, rest=2, rest_images=2, findings=6)
    with Atlas.open(folder, readonly=True) as atlas:
        hunt = load_hunt(atlas)
        twins = {"placebo": same, "after": same}
        proof, page, _ = asyncio.run(prove(hunt, twins, tmp_path / "out", wish, choose_reporter(True)))
    assert {row.status for row in proof.after.rows} <= {"undecided", "unchanged"}
    assert len(proof.rows("shown")) + len(proof.rows("hidden")) <= 6
    assert "accuracy on other requests +0.0 points" in proof.sentence
    assert proof.after.overall is not None
    assert proof.after.overall.difference == 0
    assert page.is_file()


def test_pictures_of_questions_are_drawn_anew_and_shown_to_all_three(tmp_path: Path) -> None:
    """The same answerer again, on questions that the hunt never asked."""
    folder = Path(shutil.copytree(FIXTURES / "vlm", tmp_path / "vlm"))
    same = ModelConfig(provider="toybox", model="toy-vlm")
    wish = RepairWish(images=3, rest=2, rest_images=2, findings=3)
    with Atlas.open(folder, readonly=True) as atlas:
        twins = {"placebo": same, "after": same}
        proof, _, _ = asyncio.run(
            prove(load_hunt(atlas), twins, tmp_path / "out", wish, choose_reporter(True))
        )
    assert proof.after.rows
    assert proof.after.overall is not None
    assert proof.after.overall.difference == 0
