"""A LLaVA of a few thousand weights, saved whole, so that AutoProcessor loads it: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from tests.integration.rl.tiny_qwen import tokenizer

TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m['role'] }} {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %} <|image_pad|> {% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %} <|im_end|> {% endfor %}{% if add_generation_prompt %}<|im_start|> assistant {% endif %}"
)


def build(folder: Path, template: str = TEMPLATE, more: tuple[str, ...] = ()) -> None:
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    words = tokenizer(more)
    words.chat_template = None
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    token = words.convert_tokens_to_ids("<|image_pad|>")
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**size, image_size=28, patch_size=14, projection_dim=32),
        text_config=LlamaConfig(**size, vocab_size=len(words), num_key_value_heads=4),
        image_token_index=token,
        image_token_id=token,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
    )
    torch.manual_seed(0)
    model = LlavaForConditionalGeneration(config)
    livelier(model)
    model.generation_config.eos_token_id = words.eos_token_id
    model.save_pretrained(folder)
    images = CLIPImageProcessorPil(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, do_resize=True
    )
    LlavaProcessor(
        images,
        words,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=template or None,
        image_token="<|image_pad|>",
        num_additional_image_tokens=1,
    ).save_pretrained(folder)


def livelier(model: object) -> None:
    """Weights so large that what the network says depends on what it is shown."""
    import torch

    with torch.no_grad():
        for value in model.parameters():  # type: ignore[attr-defined]
            if value.dim() > 1:
                value.normal_(std=0.4)
