"""A Qwen2.5-VL of a few thousand weights with its processor, built here: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPECIAL = ["<pad>", "<unk>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
SPECIAL += ["<|image_pad|>", "<|video_pad|>"]
WORDS = (
    "user assistant Write one short question about the picture. what colour is how many things are there ?"
)
TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m['role'] }} {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %} <|vision_start|> <|image_pad|> <|vision_end|> {% else %}{{ c['text'] }}"
    "{% endif %}{% endfor %} <|im_end|> {% endfor %}"
    "{% if add_generation_prompt %}<|im_start|> assistant {% endif %}"
)


def tokenizer(more: tuple[str, ...] = ()) -> Any:
    """`more` are further words, such as whole replies, that the model may say."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = list(dict.fromkeys([*SPECIAL, *WORDS.split(), *more]))
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    found = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<|im_end|>",
        additional_special_tokens=SPECIAL[2:],
    )
    found.chat_template = TEMPLATE
    return found


def processor() -> Any:
    """Without a video processor, which would need torchvision."""
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessorPil

    class TinyProcessor(Qwen2_5_VLProcessor):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            self.image_processor = Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=84 * 84)
            self.tokenizer = tokenizer()
            self.video_processor = None
            self.chat_template = TEMPLATE
            self.image_token, self.video_token = "<|image_pad|>", "<|video_pad|>"
            self.image_token_id = self.tokenizer.convert_tokens_to_ids(self.image_token)
            self.video_token_id = self.tokenizer.convert_tokens_to_ids(self.video_token)
            self.image_ids, self.video_ids = [self.image_token_id], [self.video_token_id]

        def save_pretrained(self, folder: Path, **_: Any) -> None:
            self.tokenizer.save_pretrained(folder)

    return TinyProcessor()


def build(folder: Path) -> Any:
    """Write the model to a folder; returns its processor."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    ready = processor()
    ids = {name: ready.tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(ready.tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 512,
            "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]},
            "pad_token_id": 0,
            "eos_token_id": ids["<|im_end|>"],
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
            "window_size": 56,
            "patch_size": 14,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    torch.manual_seed(0)
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config.eos_token_id = ids["<|im_end|>"]
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    ready.tokenizer.save_pretrained(folder)
    return ready
