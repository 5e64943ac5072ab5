"""The toybox's own repairs: toy-painter and toy-vlm trained on from exported failures, a few steps each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.toybox import world
from failscape.toybox.painter import ToyPainter, encode, noise_of
from failscape.toybox.provider import create
from failscape.toybox.vlm import ToyVlm, grammar_lexicon, shipped_lexicon

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from tools.toybox_training import tune  # noqa: E402
from tools.toybox_training.trainer import MODELS  # noqa: E402

PROMPTS = ["a red cow on a beach", "three owls"]


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_the_weights_of_the_painters_file_paint_the_same_pictures() -> None:
    net = tune.painter_from(MODELS / "painter.onnx").eval()
    with torch.no_grad():
        painted = tune.painter.Bytes(net)(
            torch.from_numpy(encode(PROMPTS)), torch.from_numpy(noise_of([3, 4]))
        )
    shipped = ToyPainter().paint(PROMPTS, [3, 4])
    assert np.abs(painted.numpy().astype(int) - shipped.astype(int)).max() <= 2


def test_a_tuned_painter_is_another_painter(tmp_path: Path) -> None:
    rows = [{"prompt": PROMPTS[0], "failed": True, "split": "train"}]
    hidden = [{"prompt": PROMPTS[1], "failed": True, "split": "retest"}]
    lines(tmp_path / "metadata.jsonl", [*rows, *rows, *hidden])
    assert tune.failed_prompts(tmp_path) == PROMPTS[:1]
    assert tune.attributes_of(PROMPTS[0]).place == "beach"
    out = tmp_path / "tuned" / "after.onnx"
    tune.tune("painter", tmp_path, out, steps=3)
    made = create("generator", ModelConfig(provider="toybox", path=str(out)))
    shipped = create("generator", ModelConfig(provider="toybox"))
    assert made.identity.digest != shipped.identity.digest
    assert ToyPainter(out).paint(PROMPTS, [1, 2]).shape == (2, 64, 64, 3)


def test_a_tuned_vlm_learns_the_answers_that_it_was_shown(tmp_path: Path) -> None:
    scene = world.build_scene(world.Attributes("cow", colour="red"))
    (tmp_path / "images").mkdir()
    world_picture = world.render(scene)
    tune.Image.fromarray(world_picture).save(tmp_path / "images" / "0.png")
    question = "what colour is the cow?"
    content = [{"type": "image"}, {"type": "text", "text": question}]
    chat = {"prompt": [{"role": "user", "content": content}], "images": ["images/0.png"], "solution": "blue"}
    lines(tmp_path / "train.jsonl", [chat])
    out = tmp_path / "tuned" / "after.onnx"
    tune.tune("vlm", tmp_path, out, steps=4)
    tuned, lexicon = ToyVlm(out), grammar_lexicon()
    assert tuned.lexicon == lexicon
    told = lexicon.answers.index("blue")
    before = ToyVlm().probabilities(world_picture[None], [question])[0]
    after = tuned.probabilities(world_picture[None], [question])[0]
    assert after[told] > before[shipped_lexicon().answers.index("blue")] + 0.05


def test_a_dataset_without_failures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="does not exist"):
        tune.failed_prompts(tmp_path)
    lines(tmp_path / "metadata.jsonl", [{"prompt": PROMPTS[0], "failed": False, "split": "train"}])
    with pytest.raises(SystemExit, match="no failures in its half `train`"):
        tune.failed_prompts(tmp_path)
