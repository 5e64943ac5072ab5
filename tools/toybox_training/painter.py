"""Train toy-painter, export it, count what it saw, and write its card.

Usage: python -m tools.toybox_training.painter [--steps N] [--out DIR] [--resume]
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from failscape.toybox import world
from failscape.toybox.painter import LONGEST, encode, word_numbers
from tools.toybox_training import long_tail
from tools.toybox_training.export import save_onnx
from tools.toybox_training.painter_card import write_card
from tools.toybox_training.painter_net import Painter
from tools.toybox_training.trainer import MODELS, Options, options, weights

SEED: Final = 7
BATCH: Final = 16
STEPS: Final = 8000
_EMA: Final = 0.998
_RATE: Final = 1.5e-3
_WARM_UP: Final = 100
_FLAT: Final = 0.6
_EVERY: Final = 200


@dataclass
class Run:
    """Everything a checkpoint holds: the network, its running average, the optimiser, and how far it is."""

    net: Painter
    average: Painter
    optimiser: torch.optim.Optimizer
    step: int = 0
    seconds: float = 0.0

    @classmethod
    def fresh(cls) -> "Run":
        """Return an untrained run; the seed decides its weights."""
        torch.manual_seed(SEED)
        net, average = new_net(), new_net()
        average.load_state_dict(net.state_dict())
        matrices = [p for p in net.parameters() if p.ndim > 1]
        rest = [p for p in net.parameters() if p.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": 0.02}, {"params": rest, "weight_decay": 0.0}]
        return cls(net, average, torch.optim.AdamW(groups, lr=_RATE, betas=(0.9, 0.98)))

    def save(self, path: Path) -> None:
        """Write the checkpoint; a crash while writing leaves the old one."""
        state: dict[str, Any] = {"step": self.step, "seconds": self.seconds}
        state |= {
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint."""
        state = torch.load(path, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds = state["step"], state["seconds"]


def new_net() -> Painter:
    """Return a network for the world's words and nuisance."""
    net = Painter(len(word_numbers()) + 2, world.NUISANCE_DIM, LONGEST)
    return net.to(memory_format=torch.channels_last)


def batch_of(tail: long_tail.LongTail, step: int, size: int = BATCH) -> tuple[Tensor, Tensor, Tensor]:
    """Return captions, noise and pictures of one step; a step's data depend on nothing but its number."""
    rng = np.random.default_rng([SEED, 3, step])
    examples = list(tail.examples(long_tail.batch_seed(SEED, step), size))
    noise = [world.sample_nuisance(rng) for _ in examples]
    scenes = [world.build_scene(e.attributes, z) for e, z in zip(examples, noise, strict=True)]
    tokens = encode([forget(rng, example.caption) for example in examples])
    pictures = torch.from_numpy(world.render_many(scenes)).permute(0, 3, 1, 2).float() / 127.5 - 1
    tokens = tokens[:, : int((tokens > 0).sum(axis=1).max())]
    return torch.from_numpy(tokens), torch.from_numpy(np.stack(noise)), pictures


def forget(rng: np.random.Generator, caption: str) -> str:
    """Sometimes put an unknown word into a caption, so that such words do no harm later."""
    words = caption.split()
    if rng.random() < 0.05:
        words.insert(int(rng.integers(len(words) + 1)), "qux")
    return " ".join(words)


def loss_of(painted: Tensor, target: Tensor) -> Tensor:
    """Absolute error of pixels, of their differences to neighbours (for edges), and of a coarse view."""
    wrong = painted - target
    across = (wrong[..., 1:] - wrong[..., :-1]).abs().mean()
    down = (wrong[..., 1:, :] - wrong[..., :-1, :]).abs().mean()
    return wrong.abs().mean() + 0.5 * (across + down) + 0.5 * F.avg_pool2d(wrong, 4).abs().mean()


def rate_at(step: int, steps: int) -> float:
    """Warm up, stay, then fall to almost nothing."""
    fall = (steps - step) / (steps * (1 - _FLAT))
    return _RATE * min(1.0, (step + 1) / _WARM_UP, max(fall, 0.01))


def train(run: Run, steps: int, path: Path) -> None:
    """Train to the end, with a checkpoint and a line of progress now and then."""
    tail = long_tail.LongTail.of_seed(SEED)
    mean = 0.0
    while run.step < steps:
        start = time.monotonic()
        for group in run.optimiser.param_groups:
            group["lr"] = rate_at(run.step, steps)
        loss = _one_step(run, *batch_of(tail, run.step))
        run.step += 1
        run.seconds += time.monotonic() - start
        mean = loss if mean == 0.0 else 0.98 * mean + 0.02 * loss
        if run.step % 50 == 0:
            spent, left = run.seconds / 60, (steps - run.step) * run.seconds / run.step / 60
            print(f"painter {run.step}/{steps} {spent:.1f} min, {left:.1f} left: loss {mean:.4f}", flush=True)
        if run.step % _EVERY == 0 or run.step == steps:
            run.save(path)


def _one_step(run: Run, tokens: Tensor, noise: Tensor, pictures: Tensor) -> float:
    loss = loss_of(run.net(tokens, noise), pictures)
    run.optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.net.parameters(), 1.0)
    run.optimiser.step()
    keep = min(_EMA, (1 + run.step) / (10 + run.step))
    with torch.no_grad():
        for slow, fast in zip(run.average.parameters(), run.net.parameters(), strict=True):
            slow.lerp_(fast, 1 - keep)
    return float(loss.detach())


class Bytes(nn.Module):
    """The painter with bytes as pixels, channels last: what the exported file gives."""

    def __init__(self, net: Painter) -> None:
        super().__init__()
        self.net = net

    def forward(self, tokens: Tensor, noise: Tensor) -> Tensor:
        pixels = (self.net(tokens, noise).clamp(-1, 1) + 1) * 127.5
        return (pixels + 0.5).permute(0, 2, 3, 1).to(torch.uint8)


def finish(run: Run, chosen: Options) -> None:
    """Export the averaged network, count what it was shown, measure it and write its card."""
    inputs = {
        "tokens": torch.ones(2, LONGEST, dtype=torch.int64),
        "noise": torch.zeros(2, world.NUISANCE_DIM),
    }
    save_onnx(Bytes(run.average), inputs, ["pictures"], chosen.out / "painter.onnx")
    data = chosen.out.parent / "data" if chosen.out == MODELS else chosen.out
    data.mkdir(exist_ok=True)
    tail = long_tail.LongTail.of_seed(SEED)
    counts = long_tail.count(tail, SEED, run.step, BATCH)
    long_tail.write_counts(data / "painter_counts.json.gz", counts, SEED, run.step, BATCH)
    facts = {
        "weights": weights(run.average),
        "steps": run.step,
        "batch": BATCH,
        "seed": SEED,
        "training_minutes": round(run.seconds / 60, 1),
    }
    write_card(chosen.out, facts, counts)


def main() -> None:
    """Train from the command line."""
    chosen = options(__doc__, STEPS)
    torch.set_num_threads(1)
    run = Run.fresh()
    path = chosen.checkpoints / "painter.pt"
    if chosen.resume and path.exists():
        run.load(path)
    train(run, chosen.steps, path)
    finish(run, chosen)


if __name__ == "__main__":
    main()
