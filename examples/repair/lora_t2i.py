"""Fine-tunes a Stable Diffusion pipeline by LoRA on its own best pictures, as the judge chose them.

    failscape dataset ATLAS -o DATASET --draw 50
    python lora_t2i.py --model MODEL --data DATASET --out after
    python lora_t2i.py --model MODEL --data DATASET --out placebo --placebo

Of each prompt the picture with the highest reward is learned (best of n). The placebo twin takes the same
steps on a picture of each prompt chosen by chance. Then prove or refute the repair:

    failscape repair ATLAS --after after.yaml --placebo placebo.yaml

Needs: pip install "failscape[diffusers]" peft
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def choose_pictures(folder: Path, placebo: bool) -> list[tuple[str, Path]]:
    """(prompt, picture), one of each prompt of the training half."""
    by_prompt: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "metadata.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["split"] == "train":
            by_prompt.setdefault(row["prompt"], []).append(row)
    chance = random.Random(0)
    chosen = []
    for prompt, rows in by_prompt.items():
        best = max(row["reward"] for row in rows)
        able = rows if placebo else [row for row in rows if row["reward"] == best]
        if placebo or best > 0:  # a prompt that only ever fails has nothing to show
            chosen.append((prompt, folder / chance.choice(able)["file_name"]))
    if not chosen:
        raise SystemExit(f"{folder} has no picture worth learning: draw more (failscape dataset --draw 100)")
    return chosen


def as_tensor(path: Path, side: int) -> Any:
    import numpy as np
    import torch
    from PIL import Image

    pixels = np.asarray(Image.open(path).convert("RGB").resize((side, side)), np.float32)
    return torch.from_numpy(pixels / 127.5 - 1).permute(2, 0, 1)


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", required=True, help="a folder, or a name on the hub")
    options.add_argument(
        "--data", type=Path, required=True, help="a folder of `failscape dataset` of a t2i hunt"
    )
    options.add_argument("--out", type=Path, required=True, help="gets pytorch_lora_weights.safetensors")
    options.add_argument("--placebo", action="store_true", help="learn pictures chosen by chance")
    options.add_argument("--steps", type=int, default=500, help="the same for both twins")
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--rate", type=float, default=1e-4)
    options.add_argument("--rank", type=int, default=8)
    train(options.parse_args(words))


def train(given: argparse.Namespace) -> None:
    """Plain noise prediction on the chosen pictures; only the LoRA of the UNet's attention learns."""
    import torch
    from diffusers import DDPMScheduler, StableDiffusionPipeline
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft import LoraConfig
    from peft.utils import get_peft_model_state_dict

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pipeline = StableDiffusionPipeline.from_pretrained(given.model, safety_checker=None).to(device)
    unet, vae = pipeline.unet, pipeline.vae
    for part in (unet, vae, pipeline.text_encoder):
        part.requires_grad_(False)
    unet.add_adapter(LoraConfig(r=given.rank, target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
    learned = [value for value in unet.parameters() if value.requires_grad]
    steps = torch.optim.AdamW(learned, lr=given.rate)
    noising = DDPMScheduler.from_config(pipeline.scheduler.config)
    chosen, chance = choose_pictures(given.data, given.placebo), random.Random(1)
    side = unet.config.sample_size * pipeline.vae_scale_factor
    for _ in range(given.steps):
        prompts, paths = zip(*chance.choices(chosen, k=given.batch), strict=True)
        with torch.no_grad():
            pictures = torch.stack([as_tensor(path, side) for path in paths]).to(device)
            latents = vae.encode(pictures).latent_dist.sample() * vae.config.scaling_factor
            said, _ = pipeline.encode_prompt(list(prompts), device, 1, False)
        noise = torch.randn_like(latents)
        times = torch.randint(0, noising.config.num_train_timesteps, (given.batch,), device=device)
        guessed = unet(noising.add_noise(latents, noise, times), times, said).sample
        velocity = noising.config.prediction_type == "v_prediction"
        wanted = noising.get_velocity(latents, noise, times) if velocity else noise
        loss = torch.nn.functional.mse_loss(guessed, wanted)
        steps.zero_grad()
        loss.backward()
        steps.step()
    layers = convert_state_dict_to_diffusers(get_peft_model_state_dict(unet))
    StableDiffusionPipeline.save_lora_weights(given.out, unet_lora_layers=layers)


if __name__ == "__main__":
    main()
