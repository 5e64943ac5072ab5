"""Train toy-vlm (the simple forms of question) and toy-vlm-parts (those put together from parts as well).

Usage: python -m tools.toybox_training.vlm [--only toy-vlm] [--steps N] [--out DIR] [--resume]

toy-vlm starts from toy-eyes' first layers where their checkpoint is at hand, and learns to see as well.
toy-vlm-parts starts from toy-vlm, the one just trained or else the one shipped: what sees stays as it is,
what thinks is trained on. Scenes have one to five things, some forms are frequent and some rare.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from failscape.toybox import world
from failscape.toybox.question_sampling import scene_for
from failscape.toybox.questions import words
from failscape.toybox.vlm import Lexicon, grammar_lexicon, lexicon_beside, shipped_lexicon
from tools.toybox_training import vlm_card
from tools.toybox_training.asking import ask
from tools.toybox_training.export import save_onnx
from tools.toybox_training.trainer import MODELS, Options, Plan, options, train, weights
from tools.toybox_training.vlm_nets import CELLS, VlmNet
from tools.toybox_training.vlm_start import start_from
from tools.toybox_training.vlm_tail import BASIC_WEIGHTS, WEIGHTS, kept


@dataclass(frozen=True)
class Model:
    """What one of the two is trained on. `file` is its name in the package."""

    name: str
    file: str
    plan: Plan
    asked: int
    """Questions about every picture of a batch: drawing and looking are dear, asking is cheap."""
    forms: Mapping[str, float]
    """How often each form is asked, relative to the others."""
    depth: int
    lexicon: Lexicon

    @cached_property
    def chances(self) -> tuple[tuple[str, ...], np.ndarray[Any, np.dtype[np.float64]]]:
        """The forms, and how likely each is."""
        odds = np.array(list(self.forms.values()), dtype=np.float64)
        return tuple(self.forms), odds / odds.sum()


SIMPLE = Model(
    "toy-vlm",
    "vlm",
    Plan("vlm", steps=2800, batch=40, rate=1.5e-3, seed=5, average=0.995),
    4,
    BASIC_WEIGHTS,
    3,
    shipped_lexicon(),
)
PARTS = Model(
    "toy-vlm-parts",
    "toy-vlm-parts",
    Plan("vlm-parts", steps=620, batch=32, rate=1.2e-3, seed=5, average=0.995, every=20),
    6,
    WEIGHTS,
    4,
    grammar_lexicon(),
)
COLOURS = (*world.COLOURS, world.DEFAULTS["colour"])
#: What the cell heads can say; the first value means an empty cell.
CELL_VALUES = {"entity": ("", *world.ENTITIES), "colour": ("", *COLOURS), "size": ("", "small", "large")}


def in_words(values: tuple[str, ...], known: tuple[str, ...]) -> torch.Tensor:
    """Return one row per value: how much of each question word is in it. Unknown words give empty rows."""
    rows = torch.zeros(len(values), len(known) + 1)
    for row, value in zip(rows, values, strict=True):
        for word in {*words(value), *words(world.PLURALS.get(value, ""))} & set(known):
            row[known.index(word) + 1] = 1 / len(words(value))
    return rows


def network(model: Model = PARTS) -> VlmNet:
    """Return the network, untrained."""
    known = model.lexicon
    cells = {name: in_words(values, known.words) for name, values in CELL_VALUES.items()}
    answers = in_words(known.answers, known.words)
    return VlmNet(len(known.words) + 1, answers, cells, known.length, depth=model.depth)


def cell_labels(scene: world.Scene) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each of the nine cells: thing, colour and size; 0 where the cell is empty."""
    labels = np.zeros((CELLS, 3), dtype=np.int64)
    for thing in scene.things:
        x, y = thing.centre
        cell = min(int(y * 3 / 64), 2) * 3 + min(int(x * 3 / 64), 2)
        size = ("small", "large").index(thing.size) + 1
        labels[cell] = (world.ENTITIES.index(thing.entity) + 1, COLOURS.index(thing.colour) + 1, size)
    return labels


