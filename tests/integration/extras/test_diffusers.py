"""Provider `diffusers` with tiny pipelines: seeds, batches, memory, edits, LoRAs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent
from failscape.models.providers.diffusers import BatchLimit
from failscape.models.registry import create_model
from failscape.models.roles import Model
from failscape.pictures import Picture
from failscape.testing.model_suite import GeneratorSuite

Folder = Callable[[str], Path]
pytestmark = pytest.mark.extra("torch", "transformers", "diffusers")
STEPS = {"num_inference_steps": 2, "height": 32, "width": 32}
FAST: dict[str, dict[str, Any]] = {
    "sd": STEPS,
    "sdxl": STEPS,
    "flux": {**STEPS, "dtype": "float32", "max_sequence_length": 16},
}


def painter(folder: Path, params: dict[str, Any], role: str = "generator", batch: int = 4) -> Any:
    return create_model(role, ModelConfig(provider="diffusers", path=str(folder), batch=batch, params=params))


async def drawn(model: Any, prompts: Sequence[str], seeds: Sequence[int]) -> list[np.ndarray]:
    return [reply.value.array.astype(int) for reply in await model.generate(prompts, seeds)]


class TestSuite(GeneratorSuite):
    """One at a time, pictures are equal to the last bit."""

    @pytest.fixture(autouse=True)
    def a_pipeline(self, pipeline_folder: Folder) -> None:
        self.folder = pipeline_folder("sd")

    def make_model(self) -> Model:
        model: Model = painter(self.folder, STEPS, batch=1)
        return model


@pytest.mark.parametrize("kind", ["sd", "sdxl", "flux"])
async def test_a_seed_means_the_same_picture_in_any_batch(pipeline_folder: Folder, kind: str) -> None:
    model = painter(pipeline_folder(kind), FAST[kind], batch=3)
    await model.start()
    prompts = ["a cat", "a cat", "a dog", "a red cup", "a cat"]
    together = await drawn(model, prompts, [1, 2, 1, 5, 1])
    alone = await drawn(model, ["a cat"], [2])
    again = await drawn(model, prompts, [1, 2, 1, 5, 1])
    await model.close()
    assert together[0].shape == (32, 32, 3)
    assert all(np.array_equal(one, other) for one, other in zip(together, again, strict=True))
    assert np.abs(together[1] - alone[0]).max() <= 2, "neighbours change last bits at most"
    assert np.abs(together[0] - together[4]).max() <= 2, "nor does the place in the batch"
    assert np.abs(together[0] - together[1]).mean() > 5
    assert np.abs(together[0] - together[2]).max() > 0, "the prompt matters"


async def test_what_makes_the_model_what_it_is(pipeline_folder: Folder, tmp_path: Path) -> None:
    one = painter(pipeline_folder("sd"), STEPS)
    assert one.identity.digest != painter(pipeline_folder("sd"), STEPS, batch=2).identity.digest
    assert one.identity.digest != painter(pipeline_folder("sd"), {"num_inference_steps": 3}).identity.digest
    assert one.identity.digest == painter(pipeline_folder("sd"), STEPS).identity.digest
    assert any(name.startswith("unet/") for name in one.identity.settings["files"])


async def test_flux_is_bfloat16_unless_told(pipeline_folder: Folder) -> None:
    import torch

    model = painter(pipeline_folder("flux"), {**STEPS, "max_sequence_length": 16})
    await model.start()
    assert model.pipeline._pipeline.transformer.dtype == torch.bfloat16
    assert (await drawn(model, ["a cat"], [1]))[0].shape == (32, 32, 3)
    await model.close()


async def test_a_param_that_the_pipeline_does_not_take_is_refused(pipeline_folder: Folder) -> None:
    model = painter(pipeline_folder("sd"), {"num_inference_step": 2})
    with pytest.raises(ConfigError, match="num_inference_steps"):
        await model.start()
    with pytest.raises(ConfigError, match="generator"):
        painter(pipeline_folder("sd"), {"generator": 1})
    with pytest.raises(ConfigError, match="is no torch type"):
        await painter(pipeline_folder("sd"), {"dtype": "float17"}).start()


async def test_a_model_that_is_not_here_says_how_to_fetch_it() -> None:
    model = create_model("generator", ModelConfig(provider="diffusers", model="someone/sdxl-turbo"))
    with pytest.raises(ConfigError) as told:
        await model.start()
    assert "hf download someone/sdxl-turbo --local-dir models/sdxl-turbo" in told.value.fix
    with pytest.raises(ConfigError, match=r"holds no model_index\.json"):
        painter(Path("/tmp"), {})


async def test_memory_that_runs_out_halves_the_batch(pipeline_folder: Folder) -> None:
    import torch

    model = painter(pipeline_folder("sd"), STEPS, batch=4)
    await model.start()
    whole, calls = model.pipeline.draw, []

    def short_of_memory(prompts: Sequence[str], *more: Any, **shown: Any) -> Any:
        calls.append(len(prompts))
        if len(prompts) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(prompts, *more, **shown)

    model.pipeline.draw = short_of_memory
    assert len(await drawn(model, ["a cat"] * 4, [1, 2, 3, 4])) == 4
    assert calls == [4, 2, 1, 1, 1, 1]
    assert len(await drawn(model, ["a cat"] * 2, [1, 2])) == 2
    assert calls[6:] == [1, 1], "it is remembered"

    def hopeless(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model.pipeline.draw = hopeless
    with pytest.raises(Permanent, match="not even one picture fits"):
        await drawn(model, ["a cat"], [1])
    await model.close()


def test_an_error_that_is_not_about_memory_is_not_tried_again() -> None:
    calls: list[int] = []

    def broken(items: Sequence[int]) -> list[int]:
        calls.append(len(items))
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        BatchLimit(4).run(broken, range(8))
    assert calls == [4]


@pytest.mark.parametrize("kind", ["sd", "sdxl"])
async def test_image_to_image_keeps_size_and_order(pipeline_folder: Folder, kind: str) -> None:
    params = {"num_inference_steps": 4, "strength": 0.5}
    model = painter(pipeline_folder(kind), params, "editor")
    await model.start()
    sizes = [(32, 32), (48, 32), (32, 32)]
    pictures = [Picture.from_image(Image.new("RGB", size, "red")) for size in sizes]
    replies = await model.edit(pictures, ["a blue cup", "a cat", "a cat"], [1, 2, 3])
    again = await model.edit(pictures, ["a blue cup", "a cat", "a cat"], [1, 2, 3])
    await model.close()
    assert [reply.value.image.size for reply in replies] == sizes
    assert [reply.value.digest for reply in replies] == [reply.value.digest for reply in again]


async def test_inpainting_changes_only_what_the_mask_says(pipeline_folder: Folder, tmp_path: Path) -> None:
    params = {"num_inference_steps": 4, "strength": 1.0, "mask": [0, 0, 0.5, 1]}
    model = painter(pipeline_folder("sd"), params, "editor")
    await model.start()
    picture = Picture.from_image(Image.new("RGB", (64, 64), "red"))
    one, other = [
        (await model.edit([picture], ["a cat"], [seed]))[0].value.array.astype(int) for seed in (1, 2)
    ]
    await model.close()
    change = np.abs(one - other).mean(axis=(0, 2))
    assert change[:24].mean() > 4 * max(change[40:].mean(), 0.01), "the left half is drawn anew"
    Image.new("L", (8, 8), 255).save(tmp_path / "mask.png")
    painter(pipeline_folder("sd"), {"mask": str(tmp_path / "mask.png")}, "editor")
    with pytest.raises(ConfigError, match=r"left, top, right, bottom"):
        painter(pipeline_folder("sd"), {"mask": [0, 0, 2, 1]}, "editor")


@pytest.mark.extra("peft")
async def test_a_lora_changes_pictures_and_identity(pipeline_folder: Folder, tmp_path: Path) -> None:
    file = tiny_lora(pipeline_folder("sd"), tmp_path)
    with_it = {**STEPS, "loras": [{"path": str(file), "weight": 1.0}]}
    plain, changed = painter(pipeline_folder("sd"), STEPS), painter(pipeline_folder("sd"), with_it)
    assert plain.identity.digest != changed.identity.digest
    assert str(file) in changed.identity.settings["loras"]
    pictures = []
    for model in (plain, changed):
        await model.start()
        pictures += await drawn(model, ["a cat"], [1])
        await model.close()
    assert np.abs(pictures[0] - pictures[1]).max() > 0
    with pytest.raises(ConfigError, match="there is no file"):
        painter(pipeline_folder("sd"), {"loras": ["nowhere.safetensors"]})


def tiny_lora(pipeline: Path, folder: Path) -> Path:
    """Random low-rank weights for the attention of the UNet, saved as people share them."""
    import torch
    from diffusers import StableDiffusionPipeline
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft import LoraConfig, get_peft_model_state_dict

    whole = StableDiffusionPipeline.from_pretrained(pipeline)
    whole.unet.add_adapter(LoraConfig(r=2, target_modules=["to_q", "to_v"], init_lora_weights=False))
    with torch.no_grad():
        for name, value in whole.unet.named_parameters():
            if "lora" in name:
                value.normal_(std=1.0)
    weights = convert_state_dict_to_diffusers(get_peft_model_state_dict(whole.unet))
    StableDiffusionPipeline.save_lora_weights(folder, unet_lora_layers=weights)
    return folder / "pytorch_lora_weights.safetensors"
