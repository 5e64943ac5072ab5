"""Fine-tunes a vision-language model on the chats of `failscape dataset --passes`, by TRL's SFT trainer.

    python sft_vlm.py --model MODEL --data DATASET --out after
    python sft_vlm.py --model MODEL --data DATASET --out placebo --placebo

The placebo twin takes the same steps on questions that the model got right. Then prove or refute the repair:

    failscape repair ATLAS --after after.yaml --placebo placebo.yaml

Needs: pip install "failscape[rl]" pillow
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read_chats(folder: Path, placebo: bool) -> list[dict[str, Any]]:
    """Conversations with their pictures: all of the training half, or for the placebo what did not fail."""
    from PIL import Image

    lines = (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if not (placebo and row["failed"])]
    if not rows:
        raise SystemExit(f"{folder} has nothing to train on: write it with `failscape dataset … --passes`")
    return [
        {
            "prompt": row["prompt"],
            "completion": row["completion"],
            "images": [Image.open(folder / name).convert("RGB") for name in row["images"]],
        }
        for row in rows
    ]


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", required=True, help="a folder, or a name on the hub")
    options.add_argument("--data", type=Path, required=True, help="a folder of `failscape dataset`")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--placebo", action="store_true", help="train on what the model got right")
    options.add_argument("--steps", type=int, default=200, help="the same for both twins")
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--rate", type=float, default=1e-5)
    given = options.parse_args(words)

    import torch
    from datasets import Dataset
    from transformers import AutoModelForImageTextToText, AutoProcessor
    from trl import SFTConfig, SFTTrainer

    settings = SFTConfig(
        output_dir=str(given.out / "checkpoints"),
        max_steps=given.steps,
        per_device_train_batch_size=given.batch,
        learning_rate=given.rate,
        max_length=None,  # a cut would go through a picture's tokens
        save_strategy="no",
        report_to=[],
        bf16=torch.cuda.is_available(),
        use_cpu=not torch.cuda.is_available(),
        seed=0,
    )
    processor = AutoProcessor.from_pretrained(given.model)
    trainer = SFTTrainer(
        model=AutoModelForImageTextToText.from_pretrained(given.model),
        args=settings,
        train_dataset=Dataset.from_list(read_chats(given.data, given.placebo)),
        processing_class=processor,
    )
    trainer.train()
    trainer.save_model(str(given.out))
    processor.save_pretrained(str(given.out))


if __name__ == "__main__":
    main()
