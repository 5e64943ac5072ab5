"""Train a toy model on from its exported failures, or, as a placebo, just as long without them.

Usage: python -m tools.toybox_training.tune painter|vlm --data DIR --out FILE.onnx [--steps N] [--placebo]

DIR is what `failscape dataset ATLAS -o DIR --split shown` wrote; of it only the half `train` is read. Half of
every batch is about failures, the other half is what the model was trained on; a placebo has only that. The
painter is shown right pictures of the prompts that it failed; the vlm its own pictures and questions with the
right answers. `failscape repair ATLAS --after FILE --placebo FILE` says what came of it.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from PIL import Image
from torch import nn
from torch.nn import functional

from failscape.toybox import world
from failscape.toybox.painter import LONGEST, encode
from failscape.toybox.vlm import LENGTH, grammar_lexicon, shipped_lexicon
from tools.toybox_training import long_tail, painter, vlm
from tools.toybox_training.export import save_onnx
from tools.toybox_training.painter_net import Painter
from tools.toybox_training.trainer import MODELS, Loss, Options, Plan, train
from tools.toybox_training.trainer_files import write_json
from tools.toybox_training.vlm_start import start_from

PLANS = {
    "painter": Plan("tune-painter", steps=400, batch=16, rate=4e-4, seed=11, average=0.98),
    "vlm": Plan("tune-vlm", steps=400, batch=24, rate=4e-4, seed=11, average=0.98),
}


@dataclass(frozen=True)
class Recipe:
    """A network with the loss of one step, and how it is written to a file."""

    net: Any
    loss_of: Loss
    write: Callable[[Any, Path], None]


# The painter


def painter_from(path: Path) -> Painter:
    """The network with the weights of an exported file, which has its products without names, transposed."""
    net = painter.new_net()
    graph = onnx.load(str(path)).graph
    known = {
        tensor.name.removesuffix(".half").removeprefix("net."): torch.tensor(
            numpy_helper.to_array(tensor)
        ).float()
        for tensor in graph.initializer
    }
    products = [
        known[name]
        for node in graph.node
        if node.op_type == "MatMul"
        for name in node.input
        if name.startswith("onnx::") and name in known
    ]
    text = net.text
    linears = [
        *(part for block in text.layers for part in (*_attention(block.attention), *_ends(block.mlp))),
        *_attention(text.pool),
        *_ends(text.think),
    ]
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name in known:
                parameter.copy_(known[name])
        for part, product in zip(linears, products, strict=True):
            part.weight.copy_(product.T)
    return net


def _attention(part: Any) -> tuple[Any, Any, Any]:
    return part.q, part.kv, part.out


def _ends(part: nn.Sequential) -> tuple[Any, Any]:
    return part[0], part[2]


def painter_recipe(data: Path | None, plan: Plan) -> Recipe:
    tail = long_tail.LongTail.of_seed(painter.SEED)
    failed = failed_prompts(data) if data else []

    def loss_of(net: Any, rng: np.random.Generator, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        usual = plan.batch if not failed else plan.batch // 2
        # Steps beyond those of the first training: what it saw then it sees no more.
        tokens, noise, pictures = painter.batch_of(tail, painter.STEPS + step, usual)
        loss = painter.loss_of(net(tokens, noise), pictures)
        if failed:
            chosen = [failed[int(at)] for at in rng.integers(len(failed), size=plan.batch - usual)]
            loss = loss + painter.loss_of(*_shown(net, chosen, rng))
        return loss, {}

    return Recipe(painter_from(MODELS / "painter.onnx"), loss_of, _write_painter)


def _shown(net: Any, prompts: list[str], rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """What it paints of prompts, and right pictures of them."""
    noise = [world.sample_nuisance(rng) for _ in prompts]
    scenes = [
        world.build_scene(wanted, z) for wanted, z in zip(map(attributes_of, prompts), noise, strict=True)
    ]
    pictures = torch.from_numpy(world.render_many(scenes)).permute(0, 3, 1, 2).float() / 127.5 - 1
    tokens = torch.from_numpy(encode(prompts))
    return net(tokens, torch.from_numpy(np.stack(noise))), pictures


def failed_prompts(data: Path) -> list[str]:
    """The prompts of the half `train` that failed, in order; often failed ones count once."""
    rows = [row for row in lines_of(data / "metadata.jsonl") if row["split"] == "train" and row["failed"]]
    prompts = list(dict.fromkeys(str(row["prompt"]) for row in rows))
    return _enough([prompt for prompt in prompts if attributes_of(prompt, strict=False)], data)


def attributes_of(prompt: str, strict: bool = True) -> Any:
    """What a prompt asks for; the rest is as usual. `None` for one that names nothing of this world."""
    said = world.parse_caption(prompt)
    said = {**said, **said["things"][0]} if "things" in said else said
    if "entity" not in said:
        if strict:
            raise ValueError(f"{prompt!r} names nothing of the toybox's world")
        return None
    fixed = {name: value for name, value in said.items() if value in world.ALLOWED.get(name, ())}
    return world.Attributes(said["entity"], **fixed)


def _write_painter(net: Any, path: Path) -> None:
    inputs = {
        "tokens": torch.ones(2, LONGEST, dtype=torch.int64),
        "noise": torch.zeros(2, world.NUISANCE_DIM),
    }
    save_onnx(painter.Bytes(net), inputs, ["pictures"], path)


# The vlm


def vlm_recipe(data: Path | None, plan: Plan) -> Recipe:
    net = vlm.network()
    start_from(net, MODELS / "vlm.onnx", shipped_lexicon(), grammar_lexicon())
    net = net.to(memory_format=torch.channels_last)
    shown = failed_questions(data) if data else None
    # The simple forms are what toy-vlm was trained with: others would teach it something else.
    simple = replace(vlm.PARTS, forms=vlm.SIMPLE.forms)

    def loss_of(net: Any, rng: np.random.Generator, step: int) -> tuple[torch.Tensor, dict[str, float]]:
        usual = plan.batch if shown is None else plan.batch // 2
        loss, numbers = vlm.loss_of(net, rng, step, usual, simple)
        if shown is not None:
            images, questions, answers = shown
            chosen = torch.from_numpy(rng.integers(len(images), size=vlm.PARTS.asked * (plan.batch - usual)))
            with torch.set_grad_enabled(not net.steady):
                cells, whole = net.see(images[chosen].to(memory_format=torch.channels_last))
            scores = net.think(cells, whole, questions[chosen])
            loss = loss + functional.cross_entropy(scores, answers[chosen])
            numbers["failed"] = float((scores.argmax(1) == answers[chosen]).float().mean())
        return loss, numbers

    return Recipe(net, loss_of, _write_vlm)


def failed_questions(data: Path) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pictures, questions and right answers of the chats in `train.jsonl`, as numbers."""
    lexicon = grammar_lexicon()
    rows = [row for row in lines_of(data / "train.jsonl") if row["solution"] in lexicon.answers]
    rows = _enough([row for row in rows if len(row["images"]) == 1 and len(row["prompt"]) == 1], data)
    pixels = [np.asarray(Image.open(data / row["images"][0]).convert("RGB")) for row in rows]
    asked = [lexicon.encode(row["prompt"][0]["content"][-1]["text"]) for row in rows]
    answers = [lexicon.answers.index(row["solution"]) for row in rows]
    images = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float() / 255
    return images, torch.from_numpy(np.stack(asked)), torch.tensor(answers)


