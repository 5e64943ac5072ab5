"""The recipes of `examples/repair`, each run once on a tiny untrained model."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from failscape.kinds.vlm.rows import chat
from failscape.pictures import Picture

EXAMPLES = Path(__file__).parents[3] / "examples" / "repair"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pictures(folder: Path, number: int, side: int) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{at}.png" for at in range(number)]
    for at, name in enumerate(names):
        pixels = np.random.default_rng(at).integers(0, 255, (side, side, 3), np.uint8)
        Picture.from_array(pixels).image.save(folder / name)
    return names


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.extra("torch", "transformers", "trl", "datasets")
@pytest.mark.parametrize("placebo", [False, True])
def test_sft_on_chats(tmp_path: Path, placebo: bool) -> None:
    import torch
    from transformers import AutoModelForImageTextToText

    from tests.integration.rl import tiny_llava

    tiny_llava.build(tmp_path / "model")
    names = pictures(tmp_path / "data", 4, 28)
    rows = [
        chat(
            {
                "file_name": name,
                "question": "how many?",
                "answer": "two",
                "history": [],
                "subject": "count",
                "failed": at % 2 == 0,
            }
        )
        for at, name in enumerate(names)
    ]
    write(tmp_path / "data" / "train.jsonl", rows)
    words = [
        "--model",
        str(tmp_path / "model"),
        "--data",
        str(tmp_path / "data"),
        "--out",
        str(tmp_path / "out"),
    ]
    more = ["--placebo"] if placebo else []
    example("sft_vlm").main([*words, "--steps", "1", "--batch", "2", "--rate", "0.01", *more])
    before, after = (
        AutoModelForImageTextToText.from_pretrained(tmp_path / name) for name in ("model", "out")
    )
    pairs = zip(before.state_dict().values(), after.state_dict().values(), strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


@pytest.mark.extra("torch", "diffusers", "peft")
def test_lora_on_the_best_of_n(tmp_path: Path, pipeline_folder: Callable[[str], Path]) -> None:
    from safetensors.torch import load_file

    names = pictures(tmp_path / "data", 4, 16)
    rows = [
        {"file_name": name, "prompt": "a cat", "reward": at / 3, "split": "train"}
        for at, name in enumerate(names)
    ]
    write(tmp_path / "data" / "metadata.jsonl", rows)
    recipe = example("lora_t2i")
    assert recipe.choose_pictures(tmp_path / "data", placebo=False) == [
        ("a cat", tmp_path / "data" / names[3])
    ]
    words = ["--model", str(pipeline_folder("sd")), "--data", str(tmp_path / "data"), "--steps", "2"]
    recipe.main([*words, "--out", str(tmp_path / "out"), "--batch", "2", "--rank", "2"])
    found = load_file(tmp_path / "out" / "pytorch_lora_weights.safetensors")
    assert any("lora" in name for name in found)
    assert any(
        float(value.abs().sum()) > 0 for name, value in found.items() if "lora_B" in name or "up" in name
    )


def test_a_set_without_anything_to_learn_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "metadata.jsonl", [{"file_name": "a", "prompt": "a cat", "reward": 0, "split": "train"}])
    with pytest.raises(SystemExit, match="no picture worth learning"):
        example("lora_t2i").choose_pictures(tmp_path, placebo=False)
