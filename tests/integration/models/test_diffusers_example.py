"""The diffusers example draws with a real, tiny, untrained pipeline that is made here."""

import json
from pathlib import Path

import numpy as np
import pytest

from failscape.config import ModelConfig
from failscape.models.registry import create_model

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.extra("torch", "transformers", "diffusers")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
diffusers = pytest.importorskip("diffusers")


@pytest.fixture(scope="module")
def tiny_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("painter")
    letters = [*"abcdefghijklmnopqrstuvwxyz"]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: place for place, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer.model_max_length = 16
    torch.manual_seed(0)
    text = transformers.CLIPTextConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=16,
        bos_token_id=len(words) - 2,
        eos_token_id=len(words) - 1,
    )
    blocks = {"block_out_channels": (32, 64), "norm_num_groups": 8}
    diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            **blocks,
        ),
        text_encoder=transformers.CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=diffusers.UNet2DConditionModel(
            sample_size=16,
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=32,
            attention_head_dim=8,
            **blocks,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder / "pipeline")
    return folder / "pipeline"


async def test_it_draws_what_its_seed_says(tiny_pipeline: Path) -> None:
    params = {"model": str(tiny_pipeline), "device": "cpu", "dtype": "float32", "num_inference_steps": 2}
    path = f"{ROOT / 'examples/diffusers_painter.py'}:Painter"
    model = create_model("generator", ModelConfig(provider="python", path=path, params=params))
    await model.start()
    try:
        together = await model.generate(["a cat", "a cat", "a dog"], [1, 2, 1])
        alone = await model.generate(["a cat"], [2])
    finally:
        await model.close()
    pictures: list[np.ndarray] = [reply.value.array.astype(float) for reply in (*together, *alone)]
    assert pictures[0].shape == (32, 32, 3)
    assert np.abs(pictures[1] - pictures[3]).max() <= 2, "neighbours in a batch change nothing"
    assert np.abs(pictures[0] - pictures[1]).mean() > 5
