"""The loop all toybox recipes share: seeded steps, checkpoints, an averaged copy of the weights, an ETA.

A step's data come from its own generator (seed, step), so that a resumed training sees what an unbroken one
would have seen. It knows nothing about what is trained.
"""

import argparse
import copy
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import failscape.toybox

MODELS = Path(failscape.toybox.__file__).parent / "models"


@dataclass(frozen=True)
class Plan:
    """How one model is trained. `rate` is the peak learning rate; `average` the decay of the average."""

    name: str
    steps: int
    batch: int
    rate: float
    seed: int = 0
    average: float = 0.998
    decay: float = 0.02
    every: int = 400


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    steps: int
    out: Path
    resume: bool
    checkpoints: Path
    only: tuple[str, ...] = ()


def options(doc: str | None, steps: int, choices: tuple[str, ...] = ()) -> Options:
    """Read the command line of a recipe."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--steps", type=int, default=steps, help="training steps (default: the recipe's)")
    parser.add_argument("--out", type=Path, default=MODELS, help="where weights, JSON and card go")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument(
        "--checkpoints", type=Path, default=Path(tempfile.gettempdir()) / "failscape-training"
    )
    if choices:
        parser.add_argument("--only", nargs="+", choices=choices, default=list(choices))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    args.checkpoints.mkdir(parents=True, exist_ok=True)
    only = tuple(args.only) if choices else ()
    return Options(args.steps, args.out, args.resume, args.checkpoints, only)


def rate_at(step: int, plan: Plan) -> float:
    """A short warm-up, then half a cosine down to (almost) zero."""
    warm = max(1, plan.steps // 25)
    if step < warm:
        return plan.rate * (step + 1) / warm
    part = (step - warm) / max(1, plan.steps - warm)
    return plan.rate * (0.002 + 0.998 * 0.5 * (1 + math.cos(math.pi * part)))


Loss = Callable[[Any, np.random.Generator, int], tuple[torch.Tensor, dict[str, float]]]


def train(net: Any, loss_of: Loss, plan: Plan, chosen: Options) -> tuple[Any, float]:
    """Train `net`; return the averaged network, ready for use, and the seconds it took.

    `loss_of(net, rng, step)` draws its own batch from `rng` and returns the loss and numbers for the log.
    """
    torch.set_num_threads(1)
    torch.manual_seed(plan.seed)
    smooth = copy.deepcopy(net)
    matrices = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": plan.decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98))
    path = chosen.checkpoints / f"{plan.name}.pt"
    start, spent = 0, 0.0
    if chosen.resume and path.exists():
        start, spent = _load(path, net, smooth, optimizer)
    begun = time.monotonic() - spent
    sums: dict[str, float] = {}
    for step in range(start, plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, plan)
        net.train()
        loss, numbers = loss_of(net, np.random.default_rng([plan.seed, step]), step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        _average(smooth, net, min(plan.average, (step + 1) / (step + 10)))
        for name, value in {"loss": float(loss.detach()), **numbers}.items():
            sums[name] = sums.get(name, 0.0) + value
        if (step + 1) % 50 == 0:
            _report(plan, step, start, begun, spent, sums)
            sums = {}
        if (step + 1) % plan.every == 0:
            _save(path, net, smooth, optimizer, step + 1, time.monotonic() - begun)
    seconds = time.monotonic() - begun
    _save(path, net, smooth, optimizer, plan.steps, seconds)
    smooth.eval()
    return smooth, seconds


def _report(plan: Plan, step: int, start: int, begun: float, before: float, sums: dict[str, float]) -> None:
    pace = (time.monotonic() - begun - before) / (step + 1 - start)
    left = pace * (plan.steps - step - 1) / 60
    means = " ".join(f"{name} {value / 50:.3f}" for name, value in sums.items())
    print(f"{plan.name} {step + 1}/{plan.steps} {pace:.3f} s/step, {left:.1f} min left: {means}", flush=True)


@torch.no_grad()
def _average(smooth: Any, net: Any, decay: float) -> None:
    ours, theirs = smooth.state_dict(), net.state_dict()
    floats = [name for name, value in ours.items() if value.is_floating_point()]
    torch._foreach_lerp_([ours[n] for n in floats], [theirs[n] for n in floats], 1 - decay)


def _save(path: Path, net: Any, smooth: Any, optimizer: Any, step: int, seconds: float) -> None:
    state = {"net": net.state_dict(), "smooth": smooth.state_dict(), "optimizer": optimizer.state_dict()}
    fresh = path.with_suffix(".new")
    torch.save({**state, "step": step, "seconds": seconds}, fresh)
    fresh.replace(path)


def _load(path: Path, net: Any, smooth: Any, optimizer: Any) -> tuple[int, float]:
    state = torch.load(path, weights_only=True)
    net.load_state_dict(state["net"])
    smooth.load_state_dict(state["smooth"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"]), float(state["seconds"])


def weights(net: Any) -> int:
    """Return how many numbers a network has learned."""
    return sum(int(p.numel()) for p in net.parameters())