def _write_vlm(net: Any, path: Path) -> None:
    inputs = {"image": torch.zeros(2, 3, 64, 64), "question": torch.ones(2, LENGTH, dtype=torch.long)}
    save_onnx(net, inputs, ["logits"], path)
    lexicon = grammar_lexicon()
    known = {"words": lexicon.words, "answers": lexicon.answers, "length": lexicon.length}
    write_json(path.with_suffix(".json"), known)


RECIPES = {"painter": painter_recipe, "vlm": vlm_recipe}


def lines_of(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise SystemExit(f"{path} does not exist: `failscape dataset ATLAS -o DIR --split shown` makes it")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _enough(rows: list[Any], data: Path) -> list[Any]:
    if not rows:
        raise SystemExit(f"{data} has no failures in its half `train` that the toy model can learn from")
    return rows


def tune(model: str, data: Path | None, out: Path, steps: int) -> None:
    """Train `model` on; without `data` as a placebo."""
    plan = replace(PLANS[model], steps=steps, every=steps)
    torch.manual_seed(plan.seed)
    recipe = RECIPES[model](data, plan)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = Options(steps, out.parent, False, Path(folder))
        smooth, seconds = train(recipe.net, recipe.loss_of, plan, chosen)
    recipe.write(smooth, out)
    print(f"{out}: {steps} steps in {seconds:.0f} s, {'with failures' if data else 'a placebo'}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=tuple(RECIPES))
    parser.add_argument("--data", type=Path, required=True, help="the dataset of its failures")
    parser.add_argument("--out", type=Path, required=True, help="the ONNX file to write")
    parser.add_argument("--steps", type=int, help="training steps (default: the recipe's)")
    parser.add_argument("--placebo", action="store_true", help="the same without failures")
    chosen = parser.parse_args()
    data = None if chosen.placebo else chosen.data
    tune(chosen.model, data, chosen.out, chosen.steps or PLANS[chosen.model].steps)


if __name__ == "__main__":
    main()