def batch(rng: np.random.Generator, size: int, model: Model) -> dict[str, torch.Tensor]:
    """Return pictures, cell labels, and several questions with answers about each picture."""
    pictures: list[Any] = []
    cells, asked, answers = [], [], []
    encode, (forms, chances) = model.lexicon.encode, model.chances
    while len(pictures) < size:
        keys = [forms[i] for i in rng.choice(len(forms), size=40, p=chances)]
        scene = scene_for(rng, keys[0])
        rows = []
        for key in keys:
            question = ask(rng, scene, key)
            if question is not None and kept(rng, question):
                rows.append(question)
            if len(rows) == model.asked:
                break
        if len(rows) < model.asked:
            continue
        pictures.append(world.render(scene))
        cells.append(cell_labels(scene))
        asked += [encode(question.text) for question in rows]
        answers += [model.lexicon.answers.index(question.answer) for question in rows]
    return {
        "image": torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255,
        "cells": torch.from_numpy(np.stack(cells)),
        "question": torch.from_numpy(np.stack(asked)),
        "answer": torch.tensor(answers),
    }


def loss_of(
    net: VlmNet, rng: np.random.Generator, step: int, pictures: int = 0, model: Model = PARTS
) -> tuple[torch.Tensor, dict[str, float]]:
    """The answers' loss, and that of the cell heads, which teaches the eyes before the questions can."""
    data = batch(rng, pictures or model.plan.batch, model)
    with torch.set_grad_enabled(not net.steady):
        cells, whole = net.see(data["image"].to(memory_format=torch.channels_last))
    aside = torch.zeros(())
    numbers: dict[str, float] = {}
    for i, (name, head) in enumerate(net.cell_heads.items()):
        scores, target = head(cells).flatten(0, 1), data["cells"][..., i].flatten()
        aside = aside + functional.cross_entropy(scores, target)
        full = target > 0
        numbers[name] = float((scores.argmax(1) == target)[full].float().mean())
    many_cells = cells.repeat_interleave(model.asked, dim=0)
    scores = net.think(many_cells, whole.repeat_interleave(model.asked, dim=0), data["question"])
    loss = functional.cross_entropy(scores, data["answer"])
    numbers["answer"] = float((scores.argmax(1) == data["answer"]).float().mean())
    return loss + aside, numbers


def borrow(net: VlmNet, path: Path) -> None:
    """Start from the trunk of a trained toy-eyes, where its checkpoint is at hand: the same first layers."""
    if not path.exists():
        print("no checkpoint of toy-eyes: starting from scratch", flush=True)
        return
    theirs = torch.load(path, weights_only=True)["smooth"]
    ours = net.state_dict()
    shared = {
        name: value for name, value in theirs.items() if name in ours and ours[name].shape == value.shape
    }
    net.load_state_dict({**ours, **shared})


def make(model: Model, chosen: Options) -> None:
    """Train, export, measure and write the card."""
    plan = replace(model.plan, steps=chosen.steps or model.plan.steps)
    torch.manual_seed(plan.seed)
    net = network(model)
    if model is SIMPLE:
        borrow(net, chosen.checkpoints / "eyes.pt")
    else:
        fresh = chosen.out / f"{SIMPLE.file}.onnx"
        start = fresh if fresh.exists() else MODELS / fresh.name
        start_from(net, start, lexicon_beside(start), model.lexicon)
    net = net.to(memory_format=torch.channels_last)
    smooth, seconds = train(net, partial(loss_of, model=model), plan, chosen)
    longest = model.lexicon.length
    inputs = {"image": torch.zeros(2, 3, 64, 64), "question": torch.ones(2, longest, dtype=torch.long)}
    save_onnx(smooth, inputs, ["logits"], chosen.out / f"{model.file}.onnx")
    training: dict[str, float] = {
        "steps": plan.steps,
        "pictures": plan.batch,
        "questions": model.asked,
    }
    training |= {"minutes": round(seconds / 60, 1), "weights": weights(smooth)}
    vlm_card.write(chosen.out, model.name, model.file, model.forms, model.lexicon, training)


def main() -> None:
    """Train one or both; without `--steps` as long as each takes."""
    chosen = options(__doc__, 0, (SIMPLE.name, PARTS.name))
    for model in (SIMPLE, PARTS):
        if model.name in chosen.only:
            make(model, chosen)


if __name__ == "__main__":
    main()
