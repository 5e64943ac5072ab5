"""Train toy-vlm-parts: questions of all skills about scenes of one to five things, frequent forms and rare.

Usage: python -m tools.toybox_training.vlm [--steps N] [--out DIR] [--resume]

It starts from the toy-vlm that is shipped, which knows the simple forms: what sees stays as it is, what
thinks is trained on. Without one it starts from toy-eyes' first layers, and learns to see as well; toy-vlm
itself was trained so, with the simple forms alone.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from failscape.toybox import world
from failscape.toybox.question_sampling import scene_for
from failscape.toybox.questions import ANSWERS, vocabulary, words
from failscape.toybox.vlm import LENGTH, grammar_lexicon, shipped_lexicon
from tools.toybox_training import vlm_card
from tools.toybox_training.asking import ask
from tools.toybox_training.export import save_onnx
from tools.toybox_training.trainer import MODELS, Plan, options, train, weights
from tools.toybox_training.vlm_nets import CELLS, VlmNet
from tools.toybox_training.vlm_start import start_from
from tools.toybox_training.vlm_tail import WEIGHTS, kept

PLAN = Plan("vlm", steps=620, batch=32, rate=1.2e-3, seed=5, average=0.995, every=20)
#: Questions asked about every picture of a batch: drawing and looking are dear, asking is cheap.
QUESTIONS = 6
COLOURS = (*world.COLOURS, world.DEFAULTS["colour"])
#: What the cell heads can say; the first value means an empty cell.
CELL_VALUES = {"entity": ("", *world.ENTITIES), "colour": ("", *COLOURS), "size": ("", "small", "large")}
_KEYS = tuple(WEIGHTS)
_CHANCES = np.array([WEIGHTS[key] for key in _KEYS]) / sum(WEIGHTS.values())


def in_words(values: tuple[str, ...]) -> torch.Tensor:
    """Return one row per value: how much of each question word is in it. Unknown words give empty rows."""
    rows = torch.zeros(len(values), len(vocabulary()) + 1)
    for row, value in zip(rows, values, strict=True):
        for word in {*words(value), *words(world.PLURALS.get(value, ""))} & set(vocabulary()):
            row[vocabulary().index(word) + 1] = 1 / len(words(value))
    return rows


def network() -> VlmNet:
    """Return the network, untrained."""
    cells = {name: in_words(values) for name, values in CELL_VALUES.items()}
    return VlmNet(len(vocabulary()) + 1, in_words(ANSWERS), cells, LENGTH)


def cell_labels(scene: world.Scene) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each of the nine cells: thing, colour and size; 0 where the cell is empty."""
    labels = np.zeros((CELLS, 3), dtype=np.int64)
    for thing in scene.things:
        x, y = thing.centre
        cell = min(int(y * 3 / 64), 2) * 3 + min(int(x * 3 / 64), 2)
        size = ("small", "large").index(thing.size) + 1
        labels[cell] = (world.ENTITIES.index(thing.entity) + 1, COLOURS.index(thing.colour) + 1, size)
    return labels


def batch(rng: np.random.Generator, size: int) -> dict[str, torch.Tensor]:
    """Return pictures, cell labels, and several questions with answers about each picture."""
    pictures: list[Any] = []
    cells, asked, answers = [], [], []
    encode = grammar_lexicon().encode
    while len(pictures) < size:
        keys = [_KEYS[i] for i in rng.choice(len(_KEYS), size=40, p=_CHANCES)]
        scene = scene_for(rng, keys[0])
        rows = []
        for key in keys:
            question = ask(rng, scene, key)
            if question is not None and kept(rng, question):
                rows.append(question)
            if len(rows) == QUESTIONS:
                break
        if len(rows) < QUESTIONS:
            continue
        pictures.append(world.render(scene))
        cells.append(cell_labels(scene))
        asked += [encode(question.text) for question in rows]
        answers += [ANSWERS.index(question.answer) for question in rows]
    return {
        "image": torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255,
        "cells": torch.from_numpy(np.stack(cells)),
        "question": torch.from_numpy(np.stack(asked)),
        "answer": torch.tensor(answers),
    }


def loss_of(
    net: VlmNet, rng: np.random.Generator, step: int, pictures: int = PLAN.batch
) -> tuple[torch.Tensor, dict[str, float]]:
    """The answers' loss, and that of the cell heads, which teaches the eyes before the questions can."""
    data = batch(rng, pictures)
    with torch.set_grad_enabled(not net.steady):
        cells, whole = net.see(data["image"].to(memory_format=torch.channels_last))
    aside = torch.zeros(())
    numbers: dict[str, float] = {}
    for i, (name, head) in enumerate(net.cell_heads.items()):
        scores, target = head(cells).flatten(0, 1), data["cells"][..., i].flatten()
        aside = aside + functional.cross_entropy(scores, target)
        full = target > 0
        numbers[name] = float((scores.argmax(1) == target)[full].float().mean())
    many_cells = cells.repeat_interleave(QUESTIONS, dim=0)
    scores = net.think(many_cells, whole.repeat_interleave(QUESTIONS, dim=0), data["question"])
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


def main() -> None:
    """Train, export, measure and write the card."""
    chosen = options(__doc__, PLAN.steps)
    plan = replace(PLAN, steps=chosen.steps)
    torch.manual_seed(plan.seed)
    net = network()
    if (MODELS / "vlm.onnx").exists():
        start_from(net, MODELS / "vlm.onnx", shipped_lexicon(), grammar_lexicon())
    else:
        borrow(net, chosen.checkpoints / "eyes.pt")
    net = net.to(memory_format=torch.channels_last)
    smooth, seconds = train(net, loss_of, plan, chosen)
    inputs = {"image": torch.zeros(2, 3, 64, 64), "question": torch.ones(2, LENGTH, dtype=torch.long)}
    save_onnx(smooth, inputs, ["logits"], chosen.out / f"{vlm_card.NAME}.onnx")
    vlm_card.write(chosen.out, plan.steps, plan.batch, QUESTIONS, seconds, weights(smooth))


if __name__ == "__main__":
    main()
