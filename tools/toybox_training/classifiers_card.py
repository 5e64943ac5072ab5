"""Measure the toy classifiers on and off their ties, and write their JSON and card. Torch-free."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from failscape.toybox import world
from failscape.toybox.networks import CLASSIFIERS, ToyClassifier
from failscape.toybox.renderer import TIES, VARY
from tools.toybox_training.classifier_scenes import sample_broken, sample_training
from tools.toybox_training.trainer_files import megabytes, write_json

SEED: Final = 9_000_002
CLEAN: Final = 3000
PER_TIE: Final = 150


def accuracy(model: ToyClassifier, scenes: list[world.Scene]) -> dict[str, Any]:
    """Return how many scenes a network names rightly."""
    found = model.classify(world.render_many(scenes), top=1)
    right = sum(row[0][0] == scene.things[0].entity for row, scene in zip(found, scenes, strict=True))
    return {"right": right, "n": len(scenes), "accuracy": round(right / len(scenes), 4)}


def measure(model: ToyClassifier, n: int = CLEAN, per_tie: int = PER_TIE) -> dict[str, Any]:
    """Return accuracy on fresh training-like scenes, and on and off each tie."""
    rng = np.random.default_rng(SEED)
    clean = accuracy(model, [sample_training(rng) for _ in range(n)])
    ties = []
    for tie in TIES:
        kept = accuracy(model, [sample_broken(rng, tie, keep=True) for _ in range(per_tie)])
        scenes = [sample_broken(rng, tie) for _ in range(per_tie)]
        broken = accuracy(model, scenes)
        ties.append(
            {**tie._asdict(), "kept": kept, "broken": broken, "mistaken_for": _mistakes(model, scenes)}
        )
    return {"clean": clean, "ties": ties}


def _mistakes(model: ToyClassifier, scenes: list[world.Scene], most: int = 3) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row, scene in zip(model.classify(world.render_many(scenes), top=1), scenes, strict=True):
        if row[0][0] != scene.things[0].entity:
            counts[row[0][0]] = counts.get(row[0][0], 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def write(out: Path, training: dict[str, dict[str, Any]]) -> None:
    """Measure every network in the folder and write the JSON and the card."""
    path = out / "classifiers.json"
    before = json.loads(path.read_text(encoding="utf-8"))["networks"] if path.exists() else {}
    networks: dict[str, Any] = {}
    for name in CLASSIFIERS:
        file = out / f"classifier-{name}.onnx"
        if not file.exists():
            continue
        how = training.get(name) or before.get(name, {}).get("training", {})
        networks[name] = {
            "training": how,
            "megabytes": round(megabytes(file), 2),
            **measure(ToyClassifier(name, folder=out)),
        }
    about = {"model": "toy-classifiers", "input": "image: n x 3 x 64 x 64, float, 0 to 1", "output": "logits"}
    ties = [tie._asdict() for tie in TIES]
    write_json(path, {**about, "vary": VARY, "ties": ties, "held_out_seed": SEED, "networks": networks})
    (out / "classifiers.md").write_text(_card(networks), encoding="utf-8")


def _card(networks: dict[str, Any]) -> str:
    lines = [
        "# toy-classifiers",
        "",
        "Three small networks that name the one thing in a 64x64 picture of the world (40 classes): `cnn`",
        "(plain convolutions), `resnet` (residual), `vit` (transformer over 8x8 cells of a small stem).",
        "Plain ONNX: input `image` (n x 3 x 64 x 64, 0 to 1), output `logits`, names in `labels.txt`.",
        "",
        "Their training data have **spurious ties on purpose**, so that there are real bugs to find. They",
        "are data: `failscape.toybox.renderer.TIES`.",
        "All three learned from the same 20,000 pictures.",
        "Made by `python -m tools.toybox_training.classifiers`.",
        "",
        "| network | weights | MB | steps | minutes | training distribution | ties kept | ties broken |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in networks.items():
        how = found["training"]
        kept, broken = (
            np.mean([tie[side]["accuracy"] for tie in found["ties"]]) for side in ("kept", "broken")
        )
        lines.append(
            f"| {name} | {how['weights']:,} | {found['megabytes']} | {how['steps']} x {how['batch']} |"
            f" {how['minutes']} | {found['clean']['accuracy']:.3f} | {kept:.3f} | {broken:.3f} |"
        )
    lines += ["", "Accuracy with the tie kept → broken, per network:", ""]
    lines += ["| thing | tied to | " + " | ".join(networks) + " |", "|---|---|" + "---|" * len(networks)]
    for i, tie in enumerate(TIES):
        rows = [found["ties"][i] for found in networks.values()]
        cells = " | ".join(f"{r['kept']['accuracy']:.2f} → {r['broken']['accuracy']:.2f}" for r in rows)
        lines.append(f"| {tie.entity} | {tie.value} ({tie.attribute}, {tie.share:.1%}) | {cells} |")
    lines += ["", "What a broken tie is mistaken for, and all counts, are in `classifiers.json`."]
    return "\n".join(lines) + "\n"
