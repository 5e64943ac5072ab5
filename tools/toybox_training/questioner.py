"""Train toy-questioner: a tiny causal language model that asks valid questions about captions.

Usage: python -m tools.toybox_training.questioner [--steps N] [--out DIR] [--resume]
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from failscape.toybox import world
from failscape.toybox.question_sampling import scene_for
from failscape.toybox.questioner import BEGIN, END, PAD, UNKNOWN, prompt_of, words
from failscape.toybox.questions import FORMS
from tools.toybox_training import questioner_card
from tools.toybox_training.asking import Question, ask_any
from tools.toybox_training.trainer import Plan, options, train, weights
from tools.toybox_training.trainer_files import write_json

PLAN = Plan("questioner", steps=1500, batch=64, rate=2e-3, seed=6, average=0.98)
#: Share of the prompts that name the wanted skill.
NAMED = 0.4
_IGNORED = -100


def tokenizer() -> Any:
    """Build the word-level tokenizer: padded on the left, as generation needs it."""
    from tokenizers import (  # type: ignore[import-not-found,unused-ignore]
        Tokenizer,
        models,
        pre_tokenizers,
        processors,
    )
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words())}, unk_token=UNKNOWN))
    parts = [
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Split("?", "isolated"),
        pre_tokenizers.Split(",", "isolated"),
    ]
    inner.pre_tokenizer = pre_tokenizers.Sequence(parts)
    begin = words().index(BEGIN)
    inner.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, begin)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        bos_token=BEGIN,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
        model_max_length=128,
    )


def network() -> Any:
    """A Llama of four narrow layers; the larger first weights help it to learn to copy nouns."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(words()),
        hidden_size=160,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=128,
        initializer_range=0.06,
        tie_word_embeddings=True,
        pad_token_id=words().index(PAD),
        bos_token_id=words().index(BEGIN),
        eos_token_id=words().index(END),
    )
    return LlamaForCausalLM(config)


def sample(rng: np.random.Generator) -> tuple[world.Scene, Question]:
    """Return a scene with a valid question about it."""
    key = FORMS[int(rng.integers(len(FORMS)))].key if rng.random() < 0.5 else "exists"
    scene = scene_for(rng, key)
    return scene, ask_any(rng, scene)


class Loss:
    """The language model's loss on the question only; the caption is given."""

    def __init__(self) -> None:
        self.tokenizer = tokenizer()

    def __call__(
        self, net: Any, rng: np.random.Generator, step: int
    ) -> tuple[torch.Tensor, dict[str, float]]:
        rows = []
        for _ in range(PLAN.batch):
            scene, question = sample(rng)
            skill = question.skill if rng.random() < NAMED else None
            ids = self.tokenizer(prompt_of(world.caption(scene), skill))["input_ids"]
            rows.append((ids, [*self.tokenizer(question.text)["input_ids"][1:], self.tokenizer.eos_token_id]))
        longest = max(len(first) + len(second) for first, second in rows)
        tokens = torch.full((len(rows), longest), self.tokenizer.pad_token_id)
        labels = torch.full((len(rows), longest), _IGNORED)
        seen = torch.zeros((len(rows), longest), dtype=torch.long)
        for i, (first, second) in enumerate(rows):
            size = len(first) + len(second)
            tokens[i, -size:] = torch.tensor(first + second)
            labels[i, -len(second) :] = torch.tensor(second)
            seen[i, -size:] = 1
        out = net(input_ids=tokens, attention_mask=seen)
        scores, truth = out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        loss = torch.nn.functional.cross_entropy(scores, truth, ignore_index=_IGNORED)
        return loss, {}


def save(net: Any, folder: Path) -> None:
    """Write the folder that transformers and TRL load."""
    folder.mkdir(parents=True, exist_ok=True)
    net.config.architectures = ["LlamaForCausalLM"]
    net.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    # Older versions of transformers do not know the class name that newer ones write.
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, {**settings, "tokenizer_class": "PreTrainedTokenizerFast"})
    (folder / "model.safetensors").chmod(0o644)


def main() -> None:
    """Train, save, measure and write the card."""
    chosen = options(__doc__, PLAN.steps)
    plan = replace(PLAN, steps=chosen.steps)
    torch.manual_seed(plan.seed)
    net, seconds = train(network(), Loss(), plan, chosen)
    folder = chosen.out / "questioner"
    save(net, folder)
    questioner_card.write(folder, plan.steps, plan.batch, seconds, weights(net))


if __name__ == "__main__":
    main()
