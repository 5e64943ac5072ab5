"""Untrained diffusers pipelines of a few thousand weights, made here: real architectures without any hub.

`python -m tools.tiny_pipelines sd FOLDER` writes one: to try servers and clusters on any machine.
They draw noise. Needs the extra `diffusers`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = 16
BLOCKS = {"block_out_channels": (32, 64), "norm_num_groups": 8}


def save_pipeline(kind: str, folder: Path) -> Path:
    """Write a pipeline of `kind` (`sd`, `sdxl` or `flux`), always the same one, and say where."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        pipeline = KINDS[kind]()
    pipeline.save_pretrained(folder)
    return folder


def clip_tokenizer() -> Any:
    """Letters are its tokens."""
    import transformers

    words = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS), "<|startoftext|>", "<|endoftext|>"]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary, merges = Path(folder) / "vocab.json", Path(folder) / "merges.txt"
        vocabulary.write_text(json.dumps({word: place for place, word in enumerate(words)}))
        merges.write_text("#version: 0.2\n")
        tokenizer = transformers.CLIPTokenizer(str(vocabulary), str(merges))
    tokenizer.model_max_length = LONGEST
    return tokenizer


def _clip_text(tokenizer: Any, kind: str = "CLIPTextModel") -> Any:
    import transformers

    config = transformers.CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        projection_dim=32,
        bos_token_id=len(tokenizer) - 2,
        eos_token_id=len(tokenizer) - 1,
    )
    return getattr(transformers, kind)(config)


def _vae(**settings: Any) -> Any:
    import diffusers

    return diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        **{**BLOCKS, **settings},
    )


def _unet(**settings: Any) -> Any:
    import diffusers

    return diffusers.UNet2DConditionModel(
        sample_size=16,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
        **{"cross_attention_dim": 32, **BLOCKS, **settings},
    )


def _sd() -> Any:
    import diffusers

    tokenizer = clip_tokenizer()
    return diffusers.StableDiffusionPipeline(
        vae=_vae(),
        text_encoder=_clip_text(tokenizer),
        tokenizer=tokenizer,
        unet=_unet(),
        scheduler=diffusers.EulerDiscreteScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def _sdxl() -> Any:
    import diffusers

    one, two = clip_tokenizer(), clip_tokenizer()
    unet = _unet(
        cross_attention_dim=64,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=6 * 8 + 32,
        use_linear_projection=True,
        transformer_layers_per_block=1,
    )
    return diffusers.StableDiffusionXLPipeline(
        vae=_vae(),
        text_encoder=_clip_text(one),
        text_encoder_2=_clip_text(two, "CLIPTextModelWithProjection"),
        tokenizer=one,
        tokenizer_2=two,
        unet=unet,
        scheduler=diffusers.EulerDiscreteScheduler(),
    )


def _t5() -> tuple[Any, Any]:
    import tokenizers
    import transformers

    letters = ["<pad>", "</s>", "<unk>", *LETTERS, " "]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({letter: place for place, letter in enumerate(letters)}, "<unk>")
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, model_max_length=LONGEST, **names
    )
    config = transformers.T5Config(
        vocab_size=len(letters), d_model=32, d_kv=8, d_ff=37, num_layers=1, num_heads=4, pad_token_id=0
    )
    return tokenizer, transformers.T5EncoderModel(config)


def _flux() -> Any:
    import diffusers

    words = clip_tokenizer()
    tokenizer, encoder = _t5()
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    )
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=_vae(latent_channels=4, shift_factor=0.0609, scaling_factor=1.5035),
        text_encoder=_clip_text(words),
        tokenizer=words,
        text_encoder_2=encoder,
        tokenizer_2=tokenizer,
        transformer=transformer,
    )


KINDS: dict[str, Callable[[], Any]] = {"sd": _sd, "sdxl": _sdxl, "flux": _flux}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(save_pipeline(options.kind, options.folder))


if __name__ == "__main__":
    main()
