"""Provider `transformers`: clear errors without its extra; with torch, a real (untrained) network is run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra
from failscape.models.providers import transformers as provider
from failscape.models.registry import create_model
from failscape.pictures import Picture

HAS_TORCH = all(find_spec(name) is not None for name in ("torch", "transformers"))


@pytest.mark.skipif(HAS_TORCH, reason="the extra is installed")
def test_without_the_extra_the_error_names_it() -> None:
    with pytest.raises(MissingExtra, match=r"failscape\[transformers\]"):
        create_model("classifier", ModelConfig(provider="transformers", model="google/vit-base-patch16-224"))


def test_it_plays_no_other_role() -> None:
    with pytest.raises(ConfigError, match="cannot play the role generator"):
        create_model("generator", ModelConfig(provider="transformers", model="x"))


def test_bad_settings_are_refused_before_torch_is_loaded(tmp_path: Path) -> None:
    make = provider.TransformersClassifier
    with pytest.raises(ConfigError, match="no param temperature"):
        make(ModelConfig(provider="transformers", model="x", params={"temperature": 1}))
    with pytest.raises(ConfigError, match="needs a `model` or a `path`"):
        make(ModelConfig(provider="transformers"))
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        make(ModelConfig(provider="transformers", path=str(tmp_path)))


def test_a_model_is_its_files_and_not_its_place(tmp_path: Path) -> None:
    folders = [tmp_path / name / "net" for name in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    made = [
        provider.TransformersClassifier(ModelConfig(provider="transformers", path=str(f))) for f in folders
    ]
    assert made[0].identity == made[1].identity
    (folders[1] / "config.json").write_text('{"a": 1}')
    other = provider.TransformersClassifier(ModelConfig(provider="transformers", path=str(folders[1])))
    assert other.identity.digest != made[0].identity.digest


def test_scores_that_are_no_numbers_make_a_reply_invalid() -> None:
    assert provider._ranking([{"label": "cat", "score": float("nan")}]).invalid
    ranked = provider._ranking([{"label": "cat", "score": 0.1}, {"label": "dog", "score": 0.9}])
    assert ranked.value == [("dog", 0.9), ("cat", 0.1)]


@pytest.mark.extra("torch", "transformers")
async def test_a_saved_network_classifies(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    labels = {0: "cat", 1: "dog", 2: "fish"}
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = ViTConfig(**size, image_size=32, patch_size=8, id2label=labels)
    ViTForImageClassification(config).save_pretrained(tmp_path)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    model = create_model("classifier", ModelConfig(provider="transformers", path=str(tmp_path)))
    await model.start()
    try:
        replies = await model.classify(
            [Picture.from_array(np.full((40, 50, 3), 7 * n, np.uint8)) for n in (1, 9)]
        )
    finally:
        await model.close()
    assert [sorted(label for label, _ in reply.value) for reply in replies] == [["cat", "dog", "fish"]] * 2
    assert sum(score for _, score in replies[0].value) == pytest.approx(1, abs=1e-4)
