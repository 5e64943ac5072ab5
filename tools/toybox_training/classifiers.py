"""Train the three toy classifiers on data with spurious ties.

Usage: python -m tools.toybox_training.classifiers [--only NAME ...] [--steps N] [--out DIR] [--resume]
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from failscape.toybox import world
from failscape.toybox.networks import CLASSIFIERS
from tools.toybox_training import classifiers_card
from tools.toybox_training.classifier_nets import build
from tools.toybox_training.classifier_scenes import sample_training
from tools.toybox_training.export import save_onnx
from tools.toybox_training.trainer import Options, Plan, options, train, weights

STEPS = {"cnn": 1100, "resnet": 1000, "vit": 2400}
PLAN = Plan("classifier", steps=0, batch=64, rate=3e-3, seed=2, average=0.99)
#: All three learn from the same fixed set of pictures, rendered once.
PICTURES = 20_000


@cache
def pictures() -> tuple[torch.Tensor, torch.Tensor]:
    """Render the training set: bytes (n, 3, 64, 64) and class numbers."""
    rng = np.random.default_rng([PLAN.seed, 77])
    images = np.empty((PICTURES, 64, 64, 3), dtype=np.uint8)
    classes = np.empty(PICTURES, dtype=np.int64)
    for i in range(PICTURES):
        scene = sample_training(rng)
        images[i] = world.render(scene)
        classes[i] = world.ENTITIES.index(scene.things[0].entity)
    return torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(classes)


def loss_of(net: Any, rng: np.random.Generator, step: int) -> tuple[torch.Tensor, dict[str, float]]:
    """Cross-entropy on a batch, shifted by up to two pixels and with a little noise."""
    images, classes = pictures()
    rows = torch.from_numpy(rng.integers(0, PICTURES, PLAN.batch))
    down, right = (int(v) for v in rng.integers(-2, 3, 2))
    batch = torch.roll(images[rows].float() / 255, (down, right), (2, 3))
    noise = torch.from_numpy(rng.normal(0, 0.02, batch.shape).astype(np.float32))
    scores = net((batch + noise).to(memory_format=torch.channels_last))
    target = classes[rows]
    loss = functional.cross_entropy(scores, target)
    return loss, {"right": float((scores.argmax(1) == target).float().mean())}


def train_one(name: str, chosen: Options) -> dict[str, Any]:
    """Train and export one network; return how it went."""
    plan = replace(PLAN, name=f"classifier-{name}", seed=PLAN.seed + CLASSIFIERS.index(name))
    plan = replace(plan, steps=chosen.steps or STEPS[name])
    if name == "vit":
        plan = replace(plan, rate=1.2e-3)
    torch.manual_seed(plan.seed)
    net, seconds = train(build(name, len(world.ENTITIES)), loss_of, plan, chosen)
    path = chosen.out / f"classifier-{name}.onnx"
    save_onnx(net, {"image": torch.zeros(2, 3, 64, 64)}, ["logits"], path)
    minutes = round(seconds / 60, 1)
    return {"steps": plan.steps, "batch": plan.batch, "minutes": minutes, "weights": weights(net)}


def main() -> None:
    """Train the chosen networks, then measure all that are there and write the card."""
    chosen = options(__doc__, 0, CLASSIFIERS)
    (chosen.out / "labels.txt").write_text("".join(f"{name}\n" for name in world.ENTITIES), encoding="utf-8")
    training = {name: train_one(name, chosen) for name in chosen.only}
    classifiers_card.write(chosen.out, training)


if __name__ == "__main__":
    main()
