"""Train toy-eyes: one small CNN that names thing, colour, count, size, place, time, style and position.

Usage: python -m tools.toybox_training.eyes [--steps N] [--out DIR] [--resume]
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from failscape.toybox.eyes import HEADS, SLICES, UNKNOWN, WIDTH
from tools.toybox_training import eyes_card
from tools.toybox_training.degrade import degraded, rendered
from tools.toybox_training.export import save_onnx
from tools.toybox_training.nets import EyesNet
from tools.toybox_training.trainer import Plan, options, train, weights

PLAN = Plan("eyes", steps=2600, batch=64, rate=3e-3, seed=1)
#: Share of a batch that is rendered cleanly; the rest is degraded.
CLEAN = 0.55


def batch(rng: np.random.Generator, size: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return pictures and labels of a batch. Attributes vary more often than in the world's own sampling."""
    pictures, rows = [], []
    for _ in range(size):
        vary = float(rng.choice([0.4, 0.65]))
        picture, labels = rendered(rng, vary)[:2] if rng.random() < CLEAN else degraded(rng, vary)
        pictures.append(picture)
        rows.append(labels)
    stack = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2) / 255
    targets = {name: torch.tensor([row[name] for row in rows]) for name in HEADS}
    return stack, targets


def loss_of(net: Any, rng: np.random.Generator, step: int) -> tuple[torch.Tensor, dict[str, float]]:
    """Sum the heads' losses; the thing itself counts double."""
    pictures, targets = batch(rng, PLAN.batch)
    output = net(pictures.to(memory_format=torch.channels_last))
    total = torch.zeros(())
    right: dict[str, float] = {}
    for name, part in SLICES.items():
        scores, target = output[:, part], targets[name]
        loss = functional.cross_entropy(scores, target, ignore_index=UNKNOWN)
        total = total + loss * (2.0 if name == "entity" else 1.0)
        known = target != UNKNOWN
        right[name] = float((scores.argmax(1) == target)[known].float().mean())
    return total, right


def main() -> None:
    """Train, export, measure and write the card."""
    chosen = options(__doc__, PLAN.steps)
    plan = replace(PLAN, steps=chosen.steps)
    torch.manual_seed(plan.seed)
    net = EyesNet(WIDTH).to(memory_format=torch.channels_last)
    smooth, seconds = train(net, loss_of, plan, chosen)
    save_onnx(smooth, {"image": torch.zeros(2, 3, 64, 64)}, ["scores"], chosen.out / "eyes.onnx")
    eyes_card.write(chosen.out, plan.steps, plan.batch, seconds, weights(smooth))


if __name__ == "__main__":
    main()
